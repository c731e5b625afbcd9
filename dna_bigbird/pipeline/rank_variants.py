"""`dna-bigbird rank-variants`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from dna_bigbird.errors import InputError
from dna_bigbird.paths import InputPath, OutputPath
from dna_bigbird.pipeline.known_variants import key_of, read_scores, read_truth

if TYPE_CHECKING:
    import numpy as np

    from dna_bigbird.genome import Genome
    from dna_bigbird.genome.variants import Variant


def rank_variants(
    scores: InputPath,
    truth: InputPath,
    output: OutputPath,
    genome: InputPath,
    data: InputPath | None = None,
    regions: list[str] | None = None,
    split: str = "all",
    block_bp: int = 5000,
    seed: int = 0,
) -> None:
    """Measure whether variants with a known effect rank above neutral ones.

    The truth is the VCF of `demo-data`, which is semi-synthetic: EFFECT says whether a variant breaks
    a planted site, creates one or does neither, LABEL which labels depend on the site. Written are
    metrics.json, with the AUROC of broken and created sites above neutral variants, for a reader who
    does not know the label (the largest change over all labels) and for one who does, and
    ranked.tsv, with these scores of every variant. Beside the model stand the change of GC content and, with --data,
    a k-mer model fitted on the training rows of that set.

    Args:
        scores: Table that score-variants wrote.
        truth: VCF with EFFECT and LABEL in its INFO column.
        output: Folder to write.
        genome: Plain FASTA that both belong to.
        data: Labelled set that the model was fine-tuned on.
        regions: Only variants in these regions, such as those held out: ["demo22:850,001-1,000,000"];
            all if not given.
        split: What to call them in metrics.json.
        block_bp: Variants in a block of so many bases are drawn together by the bootstrap.
        seed: Seed of the bootstrap.
    """
    import numpy as np

    from dna_bigbird.bundles.bundle import to_json
    from dna_bigbird.evaluation.rounding import rounded
    from dna_bigbird.evaluation.variant_ranking import KnownVariants
    from dna_bigbird.evaluation.variant_ranking import rank_variants as rank
    from dna_bigbird.genome import Genome
    from dna_bigbird.writing import atomic_directory, refuse_other_folder

    if block_bp < 1:
        raise InputError(f"--block_bp {block_bp}: expected at least 1")
    labels, changes = read_scores(scores)
    variants, effects, named = read_truth(truth, regions)
    rows = [changes.get(key_of(v)) for v in variants]
    if None in rows:
        lacking = variants[rows.index(None)]
        raise InputError(
            f"{truth}:{lacking.line}: {lacking.chrom}:{lacking.pos} {lacking.ref}>{lacking.alts[0]} is "
            f"not in {scores}. Score this VCF with score-variants first, without --ref_mismatch skip"
        )
    log_odds = np.array(rows).reshape(len(rows), len(labels))
    if not np.isfinite(log_odds).all():
        bad = variants[int(np.argmin(np.isfinite(log_odds).all(axis=1)))]
        raise InputError(
            f"{scores}: no score of {bad.chrom}:{bad.pos}; expected one of every variant"
        )
    known = KnownVariants(
        np.array(effects),
        np.array([[label in names for label in labels] for names in named]),
        np.unique([f"{v.chrom}:{(v.pos - 1) // block_bp}" for v in variants], return_inverse=True)[
            1
        ],
    )
    sources = {"model": log_odds, "gc": gc_changes(variants)}
    if data is not None:
        sources["kmer"] = kmer_changes(variants, Genome(genome), data, labels)
    found = rank(known, sources, seed=seed)
    metrics = found.pop("model") | {
        "n": len(variants),
        "n_labels": len(labels),
        "n_blocks": len(np.unique(known.blocks)),
        "block_bp": block_bp,
        "seed": seed,
        "split": split,
        "semi_synthetic": True,
        "baselines": found,
    }
    refuse_other_folder(output, ("metrics.json", "ranked.tsv"), "ranking")
    with atomic_directory(output) as partial:
        (partial / "metrics.json").write_text(to_json(rounded(metrics)))
        (partial / "ranked.tsv").write_text(_table(variants, known, sources))
    print(
        f"{output}: {len(variants)} variants, AUROC of broken sites {metrics['auroc_break']:.3f}, "
        f"of created ones {metrics['auroc_create']:.3f} above neutral (semi-synthetic)"
    )


def gc_changes(variants: list[Variant]) -> np.ndarray:
    """Return by how many each substitution changes the count of G and C, (variants, 1)."""
    import numpy as np

    return np.array([[float(_gc(v.alts[0]) - _gc(v.ref))] for v in variants])


def _gc(bases: str) -> int:
    return sum(base in "GC" for base in bases.upper())


def kmer_changes(
    variants: list[Variant], genome: Genome, data: Path, labels: list[str]
) -> np.ndarray:
    """Fit the k-mer model on a set and return its changes of log odds, (variants, labels)."""
    import numpy as np
    from threadpoolctl import threadpool_limits

    from dna_bigbird.baselines.kmer_config import KmerConfig
    from dna_bigbird.datasets.same_genome import open_labelled_set
    from dna_bigbird.inference.variants.windows import allele_windows
    from dna_bigbird.pipeline.baseline import fitted_words

    labelled = open_labelled_set(data, genome)
    missing = [label for label in labels if label not in labelled.label_names]
    if missing:
        raise InputError(f"{data}: no label {missing[0]!r}; is the model from another set?")
    with threadpool_limits(1):
        model, _ = fitted_words(labelled, KmerConfig())
        windows = [
            window
            for v in variants
            for window in allele_windows(
                genome, v.interval, [v.ref, v.alts[0]], labelled.window_bp
            )[0]
        ]
        probabilities = model.predict(model.features(windows)).astype(np.float64)
    clipped = probabilities.clip(1e-9, 1 - 1e-9)
    logits = np.log(clipped / (1 - clipped)).reshape(len(variants), 2, -1)
    columns = [labelled.label_names.index(label) for label in labels]
    return (logits[:, 1] - logits[:, 0])[:, columns]


def _table(variants: list[Variant], known, sources: dict[str, np.ndarray]) -> str:
    """Return every variant with its scores; own-label changes are signed, and nan without a label."""
    import numpy as np

    lines = ["\t".join(["chrom", "pos", "id", "ref", "alt", "effect", *_columns(sources)])]
    for i, variant in enumerate(variants):
        own = known.own_labels[i]
        values = []
        for changes in sources.values():
            values.append(np.abs(changes[i]).max())
            if changes.shape == known.own_labels.shape:
                # Of several labels the one that changes most, as the variant's direction has it.
                chosen = changes[i][own]
                values.append(chosen[np.abs(chosen).argmax()] if own.any() else np.nan)
        numbers = [f"{value:.5g}" for value in values]
        lines.append("\t".join([*_place(variant), known.effects[i], *numbers]))
    return "\n".join(lines) + "\n"


def _place(v: Variant) -> list[str]:
    return [v.chrom, str(v.pos), v.id, v.ref, v.alts[0]]


def _columns(sources: dict[str, np.ndarray]) -> list[str]:
    return [
        name
        for source in sources
        for name in (f"{source}_largest", *([f"{source}_own_label"] if source != "gc" else []))
    ]
