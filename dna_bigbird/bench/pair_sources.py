"""What scores the sequences of a pair task: the bundle, GC content, and counts of short words."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dna_bigbird.baselines.base_ngram import BaseNgramCausal
from dna_bigbird.bench.suites.suite import PairRow
from dna_bigbird.bundles.bundle import Bundle
from dna_bigbird.genome.alphabet import reverse_complement
from dna_bigbird.prediction.compute import Compute, exact
from dna_bigbird.prediction.predictor import Predictor
from dna_bigbird.prediction.sequence_likelihood import STRIDE, SequenceLikelihood

# n sequences, N pairs

GC, COUNTING = "gc", "counting"
ORDER = 6
"""Bases of the longest n-gram of `counting`."""
DIGITS = 6
"""Decimals of every score; the rounding of float32 does not decide a pair."""


@dataclass(frozen=True)
class ModelScorer:
    """Scores sequences with a bundle: labels if it has some, else how probable it finds them."""

    bundle: Bundle
    threads: int

    @property
    def is_classifier(self) -> bool:
        """Whether the bundle predicts labels."""
        return not self.bundle.config.is_pretrained_only

    @property
    def description(self) -> str:
        """What a score is, in one sentence."""
        if not self.is_classifier:
            return (
                f"mean log-likelihood per base, every {STRIDE}th token hidden in turn, given strand"
            )
        label = self.bundle.config.label_names[0]
        joined = "the higher strand" if self.bundle.config.directional else "mean of both strands"
        return f"log odds of {label}, {joined}"

    def score(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """Return scores of normalised sequences, (n, 2): of the strand as it is, and of the other one.

        A pretrained bundle reads the given strand only, so its second column is NaN.

        Raises:
            InputError: If the bundle cannot read DNA or has no head for it.
        """
        compute = exact(Compute(threads=self.threads))
        if not self.is_classifier:
            nats = SequenceLikelihood(self.bundle, compute).nats_per_base(texts)
            return np.round(np.stack([nats, np.full(len(texts), np.nan)], axis=1), DIGITS)
        predictor = Predictor([self.bundle], compute=compute, labels=[0])
        groups = [(text, reverse_complement(text)) for text in texts]
        logits = [each[:, 0] for each in predictor.logits(groups)]
        return np.round(np.array(logits).reshape(-1, 2), DIGITS)

    def join(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return one score per sequence, (n,), from those of its strands, (n, 2)."""
        if not self.is_classifier:
            return scores[:, 0]
        return scores.max(axis=1) if self.bundle.config.directional else scores.mean(axis=1)


def gc_shares(texts: Sequence[str]) -> NDArray[np.float64]:
    """Return the share of G and C of each sequence, N left out, (n,)."""
    counts = [(text.count("G") + text.count("C"), len(text) - text.count("N")) for text in texts]
    return np.array([gc / known if known else np.nan for gc, known in counts])


def counting_scores(rows: Sequence[PairRow], forms: Sequence[str]) -> list[NDArray[np.float64]]:
    """Return the mean log-likelihood per base of each form of each pair under n-grams, in nats, (N,) each.

    The n-grams of up to `ORDER` bases are those of the unchanged sequences of the other half of the
    pairs. Halves are every other group if there are several, so that a motif is scored by counts that
    have not seen it, else every other name.

    Args:
        forms: Names of fields of `PairRow`: `sequence`, `changed`, `control`.
    """
    keys = [row.group for row in rows]
    if len(set(keys)) == 1:
        keys = [row.name for row in rows]
    half = np.unique(keys, return_inverse=True)[1].reshape(-1) % 2
    scores = [np.full(len(rows), np.nan) for _ in forms]
    for number in (0, 1):
        fitted = BaseNgramCausal(ORDER).fit_sequences(_distinct(rows, half != number))
        if not fitted.counted_bp:
            continue
        for values, form in zip(scores, forms, strict=True):
            for i in np.flatnonzero(half == number).tolist():
                values[i] = -np.nanmean(fitted.nll(getattr(rows[i], form)))
    return [np.round(values, DIGITS) for values in scores]


def _distinct(rows: Sequence[PairRow], chosen: NDArray[np.bool_]) -> Iterator[str]:
    yield from dict.fromkeys(rows[i].sequence for i in np.flatnonzero(chosen).tolist())
