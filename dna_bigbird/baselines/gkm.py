"""gkm-SVM: support vector machines on gapped k-mers (Ghandi et al. 2014), a baseline of Table 7."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import pairwise
from math import comb

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.sparse import csr_matrix
from scipy.special import expit

from dna_bigbird.baselines.base_kmers import UNKNOWN, base_codes
from dna_bigbird.baselines.config import GkmConfig
from dna_bigbird.baselines.logistic import cell_weights, log_loss, positive_share

# Counts of gapped k-mers as a kernel; gkm-SVM, Ghandi et al. 2014.
#
# A gapped k-mer has l bases; k of them are read, the others are gaps. Two k-mers of l bases with m
# mismatches share C(l - m, k) of them, so the product of two vectors of counts is a sum over pairs of
# k-mers, and no vector is needed (0.9 million features for l = 10 and k = 6, 5.4 million for 11 and 7).
#
# With two bits per base the number of mismatches depends only on the exclusive or of two k-mers. Such a
# matrix is diagonal after a Walsh-Hadamard transform, so it is applied to all 4 ** l k-mers in
# O(l * 4 ** l) steps. All of this is exact up to rounding in float32.

# N rows, W k-mers (4 ** word_length), B rows at once, C bits in a part of a k-mer

ROWS_AT_ONCE = 16
"""Rows that are transformed at once: 67 MB for k-mers of 10 bases."""
PART_BITS = 5
"""Bits of a k-mer that one matrix product transforms."""
PAIR_WORDS = 1_000
"""k-mers of a row up to which its length is a sum over pairs, which is then faster."""


def kmers_of(sequence: str, length: int, *, together: bool) -> NDArray[np.int32]:
    """Return the numbers of all k-mers of a sequence; with `together` also of the other strand.

    k-mers with an N are left out.

    Example:
        >>> kmers_of("ACGNT", 2, together=False).tolist(), kmers_of("ACG", 2, together=True).tolist()
        ([1, 6], [1, 6, 6, 11])
    """
    codes = base_codes(sequence).astype(np.int32)
    strands = [codes]
    if together:
        strands.append(np.where(codes == UNKNOWN, UNKNOWN, 3 - codes)[::-1])
    parts = []
    for strand in strands if len(sequence) >= length else ():
        letters = np.lib.stride_tricks.sliding_window_view(strand, length)
        known = letters[(letters < UNKNOWN).all(axis=1)]
        parts.append(known @ (4 ** np.arange(length, dtype=np.int32)[::-1]))
    return np.concatenate(parts) if parts else np.zeros(0, np.int32)


def kmer_matrix(sequences: Iterable[str], length: int, *, together: bool) -> csr_matrix:
    """Return the counts of all k-mers in every sequence, (N, W), float32."""
    kmers = [kmers_of(each, length, together=together) for each in sequences]
    ends = np.cumsum([0, *map(len, kmers)])
    numbers = np.concatenate(kmers) if kmers else np.zeros(0, np.int32)
    counts = np.ones(len(numbers), np.float32)
    return csr_matrix((counts, numbers, ends), shape=(len(kmers), 4**length))


class GappedKernel:
    """Products of vectors of counts of gapped k-mers.

    Args:
        length: Bases in a k-mer, gaps included, at most 12.
        informative: Bases that are read, at most `length`.
    """

    def __init__(self, length: int, informative: int) -> None:
        self.length = length
        difference = np.arange(4**length)
        mismatches = np.zeros(4**length, np.int64)
        for position in range(length):
            mismatches += (difference >> 2 * position & 3) > 0
        shared = [comb(length - m, informative) for m in range(length + 1)]
        self._shared_W = np.array(shared, np.float32)[mismatches]
        self._eigenvalues_W = self._transform(self._shared_W[None])[0] / len(self._shared_W)

    def spread(self, counts_BW: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return for each k-mer its products with the counted k-mers, summed: counts times kernel."""
        return self._transform(self._transform(counts_BW) * self._eigenvalues_W)

    def matrix(self, rows_NW: csr_matrix, others_NW: csr_matrix) -> NDArray[np.float32]:
        """Return the product of each row with each other row."""
        result = np.empty((rows_NW.shape[0], others_NW.shape[0]), np.float32)
        for start in range(0, others_NW.shape[0], ROWS_AT_ONCE):
            part = slice(start, start + ROWS_AT_ONCE)
            spread_BW = self.spread(others_NW[part].toarray())
            result[:, part] = rows_NW @ np.ascontiguousarray(spread_BW.T)
        return result

    def lengths(self, rows_NW: csr_matrix) -> NDArray[np.float32]:
        """Return the length of each row's vector of counts, (N,); 1 for a row without k-mers."""
        squares = np.empty(rows_NW.shape[0])
        for row, (start, end) in enumerate(pairwise(rows_NW.indptr)):
            if end - start <= PAIR_WORDS:
                kmers, counts = rows_NW.indices[start:end], rows_NW.data[start:end]
                squares[row] = counts @ self._shared_W[kmers[:, None] ^ kmers] @ counts
            else:
                spectrum_W = self._transform(rows_NW[row].toarray())[0]
                squares[row] = spectrum_W**2 @ self._eigenvalues_W
        return np.sqrt(np.where(squares > 0.5, squares, 1.0)).astype(np.float32)

    def _transform(self, values_BW: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return the Walsh-Hadamard transform of every row."""
        shape, done = values_BW.shape, 0
        while done < 2 * self.length:
            bits = min(PART_BITS, 2 * self.length - done)
            signs_CC = _hadamard(bits)
            if done:
                values_BW = np.matmul(signs_CC, values_BW.reshape(-1, 2**bits, 2**done))
            else:
                values_BW = values_BW.reshape(-1, 2**bits) @ signs_CC
            done += bits
        return values_BW.reshape(shape)


def _hadamard(bits: int) -> NDArray[np.float32]:
    signs = np.ones((1, 1), np.float32)
    for _ in range(bits):
        signs = np.block([[signs, signs], [signs, -signs]])
    return signs


# --- Probabilities from the scores of support vector machines: Platt 1999 ---

# N rows, L labels

SMALLEST_SLOPE = 0.01
"""Per standard deviation of the scores; above 0, so that the order of rows is kept."""


def fit_sigmoid(scores_NL: NDArray, labels_NL: NDArray) -> tuple[NDArray, NDArray]:
    """Return slopes and biases (L,) with the smallest log loss of expit(slope * score + bias).

    As Platt proposes, the targets are (P + 1) / (P + 2) and 1 / (N + 2) instead of 1 and 0, for P
    positive and N negative rows; so a label without positive rows has a finite bias. Rows whose
    label is NaN are left out.
    """
    scores_NL, labels_NL = np.asarray(scores_NL, np.float64), np.asarray(labels_NL)
    weight_NL = cell_weights(labels_NL)
    positive_L, negative_L = ((labels_NL == value).sum(axis=0) for value in (1, 0))
    above_L, below_L = (positive_L + 1) / (positive_L + 2), 1 / (negative_L + 2)
    targets_NL = np.where(labels_NL == 1, above_L, below_L)
    mean_L, scale_L = scores_NL.mean(axis=0), np.maximum(scores_NL.std(axis=0), 1e-9)
    scaled_NL = (scores_NL - mean_L) / scale_L

    def objective(flat: NDArray) -> tuple[float, NDArray]:
        slope_L, bias_L = flat.reshape(2, -1)
        logits_NL = scaled_NL * slope_L + bias_L
        error_NL = weight_NL * (expit(logits_NL) - targets_NL) / len(targets_NL)
        nats_NL = weight_NL * (np.logaddexp(0, logits_NL) - targets_NL * logits_NL)
        loss = nats_NL.mean(axis=0).sum()
        return loss, np.concatenate([(error_NL * scaled_NL).sum(axis=0), error_NL.sum(axis=0)])

    labels = scores_NL.shape[1]
    bounds = [(SMALLEST_SLOPE, None)] * labels + [(None, None)] * labels
    start = np.concatenate([np.ones(labels), np.zeros(labels)])
    minimum = minimize(objective, start, jac=True, method="L-BFGS-B", bounds=bounds)
    slope_L, bias_L = minimum.x.reshape(2, -1)
    return slope_L / scale_L, bias_L - slope_L * mean_L / scale_L


# --- Linear support vector machines for many labels at once, from products of rows alone ---
#
# The objective of scikit-learn's `LinearSVC` (squared hinge loss), which is the oracle of its tests;
# its features would not fit into memory. Newton's method in the primal: Chapelle 2007. All labels
# share each product.

# N rows, L labels

MAX_STEPS, MAX_INNER_STEPS = 50, 200
TOLERANCE = 1e-3
"""Largest remaining error of a coefficient, relative to the largest possible one, 2 times its cost."""
STEP_LENGTHS = 0.5 ** np.arange(12)

Product = Callable[[NDArray], NDArray]


def fit_squared_hinge(
    product: Product,
    signs_NL: NDArray[np.float32],
    costs_NL: NDArray[np.float32],
    start_NL: NDArray[np.float32] | None = None,
) -> NDArray[np.float32]:
    """Return coefficients of the rows (N, L): a label's weights are the sum of its rows times these.

    A label's objective is half of its squared weights plus the sum over rows of
    costs * max(0, 1 - signs * score) ** 2.

    Args:
        product: Multiplies (N, L) by the matrix of the products of all rows, (N, N).
        signs_NL: -1 or 1; 0 leaves the cell out.
        costs_NL: Of errors, above 0: `C` of scikit-learn.
        start_NL: Coefficients to start from, such as those for smaller costs.
    """
    coefficients = np.zeros_like(signs_NL) if start_NL is None else start_NL
    scores = product(coefficients)
    for _ in range(MAX_STEPS):
        active = ((signs_NL != 0) & (signs_NL * scores < 1)).astype(np.float32)
        errors = coefficients - 2 * costs_NL * active * (signs_NL - scores)
        if np.abs(errors / costs_NL).max(initial=0) < 2 * TOLERANCE:
            break
        target = _solve(product, active, signs_NL, costs_NL, coefficients)
        step, change = target - coefficients, product(target) - scores
        length = _step_length(coefficients, scores, step, change, signs_NL, costs_NL)
        coefficients, scores = coefficients + length * step, scores + length * change
    return coefficients


def _solve(
    product: Product, active: NDArray, signs: NDArray, costs: NDArray, start: NDArray
) -> NDArray:
    """Return the best coefficients if the active rows stay so: conjugate gradients per label."""

    def multiply(x: NDArray) -> NDArray:
        return active * product(x) + x / (2 * costs)

    solution = active * start
    residual = active * signs - multiply(solution)
    direction, square = residual, (residual**2).sum(axis=0)
    goal = (0.1 * TOLERANCE) ** 2 * (active.sum(axis=0) + 1)
    for _ in range(MAX_INNER_STEPS):
        if (square <= goal).all():
            break
        image = multiply(direction)
        length = np.where(
            square > goal, square / np.maximum((direction * image).sum(axis=0), 1e-30), 0
        )
        solution, residual = solution + length * direction, residual - length * image
        before, square = square, (residual**2).sum(axis=0)
        direction = residual + square / np.maximum(before, 1e-30) * direction
    return solution


def _step_length(
    coefficients: NDArray,
    scores: NDArray,
    step: NDArray,
    change: NDArray,
    signs: NDArray,
    costs: NDArray,
) -> NDArray:
    """Return for each label the step length of `STEP_LENGTHS` with the lowest objective."""
    objectives = []
    for length in STEP_LENGTHS:
        at, moved = coefficients + length * step, scores + length * change
        loss = costs * np.maximum(0, 1 - signs * moved) ** 2
        objectives.append((at * moved / 2 + loss).sum(axis=0, dtype=np.float64))
    return STEP_LENGTHS[np.argmin(objectives, axis=0)].astype(np.float32)


# N rows, W k-mers, L labels, B labels at once

COSTS = (0.01, 0.1, 1.0, 10.0, 100.0)
"""Costs of an error (`C`) tried, from the smallest on, as long as the loss on validation falls."""
COST_WITHOUT_VALIDATION = 1.0
MATRIX_ROWS = 8192
"""Training rows up to which the products of all pairs may be kept (268 MB)."""
ROWS_PER_LABEL = 100
"""Training rows per label up to which these products are computed faster than without them."""


@dataclass(frozen=True)
class CountedRows:
    """The counts of all k-mers in some rows, (N, W), and the scales of these rows, (N,)."""

    kmers: csr_matrix
    scale: NDArray[np.float32]
    """One by the length of the row's vector of gapped k-mers: the kernel of a row with itself is 1."""


class GkmBaseline:
    """A linear support vector machine per label on the counts of gapped k-mers.

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
            f"gkm-SVM: linear support vector machine on gapped k-mers of {config.word_length} bases, "
            f"{config.informative} of them read{together}, in {where}."
        )

    def count(self, sequences: list[str]) -> CountedRows:
        """Return the k-mers of some sequences."""
        read_bp, config = self.config.read_bp, self.config
        if read_bp:
            starts = [max(0, len(each) - read_bp) // 2 for each in sequences]
            sequences = [
                x[start : start + read_bp] for x, start in zip(sequences, starts, strict=True)
            ]
        together = config.strands == "together"
        kmers = kmer_matrix(sequences, config.word_length, together=together)
        return CountedRows(kmers, 1 / self._kernel.lengths(kmers))

    def fit(
        self,
        rows: CountedRows,
        labels_NL: NDArray,
        validation: CountedRows,
        validation_labels_NL: NDArray,
    ) -> "GkmBaseline":
        """Fit on training rows; the cost of an error is chosen by the log loss on validation rows.

        A label that is the same on all training rows gets its value as a constant score. A cell whose
        label is NaN, not measured, is left out.
        """
        labels_NL = np.asarray(labels_NL, np.float32)
        self._constant_L = positive_share(labels_NL)
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
                product, np.nan_to_num(2 * labels_NL - 1), cost * weights_NL, coefficients_NL
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
        matrix_NN = self._kernel.matrix(rows.kmers, rows.kmers)
        matrix_NN *= rows.scale[:, None] * rows.scale
        matrix_NN += 1
        return lambda values_NL: matrix_NN @ values_NL

    def _scores(self, rows: CountedRows, coefficients_NL: NDArray) -> NDArray[np.float32]:
        """Return the scores of rows, (N, L), by coefficients of the training rows."""
        scaled_NL = self._rows.scale[:, None] * coefficients_NL
        result_NL = np.empty((len(rows.scale), scaled_NL.shape[1]), np.float32)
        for start in range(0, scaled_NL.shape[1], ROWS_AT_ONCE):
            part = slice(start, start + ROWS_AT_ONCE)
            counted_BW = np.ascontiguousarray((self._rows.kmers.T @ scaled_NL[:, part]).T)
            weights_BW = self._kernel.spread(counted_BW)
            result_NL[:, part] = rows.kmers @ np.ascontiguousarray(weights_BW.T)
        return rows.scale[:, None] * result_NL + coefficients_NL.sum(axis=0)
