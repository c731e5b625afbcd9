"""gkm-SVM: support vector machines on gapped words (Ghandi et al. 2014), a baseline of Table 7."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from scipy.special import expit

from dna_bigbird.baselines.gapped_kmers import ROWS_AT_ONCE, GappedKernel, word_matrix
from dna_bigbird.baselines.gkm_config import GkmConfig
from dna_bigbird.baselines.logistic import log_loss
from dna_bigbird.baselines.platt import fit_sigmoid
from dna_bigbird.baselines.squared_hinge import Product, fit_squared_hinge

# N rows, W words, L labels, B labels at once

COSTS = (0.01, 0.1, 1.0, 10.0, 100.0)
"""Costs of an error (`C`) tried, from the smallest on, as long as the loss on validation falls."""
COST_WITHOUT_VALIDATION = 1.0
MATRIX_ROWS = 8192
"""Training rows up to which the products of all pairs may be kept (268 MB)."""
ROWS_PER_LABEL = 100
"""Training rows per label up to which these products are computed faster than without them."""


@dataclass(frozen=True)
class CountedRows:
    """The counts of all words in some rows, (N, W), and the scales of these rows, (N,)."""

    words: csr_matrix
    scale: NDArray[np.float32]
    """One by the length of the row's vector of gapped words: the kernel of a row with itself is 1."""


class GkmBaseline:
    """A linear support vector machine per label on the counts of gapped words.

    As in gkm-SVM each vector of counts has length 1. A feature that is 1 takes the place of the
    bias. Errors of the positive and of the negative rows of a label weigh the same in total, as in
    the balanced sets that gkm-SVM is trained on. Probabilities: Platt's sigmoid, fitted on
    validation rows, or on the training rows if there are none.

    Args:
        config: With the -1 filled in: `GkmConfig.for_set`.
    """

    def __init__(self, config: GkmConfig) -> None:
        if config.read_bp < 0:
            raise ValueError("fill in the -1 first: GkmConfig.for_set")
        self.config = config
        self.cost = COST_WITHOUT_VALIDATION
        self._kernel = GappedKernel(config.word_length, config.informative)

    def describe(self) -> str:
        """Return one sentence for the report."""
        config = self.config
        together = ", both strands together" if config.strands == "together" else ""
        where = f"the central {config.read_bp} bp" if config.read_bp else "the whole window"
        return (
            f"gkm-SVM: linear support vector machine on gapped words of {config.word_length} bases, "
            f"{config.informative} of them read{together}, in {where}."
        )

    def count(self, sequences: list[str]) -> CountedRows:
        """Return the words of some sequences."""
        read_bp, config = self.config.read_bp, self.config
        if read_bp:
            starts = [max(0, len(each) - read_bp) // 2 for each in sequences]
            sequences = [
                x[start : start + read_bp] for x, start in zip(sequences, starts, strict=True)
            ]
        together = config.strands == "together"
        words = word_matrix(sequences, config.word_length, together=together)
        return CountedRows(words, 1 / self._kernel.lengths(words))

    def fit(
        self,
        rows: CountedRows,
        labels_NL: NDArray,
        validation: CountedRows,
        validation_labels_NL: NDArray,
    ) -> "GkmBaseline":
        """Fit on training rows; the cost of an error is chosen by the log loss on validation rows.

        A label that is the same on all training rows gets its value as a constant score.
        """
        labels_NL = np.asarray(labels_NL, np.float32)
        self._constant_L = labels_NL.mean(axis=0)
        self._varies_L = (self._constant_L > 0) & (self._constant_L < 1)
        if not self._varies_L.any():
            return self
        labels_NL, share_L = labels_NL[:, self._varies_L], self._constant_L[self._varies_L]
        weights_NL = np.where(labels_NL == 1, 0.5 / share_L, 0.5 / (1 - share_L)).astype(np.float32)
        self._rows = rows
        product, choose = self._product(len(share_L)), len(validation.scale) > 0
        known = validation if choose else rows
        truth_NL = np.asarray(validation_labels_NL)[:, self._varies_L] if choose else labels_NL
        best, coefficients_NL = np.inf, None
        for cost in COSTS if choose else (COST_WITHOUT_VALIDATION,):
            coefficients_NL = fit_squared_hinge(
                product, 2 * labels_NL - 1, cost * weights_NL, coefficients_NL
            )
            scores_NL = self._scores(known, coefficients_NL)
            slope_L, bias_L = fit_sigmoid(scores_NL, truth_NL)
            loss = log_loss(truth_NL, expit(scores_NL * slope_L + bias_L))
            if not loss < best:
                break  # larger costs only fit the training rows more closely
            best, self.cost = loss, cost
            self._coefficients_NL, self._slope_L, self._bias_L = coefficients_NL, slope_L, bias_L
        return self

    def predict(self, rows: CountedRows) -> NDArray[np.float32]:
        """Return probabilities, (N, L)."""
        result_NL = np.tile(self._constant_L, (len(rows.scale), 1))
        if self._varies_L.any():
            scores_NL = self._scores(rows, self._coefficients_NL)
            result_NL[:, self._varies_L] = expit(scores_NL * self._slope_L + self._bias_L)
        return result_NL.astype(np.float32)

    def _product(self, labels: int) -> Product:
        """Return the product with the matrix of the products of all training rows, plus 1 for the bias."""
        rows = self._rows
        if len(rows.scale) > min(MATRIX_ROWS, ROWS_PER_LABEL * labels):
            return lambda values_NL: self._scores(rows, values_NL)
        matrix_NN = self._kernel.matrix(rows.words, rows.words)
        matrix_NN *= rows.scale[:, None] * rows.scale
        matrix_NN += 1
        return lambda values_NL: matrix_NN @ values_NL

    def _scores(self, rows: CountedRows, coefficients_NL: NDArray) -> NDArray[np.float32]:
        """Return the scores of rows, (N, L), by coefficients of the training rows."""
        scaled_NL = self._rows.scale[:, None] * coefficients_NL
        result_NL = np.empty((len(rows.scale), scaled_NL.shape[1]), np.float32)
        for start in range(0, scaled_NL.shape[1], ROWS_AT_ONCE):
            part = slice(start, start + ROWS_AT_ONCE)
            counted_BW = np.ascontiguousarray((self._rows.words.T @ scaled_NL[:, part]).T)
            weights_BW = self._kernel.spread(counted_BW)
            result_NL[:, part] = rows.words @ np.ascontiguousarray(weights_BW.T)
        return rows.scale[:, None] * result_NL + coefficients_NL.sum(axis=0)
