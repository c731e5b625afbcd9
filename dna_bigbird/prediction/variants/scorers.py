"""What a variant is scored by: the labels of a model, or what its encoder makes of the alleles."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from dna_bigbird.bundles.bundle import Bundle
from dna_bigbird.bundles.choice import choose_labels
from dna_bigbird.core.errors import InputError
from dna_bigbird.prediction.compute import Compute
from dna_bigbird.prediction.embedder import Embedder, usual_window_bp
from dna_bigbird.prediction.engine import chunks_of
from dna_bigbird.prediction.predictor import Predictor, check_together
from dna_bigbird.prediction.variants.effects import (
    EFFECTS,
    Effects,
    WindowCutter,
    framed,
    site_effects,
    with_effects,
)
from dna_bigbird.prediction.variants.likelihood import MaskedLikelihood
from dna_bigbird.prediction.variants.sites import Site

Score = Literal["labels", "embedding", "likelihood"]
ZERO_SHOT = {"embedding": "distance", "likelihood": "log_ratio"}
"""Scores that need no labels, and the end of their column's name."""
GROUPS_AT_ONCE = 64
"""Sites whose windows share batches."""


class LabelScorer:
    """The changes of the predictions of fine-tuned bundles, for chosen labels."""

    columns = EFFECTS

    def __init__(
        self, bundles: Sequence[Bundle], compute: Compute, labels: str | Sequence[str] | None
    ) -> None:
        check_together(bundles)
        chosen = choose_labels(bundles[0].config.label_names, labels)
        self._predictor = Predictor(bundles, compute=compute, labels=chosen)
        self._predictor.check_probabilities("a comparison of alleles")
        self.label_names = self._predictor.label_names
        self.window_bp = self._predictor.window_bp
        self.compute = self._predictor.compute
        self.notes = self._predictor.notes

    def effects(
        self, sites: Iterable[Site], cut: WindowCutter
    ) -> Iterator[tuple[list[Site], Effects]]:
        """See `site_effects`."""
        return site_effects(
            self._predictor,
            cut.genome,
            sites,
            window_bp=cut.window_bp,
            strand=cut.strand,
            shifts=cut.shifts,
        )


class EmbeddingScorer:
    """Euclidean distance of the alleles' mean vectors; mean over strands and shifts."""

    columns = (ZERO_SHOT["embedding"],)

    def __init__(self, bundle: Bundle, compute: Compute) -> None:
        self.label_names = ["embedding"]
        self._embedder = Embedder(bundle, compute=compute, both_strands=False)
        self.window_bp = usual_window_bp(bundle)
        self.compute = self._embedder.compute
        self.notes = self._embedder.notes

    def effects(
        self, sites: Iterable[Site], cut: WindowCutter
    ) -> Iterator[tuple[list[Site], Effects]]:
        """Yield the distances, (alleles, 1)."""
        compared = with_effects(self._vectors, cut, sites, distances)
        return framed(compared, self.columns, 1)

    def _vectors(self, groups: Iterable[list[str]]) -> Iterator[NDArray[np.float64]]:
        for some in chunks_of(groups, lambda group: 1, GROUPS_AT_ONCE):
            vectors = self._embedder.pooled([text for group in some for text in group])
            edges = np.cumsum([len(group) for group in some])[:-1]
            yield from np.split(vectors.astype(np.float64), edges)


class LikelihoodScorer:
    """The log-probability of ALT minus that of REF by a pretrained model: see `MaskedLikelihood`."""

    columns = (ZERO_SHOT["likelihood"],)

    def __init__(self, bundle: Bundle, compute: Compute) -> None:
        self.label_names = ["likelihood"]
        self._model = MaskedLikelihood(bundle, compute)
        self.window_bp = usual_window_bp(bundle)
        self.compute = self._model.compute
        self.notes = self._model.notes

    def effects(
        self, sites: Iterable[Site], cut: WindowCutter
    ) -> Iterator[tuple[list[Site], Effects]]:
        """Yield the log-ratios in nats, means over strands and shifts, (alleles, 1)."""
        windows_per_allele = len(cut.shifts) * (2 if cut.strand == "both" else 1)

        def log_ratios(groups: Iterable[list[str]]) -> Iterator[NDArray[np.float64]]:
            for some in chunks_of(groups, lambda group: 1, GROUPS_AT_ONCE):
                nested = [np.array(group).reshape(windows_per_allele, -1) for group in some]
                for values in self._model.log_ratios([rows.tolist() for rows in nested]):
                    yield values.reshape(-1, 1)

        compared = with_effects(
            log_ratios,
            cut,
            sites,
            lambda values: values[:, 1:].mean(axis=0)[None].astype(np.float32),
        )
        return framed(compared, self.columns, 1)


def make_scorer(
    score: str,
    bundles: Sequence[Bundle],
    compute: Compute,
    labels: str | Sequence[str] | None = None,
) -> LabelScorer | EmbeddingScorer | LikelihoodScorer:
    """Return what scores variants by the labels, the vectors or the masked tokens of a model."""
    if score == "labels":
        return LabelScorer(bundles, compute, labels)
    if labels is not None:
        raise InputError(f"--labels {labels}: --score {score} has no labels; leave it out")
    if len(bundles) != 1:
        raise InputError(f"--score {score} reads one model, and {len(bundles)} are given")
    return (EmbeddingScorer if score == "embedding" else LikelihoodScorer)(bundles[0], compute)


def distances(vectors: NDArray[np.float64]) -> NDArray[np.float32]:
    """Return mean distances (1, alleles, 1) from the first vector of (both, 1 + alleles, width).

    Example:
        >>> distances(np.array([[[0.0, 0.0], [3.0, 4.0]], [[1.0, 1.0], [1.0, 2.0]]])).tolist()
        [[[3.0]]]
    """
    lengths = np.linalg.norm(vectors[:, 1:] - vectors[:, :1], axis=-1)
    return lengths.mean(axis=0)[None, :, None].astype(np.float32)
