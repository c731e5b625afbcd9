"""The tables of `rank-variants`: every variant with its scores, and the AUROC of every source."""

from collections.abc import Collection, Iterator, Mapping, Sequence

import numpy as np

from dna_bigbird.core.choices import checked
from dna_bigbird.genome.variants import Variant
from dna_bigbird.metrics.variant_ranking import DIRECTIONS, REFERENCE, KnownVariants

QUESTIONS = [name for effect in DIRECTIONS for name in (effect, f"{effect}_own_label")]


@checked()
def ranked_table(
    variants: Sequence[Variant],
    known: KnownVariants,
    sources: Mapping[str, np.ndarray],
    without_labels: Collection[str] = (),
) -> str:
    """Return tab-separated text: the largest change over all labels, and that of the own label.

    Own-label changes are signed, and nan for a variant without a label. Sources without labels have
    no such column.
    """
    header = ["chrom", "pos", "id", "ref", "alt", "effect", *_columns(sources, without_labels)]
    lines = ["\t".join(header)]
    for i, v in enumerate(variants):
        numbers = [f"{value:.5g}" for value in _scores(i, known, sources, without_labels)]
        fields = [v.chrom, str(v.pos), v.id, v.ref, v.alts[0], known.effects[i], *numbers]
        lines.append("\t".join(fields))
    return "\n".join(lines) + "\n"


def _columns(sources: Mapping[str, np.ndarray], without_labels: Collection[str]) -> list[str]:
    return [
        name
        for source in sources
        for name in (
            f"{source}_largest",
            *([f"{source}_own_label"] if source not in without_labels else []),
        )
    ]


def _scores(
    index: int,
    known: KnownVariants,
    sources: Mapping[str, np.ndarray],
    without_labels: Collection[str],
) -> Iterator[float]:
    own = known.own_labels[index]
    for source, changes in sources.items():
        yield np.abs(changes[index]).max()
        if source not in without_labels:
            # Of several labels the change that is largest, with its sign.
            values = changes[index][own]
            yield values[np.abs(values).argmax()] if own.any() else np.nan


def source_table(metrics: Mapping[str, Mapping[str, float | int]]) -> str:
    """Return tab-separated text: a row per source of scores and question, in long form.

    Args:
        metrics: By source, as `variant_ranking.rank_variants` returns them.
    """
    columns = ["auroc", "auroc_low", "auroc_high"]
    gains = [f"minus_{REFERENCE}{end}" for end in ("", "_low", "_high")]
    lines = ["\t".join(["source", "question", "n", "n_positive", *columns, *gains])]
    for source, values in metrics.items():
        for question in QUESTIONS:
            key = f"auroc_{question}"
            if key not in values:
                continue
            numbers = [values[f"{key}{end}"] for end in ("", "_low", "_high")]
            numbers += [
                values.get(f"{key}_gain_over_{REFERENCE}{end}", np.nan)
                for end in ("", "_low", "_high")
            ]
            counts = [str(values[f"n_{question}"]), str(values[f"n_{question}_positive"])]
            lines.append("\t".join([source, question, *counts, *(f"{x:.6g}" for x in numbers)]))
    return "\n".join(lines) + "\n"
