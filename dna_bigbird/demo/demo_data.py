"""`dna-bigbird demo-data`."""

from pathlib import Path
from typing import Annotated, Literal

from dna_bigbird.core.choices import checked
from dna_bigbird.core.errors import checked_settings
from dna_bigbird.core.paths import OutputPath
from dna_bigbird.core.result_folders import DEMO
from dna_bigbird.core.results import Written
from dna_bigbird.core.settings import Count


@checked()
def demo_data(
    output: Annotated[OutputPath, DEMO],
    seed: int = 0,
    promoters: int = 300,
    variants: int = 300,
    long_range: Count = 0,
    copies: int = 6,
    negatives: Literal["absent", "misplaced"] = "absent",
) -> Written:
    """Write the semi-synthetic demo: real hg19 background, planted truth.

    The background is the real sequence hg19 chr22:20,000,001-21,000,000. Promoters and binding
    sites from published JASPAR matrices are planted at known positions, and labels follow from them.

    Examples:
        dna-bigbird demo-data --output demo
        dna-bigbird demo-data --output demo_long_range --long_range 300
        dna-bigbird demo-data --output demo_distance --long_range 300 --negatives misplaced

    Args:
        output: Result to write: a folder.
        seed: Seed of the random numbers: the same seed gives the same files, byte by byte.
        promoters: Start sites to plant, spread evenly.
        variants: Number of neutral variants, and at most as many that break a site.
        long_range: Write the long-range demo instead, with so many promoters, 10 kb each on
            generated background: labels that only a partner 1 to 3 kb away decides.
        copies: Sites in a partner cluster of the long-range demo.
        negatives: Negatives: promoters of the long-range demo without a partner 1 to 3 kb away: 'absent' leaves
            the cluster out, 'misplaced' plants the same cluster nearer or farther, so that only its
            distance decides and counts of k-mers in 8 kb contain no information.
    """
    from dna_bigbird.demo.build import DemoConfig, build_demo
    from dna_bigbird.demo.demo_files import write_demo

    output = Path(output)
    if long_range:
        _long_range(output, long_range, seed, copies, negatives)
        return Written(output)
    write_demo(build_demo(DemoConfig(seed, promoters, variants)), output)
    return Written(output)


def _long_range(
    output: Path, units: int, seed: int, copies: int, negatives: Literal["absent", "misplaced"]
) -> None:
    from dna_bigbird.core.limits import check_memory
    from dna_bigbird.demo.demo_files import write_long_range
    from dna_bigbird.demo.long_range import LongRangeConfig, build_long_range

    with checked_settings():
        config = LongRangeConfig(units, seed, copies=copies, negatives=negatives)
    check_memory(f"--long_range {units}", units * config.unit_bp)
    write_long_range(build_long_range(config), output)
