"""`dna-bigbird promoter-set`."""

import json
import shlex
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

from dna_bigbird.core.choices import checked, renamed
from dna_bigbird.core.errors import checked_settings, note
from dna_bigbird.core.paths import GenomePath, InputText
from dna_bigbird.core.shared_options import Assembly, NearIdentical, SetOutput, SiteFormat
from dna_bigbird.labelled.promoter.config import PromoterConfig
from dna_bigbird.labelled.set_files import LabelledSetFile, write_set
from dna_bigbird.labelled.splits import SplitConfig


@renamed(format="site_format")
@checked()
def promoter_set(
    genome: GenomePath,
    sites: InputText | list[InputText],
    output: SetOutput,
    assembly: Assembly,
    split: SplitConfig,
    seed: int = 0,
    avoid: InputText | list[InputText] = [],  # noqa: B006 - --help shows the default
    site_format: SiteFormat = "auto",
    near_identical: NearIdentical = "drop",
    pieces: bool = False,
    **settings: Annotated[Any, PromoterConfig],
) -> LabelledSetFile:
    """Make a labelled set from start sites: promoters, negatives for each, and their splits.

    Notes how many start sites are a purine after a pyrimidine: few of them mean that sites and genome are
    from different assemblies.

    Examples:
        dna-bigbird promoter-set --genome hg19.fa --sites promoters.bed --output promoters.h5 --assembly hg19 \\
            --split.validation chr7 --split.test chr8 chr9
        dna-bigbird promoter-set --genome hg19.fa --sites promoters.bed --output promoters.h5 --assembly hg19 \\
            --negatives genomic --avoid genes.gtf --split.folds 5

    Args:
        genome: Genome: a plain FASTA file.
        sites: Sites: starts of transcription as BED (1-bp rows, or EPD's 60-bp rows), GTF, GFF3, FPS or SGA;
            one file or several: --sites a.bed b.bed.
        split: What is held out for validation and test.
        seed: Seed of the random numbers: of the negatives.
        avoid: File of further start sites that genomic negatives keep away from, in any of the
            formats, or several: --avoid a.bed b.gtf; other negatives do not use them.
        pieces: The FASTA has only the first part of its chromosomes: leave out sites beyond it.
    """
    from dna_bigbird.genome import Genome
    from dna_bigbird.genome.sites.reading import read_sites
    from dna_bigbird.labelled.promoter.promoter_set_run import build_promoters, set_notes
    from dna_bigbird.labelled.shared_rows import without_leaks

    config = PromoterConfig(**settings)
    with checked_settings():
        config.check_split(split)
    files = [avoid] if isinstance(avoid, str) else avoid
    avoided = [Path(file) for file in files] if config.has_genomic else []
    reference = Genome(genome)
    for each in (split, SplitConfig(test=config.unread)):
        each.check_regions(reference, pieces=pieces)
    site_files = [sites] if isinstance(sites, str | Path) else sites
    starts = {str(file): read_sites(file, site_format) for file in site_files}
    data = build_promoters(
        reference,
        starts,
        config,
        split,
        seed=seed,
        pieces=pieces,
        avoid=[site for path in avoided for site in read_sites(path)],
    )
    if near_identical == "drop":
        data = without_leaks(data, reference)
    inputs = {"genome": Path(genome)} | {
        f"sites {number}" if number > 1 else "sites": Path(file)
        for number, file in enumerate(site_files, start=1)
    }
    inputs |= {f"avoid {number}": path for number, path in enumerate(avoided, start=1)}
    recorded = {name: value for name, value in asdict(config).items() if value not in ("", [])}
    if config.unread:
        recorded["unread"] = shlex.quote(json.dumps(config.unread))
    result = write_set(
        Path(output),
        data,
        reference,
        command="promoter-set",
        assembly=assembly,
        settings={"seed": seed} | recorded | {"near_identical": near_identical, "pieces": pieces},
        split=split,
        inputs=inputs,
    )
    intervals = [site.interval for part in starts.values() for site in part]
    for text in set_notes(result, data, config, intervals, reference):
        note(text)
    return result
