"""The baseline `composition`: a kernel regression on six numbers that say what a window consists of."""

import numpy as np
from numpy.typing import NDArray
from sklearn.kernel_approximation import Nystroem

from dna_bigbird.baselines.kmer import KmerBaseline, kmer_frequencies

# N rows, D features, L labels, M landmarks

LANDMARKS = 300
"""Training rows at most to which the kernel compares a window, drawn with seed 0."""
WIDTHS = (2.0, 4.0, 1.0)
"""Widths of the kernel that are tried on validation rows; the first one without any."""
CENTRE_BINS = 2
"""So many bins at the centre of a window are read on their own, if it has labelled bins."""
SMOOTHING = 0.01
"""Added to both sides of a ratio of frequencies, which a few bases would decide otherwise."""


def composition_features(sequence: str, *, together: bool) -> NDArray[np.float32]:
    """Return GC content, GC skew, AT skew, CpG and TpG + CpA over their expectation, and complexity, (6,).

    The expectation is the product of the frequencies of the two bases. Complexity is the Rényi entropy of order 2
    of the 3-mers in bits: 0 for one 3-mer, 6 for all 64 equally often. An N counts as no letter.

    Args:
        together: Leave out the signs of the skews, so that a sequence and its reverse complement are equal.

    Example:
        >>> [round(x, 2) for x in composition_features("CCGG", together=False).tolist()]
        [1.0, 0.0, 0.0, 1.32, 1.0, 1.0]
    """
    a, c, g, t, *longer = kmer_frequencies(sequence, 3, together=False).astype(np.float64)
    ca, cg, tg = longer[4], longer[6], longer[14]
    skews = np.array([g - c, a - t]) / np.maximum([g + c, a + t], 1e-9)
    ratios = [
        (observed + SMOOTHING) / (expected + SMOOTHING)
        for observed, expected in ((cg, c * g), (tg + ca, t * g + c * a))
    ]
    complexity = -np.log2(max(np.square(longer[16:]).sum(), 4.0**-3))
    numbers = [c + g, *(np.abs(skews) if together else skews), *ratios, complexity]
    return np.array(numbers, dtype=np.float32)


class CompositionBaseline(KmerBaseline):
    """A ridge regression, as that on k-mers, on the kernels between a window and some training windows.

    The kernel is exp(−d² / (2 D width²)), d the distance of two rows of D features, each of standard deviation 1
    (Nyström's approximation of a kernel regression; exact with a landmark per training row). The loss on
    validation rows chooses width and penalty.
    """

    width = WIDTHS[0]

    @property
    def chosen(self) -> str:
        """What the loss on validation rows chose, in words."""
        return f"{super().chosen}, kernel width {self.width:g}"

    def _named_features(self) -> str:
        return "RBF kernels of GC content, skews, CpG, TpG + CpA and complexity"

    def _features_of(self, bases: str) -> NDArray[np.float32]:
        return composition_features(bases, together=self.config.strands == "together")

    def fit(
        self,
        features_ND: NDArray,
        labels_NL: NDArray,
        validation_ND: NDArray | None = None,
        validation_labels_NL: NDArray | None = None,
    ) -> "CompositionBaseline":
        """Fit as `KmerBaseline.fit`, with each width if there are validation rows."""
        choose = validation_ND is not None and len(validation_ND) > 0
        best, fitted = np.inf, {}
        for width in WIDTHS if choose else WIDTHS[:1]:
            self.width = width
            super().fit(features_ND, labels_NL, validation_ND, validation_labels_NL)
            if self.loss < best:
                best, fitted = self.loss, dict(vars(self))
        vars(self).update(fitted)
        return self

    def _learn_scale(self, features_ND: NDArray) -> None:
        super()._learn_scale(features_ND)
        scaled = super()._scaled(features_ND)
        gamma = 1 / (2 * scaled.shape[1] * self.width**2)
        count = min(LANDMARKS, len(scaled))
        self._kernel = Nystroem(gamma=gamma, n_components=count, random_state=0).fit(scaled)
        kernels = self._kernel.transform(scaled)
        self._centre = kernels.mean(axis=0)
        self._spread = max(float((kernels - self._centre).std()), 1e-9)

    def _scaled(self, features_ND: NDArray) -> NDArray[np.float64]:
        """Return the inputs of the regression, (N, M); the spread is one number, so their kernel stays the same."""
        if not len(features_ND):
            return np.empty((0, len(self._centre)))
        kernels = self._kernel.transform(super()._scaled(features_ND))
        return (kernels - self._centre) / self._spread
