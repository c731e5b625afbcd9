"""Baselines of `rank-variants`: the change of GC content, and of a k-mer model's predictions."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from dna_bigbird.baselines.kmer_config import KmerConfig
from dna_bigbird.datasets.same_genome import open_labelled_set
from dna_bigbird.errors import InputError
from dna_bigbird.genome import Genome
from dna_bigbird.genome.variants import Variant
from dna_bigbird.inference.variants.effects import allele_windows
from dna_bigbird.pipeline.word_baseline import fitted_words


def gc_changes(variants: Sequence[Variant]) -> np.ndarray:
    """Return by how many each substitution changes the count of G and C, (variants, 1)."""
    return np.array([[float(_gc(v.alts[0]) - _gc(v.ref))] for v in variants])


def _gc(bases: str) -> int:
    return sum(base in "GC" for base in bases.upper())


def kmer_changes(
    variants: Sequence[Variant], genome: Genome, data: Path, labels: Sequence[str]
) -> np.ndarray:
    """Fit the k-mer model on a set and return its changes of log odds, (variants, labels).

    Raises:
        InputError: If the set lacks one of the labels.
    """
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
