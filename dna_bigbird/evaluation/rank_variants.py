"""`dna-bigbird rank-variants`."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from dna_bigbird.core.choices import checked
from dna_bigbird.core.dataframes import DataFrame, read_table
from dna_bigbird.core.paths import GenomePath, InputPath, OutputPath
from dna_bigbird.core.result_folders import RANKING, atomic_directory
from dna_bigbird.core.results import Result
from dna_bigbird.core.settings import Positive
from dna_bigbird.core.shared_options import BootstrapSeed


@dataclass(frozen=True)
class VariantRanking(Result):
    """How well variants with a known effect rank above neutral ones."""

    output: Path
    """Folder with metrics.json, ranked.tsv and sources.tsv."""
    metrics: dict
    """Contents of metrics.json, not rounded."""

    def to_dataframe(self) -> DataFrame:
        """Return a row per variant, as in ranked.tsv."""
        return read_table(self.output / "ranked.tsv")

    def summary(self) -> str:
        """Return the AUROC of broken and of created sites."""
        m = self.metrics
        others = [f"{name} {scores['auroc_break']:.3f}" for name, scores in m["baselines"].items()]
        return (
            f"{self.output}: {m['n']} variants, AUROC of broken sites {m['auroc_break']:.3f}, "
            f"of created ones {m['auroc_create']:.3f} above neutral (semi-synthetic); broken sites by "
            f"{', '.join(others)}"
        )


@checked()
def rank_variants(
    scores: dict[str, InputPath] | InputPath,
    truth: InputPath,
    output: Annotated[OutputPath, RANKING],
    genome: GenomePath,
    data: InputPath | None = None,
    model: InputPath | None = None,
    regions: list[str] | None = None,
    split: str = "all",
    block_bp: Positive = 5000,
    seed: BootstrapSeed = 0,
) -> VariantRanking:
    """Measure whether variants with a known effect rank above neutral ones.

    The truth is the VCF of `demo-data`, which is semi-synthetic: EFFECT says whether a variant breaks
    a planted site, creates one or does neither, LABEL which labels depend on the site. Written are
    metrics.json, with the AUROC of broken and created sites above neutral variants, for a reader who
    does not know the label (the largest change over all labels) and for one who does; sources.tsv,
    the same as a table; and ranked.tsv, with the scores of every variant. The same is measured for
    the change of GC content and, with --data, for a k-mer model fitted on the training rows of that set
    (kmer) and for a mixture of counts of their bases (counts). All on the same variants and draws.

    Examples:
        dna-bigbird rank-variants --scores demo_scored.tsv --truth demo/variants.vcf --genome demo/demo.fa \\
            --output results/variants --regions demo22:850,001-1,000,000 --split test
        dna-bigbird rank-variants --scores model=demo_scored.tsv likelihood=demo_likelihood.tsv --data chromatin.h5 \\
            --truth demo/variants.vcf --genome demo/demo.fa --output results/variants

    Args:
        scores: Scores to read: the table that score-variants wrote, or several by name
            (model=a.tsv likelihood=b.tsv). The first one is compared with all others; tables with
            labels have the same ones.
        truth: VCF with EFFECT and LABEL in its INFO column.
        output: Result to write: a folder.
        genome: Genome: the plain FASTA file that both belong to.
        data: Labelled set: the one that the model was fine-tuned on.
        model: Model bundle: the one of the first scores. If it counts k-mers next to its network, these
            are ranked alone, too (own_counts).
        regions: Only these regions: variants of the held-out ones, such as
            demo22:850,001-1,000,000; all if not given.
        split: Part of the set: the name of these variants in metrics.json.
        block_bp: Bases in a block of the genome whose rows the bootstrap draws together: rows are
            variants.
    """
    import numpy as np

    from dna_bigbird.core.rounding import rounded
    from dna_bigbird.core.writing import json_text
    from dna_bigbird.evaluation.rank_variants_run import (
        ranked_table,
        read_truth,
        source_table,
        variant_sources,
    )
    from dna_bigbird.genome import Genome
    from dna_bigbird.metrics import variant_scores

    truth_variants = read_truth(truth, regions)
    sources = variant_sources(scores, truth_variants, Genome(genome), data, model)
    variants, known = truth_variants.variants, truth_variants.for_labels(sources.labels, block_bp)
    ranking = variant_scores.rank_variants(
        known, sources.changes, without_labels=sources.without_labels, seed=seed
    )
    table = source_table(ranking)
    metrics = ranking.pop(next(iter(ranking))) | {
        "n": len(variants),
        "n_labels": len(sources.labels),
        "n_blocks": len(np.unique(known.blocks)),
        "block_bp": block_bp,
        "seed": seed,
        "split": split,
        "semi_synthetic": True,
        "baselines": ranking,
    }
    ranked = ranked_table(variants, known, sources.changes, sources.without_labels)
    with atomic_directory(output, RANKING) as partial:
        (partial / "metrics.json").write_text(json_text(rounded(metrics)))
        (partial / "ranked.tsv").write_text(ranked)
        (partial / "sources.tsv").write_text(table)
    return VariantRanking(output, metrics)
