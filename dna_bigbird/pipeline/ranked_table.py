"""The table of `rank-variants`: every variant with its scores from each source."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from dna_bigbird.choices import checked
from dna_bigbird.evaluation.variant_ranking import KnownVariants
from dna_bigbird.genome.variants import Variant


@checked()
def ranked_table(
    variants: Sequence[Variant], known: KnownVariants, sources: Mapping[str, np.ndarray]
) -> str:
    """Return tab-separated text: the largest change over all labels, and that of the own label.

    Own-label changes are signed, and nan for a variant without a label.
    """
    header = ["chrom", "pos", "id", "ref", "alt", "effect", *_columns(sources)]
    lines = ["\t".join(header)]
    for i, v in enumerate(variants):
        numbers = [f"{value:.5g}" for value in _scores(i, known, sources)]
        fields = [v.chrom, str(v.pos), v.id, v.ref, v.alts[0], known.effects[i], *numbers]
        lines.append("\t".join(fields))
    return "\n".join(lines) + "\n"


def _columns(sources: Mapping[str, np.ndarray]) -> list[str]:
    return [
        name
        for source in sources
        for name in (f"{source}_largest", *([f"{source}_own_label"] if source != "gc" else []))
    ]


def _scores(index: int, known: KnownVariants, sources: Mapping[str, np.ndarray]) -> Iterator[float]:
    own = known.own_labels[index]
    for changes in sources.values():
        yield np.abs(changes[index]).max()
        if changes.shape == known.own_labels.shape:
            # Of several labels the change that is largest, with its sign.
            values = changes[index][own]
            yield values[np.abs(values).argmax()] if own.any() else np.nan
