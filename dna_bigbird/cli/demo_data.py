"""`dna-bigbird demo-data`."""

from pathlib import Path

from dna_bigbird.errors import InputError


def demo_data(output: Path, seed: int = 0, promoters: int = 300, variants: int = 300) -> None:
    """Write the semi-synthetic demo: real hg19 background, planted truth.

    The background is the real sequence hg19 chr22:20,000,001-21,000,000. Promoters and binding
    sites from published JASPAR matrices are planted at known places, and labels follow from them.

    Args:
        output: Folder to write; it is replaced as a whole if it exists.
        seed: Same seed, same files, byte by byte.
        promoters: Start sites to plant, spread evenly.
        variants: Neutral variants, and the most that break a site.
    """
    from dna_bigbird.demo.build import DemoConfig, build_demo
    from dna_bigbird.demo.writing import refuse_to_replace_other_files, write_demo

    try:
        config = DemoConfig(seed, promoters, variants)
    except ValueError as error:
        raise InputError(f"demo-data: {error}") from None
    refuse_to_replace_other_files(output)
    write_demo(build_demo(config), output)
