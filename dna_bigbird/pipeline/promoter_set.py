"""`dna-bigbird promoter-set`."""

from pathlib import Path

from dna_bigbird.choices import checked, renamed
from dna_bigbird.datasets.splits import SplitConfig
from dna_bigbird.errors import checked_settings, note
from dna_bigbird.paths import GenomePath, InputText
from dna_bigbird.pipeline.set_files import LabelledSetFile, write_set
from dna_bigbird.shared_options import Assembly, MaxNFraction, NearIdentical, SetOutput, SiteFormat


@renamed(format="site_format")
@checked()
def promoter_set(
    genome: GenomePath,
    sites: InputText | list[InputText],
    output: SetOutput,
    assembly: Assembly,
    split: SplitConfig,
    seed: int = 0,
    upstream: int = 5000,
    downstream: int = 3000,
    negatives: str = "random_base",
    training_negatives: str = "",
    unread: list[str] = [],  # noqa: B006 - --help shows the default
    avoid: InputText | list[InputText] = [],  # noqa: B006 - --help shows the default
    site_format: SiteFormat = "auto",
    max_n_fraction: MaxNFraction = 0.0,
    near_identical: NearIdentical = "drop",
    pieces: bool = False,
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
        upstream: Bases before the start site, in the direction of transcription.
        downstream: Bases from the start site on, the first transcribed base included.
        negatives: Negatives: random_base redraws 12 of 20 parts; permuted shuffles 12 of 20 parts; genomic
            takes real windows away from every start site, with similar GC content and repeats, and
            background takes such windows of any content.
            Several, joined by commas (random_base,permuted,genomic), give every promoter a negative
            of each; a repeated name gives another negative.
        training_negatives: The same for promoters in training; as `negatives` if not given. More of them,
            such as permuted,permuted,permuted, are more examples to learn from; validation and
            test stay as they are.
        unread: Regions that pretraining did not read, such as chr22:19,500,001-20,500,000. With folds,
            genomic negatives of validation and test are in them, and those of training elsewhere.
        avoid: File of further start sites that genomic negatives keep away from, in any of the
            formats, or several: --avoid a.bed b.gtf; other negatives do not use them.
        pieces: The FASTA has only the first part of its chromosomes: leave out sites beyond it.
    """
    import json
    import shlex

    from dna_bigbird.datasets.leakage import without_leaks
    from dna_bigbird.datasets.promoters import PromoterConfig, build_promoters
    from dna_bigbird.genome import Genome
    from dna_bigbird.genome.sites import read_sites
    from dna_bigbird.pipeline.promoter_notes import set_notes

    regions: list[str | int] = [*unread]
    with checked_settings():
        config = PromoterConfig(
            upstream, downstream, negatives, max_n_fraction, training_negatives, regions
        )
        config.check_split(split)
    files = [avoid] if isinstance(avoid, str) else avoid
    avoided = [Path(file) for file in files] if config.has_genomic else []
    reference = Genome(genome)
    for each in (split, SplitConfig(test=regions)):
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
    settings = {
        "seed": seed,
        "upstream": upstream,
        "downstream": downstream,
        "negatives": negatives,
        "max_n_fraction": max_n_fraction,
        "near_identical": near_identical,
        "pieces": pieces,
    }
    if training_negatives:
        settings["training_negatives"] = training_negatives
    if unread:
        settings["unread"] = shlex.quote(json.dumps(unread))
    result = write_set(
        Path(output),
        data,
        reference,
        command="promoter-set",
        assembly=assembly,
        settings=settings,
        split=split,
        inputs=inputs,
    )
    intervals = [site.interval for part in starts.values() for site in part]
    for text in set_notes(result, data, config, intervals, reference):
        note(text)
    return result
