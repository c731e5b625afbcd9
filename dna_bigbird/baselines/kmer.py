"""What counting short k-mers explains: k-mer (or GC) frequencies and a logistic regression.

Every promoter or chromatin score is shown next to this one; without it a score means nothing.
"""

import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression, Ridge

from dna_bigbird.baselines.config import KmerConfig
from dna_bigbird.baselines.logistic import RidgeLogistic, log_loss, positive_share, predict_logistic
from dna_bigbird.genome.kmer_numbers import (
    PART_K,
    canonical_kmers,
    num_positional,
    part_of_starts,
)
from dna_bigbird.models.label_types import MULTI_CLASS, MULTI_LABEL, REGRESSION

# N rows, D features, K classes, L targets

SMALLEST_SHARE = 1e-6
MAX_ITERATIONS, TOLERANCE = 300, 1e-5


class LinearModel(Protocol):
    """A fitted regression."""

    def predict(self, features_ND: NDArray) -> NDArray[np.float64]:
        """Return probabilities or targets."""
        ...

    def loss(self, features_ND: NDArray, labels_NL: NDArray) -> float:
        """Return the mean loss, without the penalty."""
        ...


@dataclass(frozen=True)
class Classes:
    """A softmax regression; a class without a training row has the probability 0."""

    model: LogisticRegression | None
    """None if all training rows are of one class."""
    seen: NDArray[np.int64]
    """Numbers of the classes with a training row."""
    num_classes: int

    def predict(self, features_ND: NDArray) -> NDArray[np.float64]:
        """Return probabilities (N, K) that add up to 1."""
        result_NK = np.zeros((len(features_ND), self.num_classes))
        if len(features_ND):
            seen = 1.0 if self.model is None else self.model.predict_proba(features_ND)
            result_NK[:, self.seen] = seen
        return result_NK

    def loss(self, features_ND: NDArray, labels_NK: NDArray) -> float:
        """Return the mean log loss in nats; probabilities are at least 1e-12."""
        of_class_N = (self.predict(features_ND) * labels_NK).sum(axis=1)
        return float(-np.log(np.maximum(of_class_N, 1e-12)).mean())

    def linear(self, num_features: int) -> tuple[NDArray, NDArray]:
        """Return weights (K, D) and biases (K,) of the logits; of a class without a row -13.8."""
        weights_KD = np.zeros((self.num_classes, num_features))
        bias_K = np.full(self.num_classes, np.log(SMALLEST_SHARE))
        bias_K[self.seen] = 0
        if self.model is not None:
            with_weights = self.seen[-len(self.model.coef_) :]  # of two classes only the second
            weights_KD[with_weights], bias_K[with_weights] = self.model.coef_, self.model.intercept_
        return weights_KD, bias_K


@dataclass(frozen=True)
class Numbers:
    """A ridge regression of standardised targets."""

    model: Ridge
    mean: NDArray[np.float64]
    std: NDArray[np.float64]

    def predict(self, features_ND: NDArray) -> NDArray[np.float64]:
        """Return targets (N, L) in their unit."""
        if not len(features_ND):
            return np.zeros((0, len(self.mean)))
        scaled = self.model.predict(features_ND).reshape(len(features_ND), -1)
        return scaled * self.std + self.mean

    def loss(self, features_ND: NDArray, targets_NL: NDArray) -> float:
        """Return the mean squared error in units of the standard deviations."""
        return float((((self.predict(features_ND) - targets_NL) / self.std) ** 2).mean())

    def linear(self, num_features: int) -> tuple[NDArray, NDArray]:
        """Return weights (L, D) and biases (L,) of the standardised targets."""
        return self.model.coef_.reshape(-1, num_features), np.ravel(self.model.intercept_)


def fit_linear(
    features_ND: NDArray, labels_NL: NDArray, penalty: float, label_type: str
) -> LinearModel:
    """Fit the mean loss plus `penalty / 2` times the squared weights, without the intercept.

    The loss is the log loss of classes, and half of the squared error of standardised targets.

    Args:
        labels_NL: One 1 per row for classes; numbers for targets.
    """
    rows = len(features_ND)
    if label_type != MULTI_CLASS:
        mean, std = labels_NL.mean(axis=0), labels_NL.std(axis=0)
        std = np.where(std > 0, std, 1.0)
        model = Ridge(alpha=penalty * rows).fit(features_ND, (labels_NL - mean) / std)
        return Numbers(model, mean, std)
    classes = labels_NL.argmax(axis=1)
    seen = np.unique(classes)
    if len(seen) == 1:
        return Classes(None, seen, labels_NL.shape[1])
    softmax = LogisticRegression(C=1 / (penalty * rows), max_iter=MAX_ITERATIONS, tol=TOLERANCE)
    with warnings.catch_warnings():  # the penalty that fits validation best is mostly a strong one
        warnings.simplefilter("ignore", ConvergenceWarning)
        softmax.fit(features_ND, classes)
    return Classes(softmax, seen, labels_NL.shape[1])


# --- What the length of a sequence gives away: a trivial baseline for sets whose classes differ in length ---

# N training rows, M rows to score, L labels, classes or targets, U different lengths


def length_scores(
    train_lengths_N: NDArray[np.int64], train_labels_NL: NDArray, lengths_M: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return for each row the mean labels of the training rows of its length, (M, L).

    Of a length that no training row has, those of the nearest length count; of two, the shorter one.

    Example:
        >>> lengths, labels = np.array([200, 200, 400]), np.array([[1.0], [0.0], [0.0]])
        >>> length_scores(lengths, labels, np.array([200, 299, 300, 301, 900])).ravel().tolist()
        [0.5, 0.5, 0.5, 0.0, 0.0]
    """
    known_U, which_N = np.unique(train_lengths_N, return_inverse=True)
    sums_UL = np.zeros((len(known_U), train_labels_NL.shape[1]))
    np.add.at(sums_UL, which_N.reshape(-1), train_labels_NL.astype(np.float64))
    means_UL = sums_UL / np.bincount(which_N.reshape(-1))[:, None]
    after_M = np.searchsorted(known_U, lengths_M).clip(max=len(known_U) - 1)
    before_M = (after_M - 1).clip(min=0)
    is_before_M = lengths_M - known_U[before_M] <= np.abs(known_U[after_M] - lengths_M)
    return means_UL[np.where(is_before_M, before_M, after_M)]


# N rows, D features, L labels

REGRESSIONS = {MULTI_CLASS: "Multinomial logistic regression", REGRESSION: "Ridge regression"}
PENALTIES = (10.0, 1.0, 0.1, 0.01, 0.001, 0.0001)
"""Ridge penalties tried, from the strongest on, as long as the loss on validation falls."""
PENALTY_WITHOUT_VALIDATION = 0.01
_CODES = np.full(256, 4, dtype=np.int64)
_CODES[np.frombuffer(b"ACGT", np.uint8)] = range(4)


class KmerBaseline:
    """A ridge regression on k-mer frequencies, brought to one scale: logistic for each label.

    For classes it is multinomial, for targets linear (`baselines.kmer`).

    Args:
        method: 'kmer'; 'gc': only the share of G and C, of the settings only `centre_bp` matters then;
            'positional': which base is where, and 3-mers in parts of the window, no setting matters.
        label_type: One of `label_types.LABEL_TYPES`.
    """

    def __init__(
        self, config: KmerConfig, *, method: str = "kmer", label_type: str = MULTI_LABEL
    ) -> None:
        if config.strands == "auto" or config.centre_bp < 0:
            raise ValueError("fill in `auto` and -1 first: KmerConfig.for_set")
        self.config = config
        self.method = method
        self.label_type = label_type
        self.penalty = PENALTY_WITHOUT_VALIDATION

    def describe(self) -> str:
        """Return one sentence for the report."""
        what = REGRESSIONS.get(self.label_type, "Logistic regression")
        if self.method == "positional":
            return (
                f"{what} on the base at each position and on 3-mers counted in parts of the window."
            )
        centre_bp = self.config.centre_bp
        where = f" and its central {centre_bp} bp" if centre_bp else ""
        return f"{what} on {self._named_features()}, in the whole window{where}."

    def _named_features(self) -> str:
        if self.method == "gc":
            return "the share of G and C"
        together = ", both strands together" if self.config.strands == "together" else ""
        return f"frequencies of all k-mers of 1 to {self.config.max_k} bases{together}"

    @property
    def chosen(self) -> str:
        """What the loss on validation rows chose, in words."""
        return f"ridge penalty {self.penalty:g}"

    def features(
        self, sequences: Iterable[str], progress: Callable[[Iterable], Iterable] = iter
    ) -> NDArray[np.float32]:
        """Return the frequencies in every sequence, (N, D)."""
        return np.array([self._features(x) for x in progress(sequences)], dtype=np.float32)

    def _features(self, sequence: str) -> NDArray[np.float32]:
        if self.method == "positional":
            return positional_features(sequence)
        scopes = [sequence]
        if self.config.centre_bp:
            start = max((len(sequence) - self.config.centre_bp) // 2, 0)
            scopes.append(sequence[start : start + self.config.centre_bp])
        return np.concatenate([self._features_of(x) for x in scopes])

    def _features_of(self, bases: str) -> NDArray[np.float32]:
        """Return the features of the window or of its centre."""
        if self.method == "gc":
            return np.array([gc_content(bases)], dtype=np.float32)
        together = self.config.strands == "together"
        return kmer_frequencies(bases, self.config.max_k, together=together)

    def fit(
        self,
        features_ND: NDArray,
        labels_NL: NDArray,
        validation_ND: NDArray | None = None,
        validation_labels_NL: NDArray | None = None,
    ) -> "KmerBaseline":
        """Fit on training rows; the penalty is chosen by the loss on validation rows, if any.

        A label that is the same on all training rows gets its value as a constant score. A cell whose
        label is NaN, not measured, is left out: each label is fitted on the rows where it was measured.
        """
        if self.label_type in REGRESSIONS:
            return self._fit_linear(features_ND, labels_NL, validation_ND, validation_labels_NL)
        self._learn_scale(features_ND)
        labels_NL = np.asarray(labels_NL, dtype=np.float64)
        shares = positive_share(labels_NL)
        self._varies = (shares > 0) & (shares < 1)
        self._constant = shares
        problem = RidgeLogistic(self._scaled(features_ND))
        choose = validation_ND is not None and len(validation_ND) > 0
        best_weights, best, weights = None, np.inf, None
        for penalty in PENALTIES if choose else (PENALTY_WITHOUT_VALIDATION,):
            weights = problem.fit(labels_NL[:, self._varies], penalty, start=weights)
            loss = 0.0
            if choose:
                truth = np.asarray(validation_labels_NL)[:, self._varies]
                loss = log_loss(truth, predict_logistic(self._scaled(validation_ND), weights))
            if loss < best:
                best_weights, best, self.penalty = weights, loss, penalty
            else:
                break  # weaker penalties only fit the training rows more closely
        self._weights, self.loss = best_weights, best
        return self

    def _learn_scale(self, features_ND: NDArray) -> None:
        self._mean = features_ND.mean(axis=0, dtype=np.float64)
        scale = features_ND.std(axis=0, dtype=np.float64)
        self._scale = np.where(scale > 1e-9, scale, np.inf)  # a constant feature says nothing

    def _fit_linear(
        self,
        features_ND: NDArray,
        labels_NL: NDArray,
        validation_ND: NDArray | None,
        validation_labels_NL: NDArray | None,
    ) -> "KmerBaseline":
        self._learn_scale(features_ND)
        choose = validation_ND is not None and len(validation_ND) > 0
        scaled, best = self._scaled(features_ND), np.inf
        for penalty in PENALTIES if choose else (PENALTY_WITHOUT_VALIDATION,):
            model = fit_linear(scaled, labels_NL, penalty, self.label_type)
            loss = model.loss(self._scaled(validation_ND), validation_labels_NL) if choose else 0.0
            if not loss < best:
                break  # weaker penalties only fit the training rows more closely
            self._linear, best, self.penalty = model, loss, penalty
        self.loss = best
        return self

    def predict(self, features_ND: NDArray) -> NDArray[np.float32]:
        """Return probabilities or targets, (N, L)."""
        if self.label_type in REGRESSIONS:
            return self._linear.predict(self._scaled(features_ND)).astype(np.float32)
        scores = np.tile(self._constant, (len(features_ND), 1))
        if len(features_ND) and self._weights is not None:
            predicted = predict_logistic(self._scaled(features_ND), self._weights)
            scores[:, self._varies] = predicted
        return scores.astype(np.float32)

    def linear_map(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return weights (L, D) and biases (L,) that turn features into logits, or standardised targets.

        A label that was the same on all training rows has no weights, and log odds of 13.8 or less.
        """
        if self.label_type in REGRESSIONS:
            weights_LD, bias_L = self._linear.linear(len(self._mean))
        else:
            weights_LD = np.zeros((len(self._constant), len(self._mean)))
            shares = self._constant.clip(SMALLEST_SHARE, 1 - SMALLEST_SHARE)
            bias_L = np.log(shares / (1 - shares))
            if self._weights is not None:
                weights_LD[self._varies] = self._weights[:-1].T
                bias_L[self._varies] = self._weights[-1]
        weights_LD = weights_LD / self._scale
        return weights_LD, bias_L - weights_LD @ self._mean

    def _scaled(self, features_ND: NDArray) -> NDArray[np.float64]:
        return (features_ND - self._mean) / self._scale


def gc_content(sequence: str) -> float:
    """Return the share of G and C among the known bases; 0.5 if there are none.

    Example:
        >>> gc_content("GCANN")
        0.6666666666666666
    """
    gc, at = (sequence.count(a) + sequence.count(b) for a, b in ("GC", "AT"))
    return gc / (gc + at) if gc + at else 0.5


def kmer_frequencies(sequence: str, max_k: int, *, together: bool) -> NDArray[np.float32]:
    """Return for k = 1 … `max_k` the share of every k-mer among the k-mers of k known bases.

    k-mers with an N are not counted. With `together` a k-mer and its reverse complement are one.

    Example:
        >>> kmer_frequencies("AACNT", 1, together=False).tolist()
        [0.5, 0.25, 0.0, 0.25]
        >>> kmer_frequencies("AACNT", 1, together=True).tolist()
        [0.75, 0.25]
    """
    bases = _CODES[np.frombuffer(sequence.encode("ascii"), np.uint8)]
    known = bases < 4
    kmers, are_known = np.zeros(len(bases) + 1, np.int64), np.ones(len(bases) + 1, bool)
    parts = []
    for k in range(1, max_k + 1):
        tail = slice(k - 1, None)
        kmers = kmers[: len(bases[tail])] * 4 + bases[tail]
        are_known = are_known[: len(bases[tail])] & known[tail]
        counts = np.bincount(kmers[are_known], minlength=4**k).astype(np.float64)
        if together:
            counts = np.bincount(canonical_kmers(k), weights=counts)
        parts.append(counts / max(1.0, counts.sum()))
    return np.concatenate(parts).astype(np.float32)


def positional_features(sequence: str) -> NDArray[np.float32]:
    """Return which base is at each position, one of four, then the counts of 3-mers in each part.

    Parts have 15 bases, or more in windows of over 600. An N counts as no letter, and 3-mers with it are left out.

    Example:
        >>> positional_features("CAN")[:12].reshape(3, 4).tolist()
        [[0.0, 1.0, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0]]
        >>> positional_features("ACGTACGTACGTACGTACG").shape  # two parts of 64 3-mers
        (204,)
    """
    bases = _CODES[np.frombuffer(sequence.encode("ascii"), np.uint8)]
    parts_S = part_of_starts(len(bases))
    kmers_S3 = bases[np.arange(len(parts_S))[:, None] + np.arange(PART_K)]
    numbers = parts_S * 4**PART_K + kmers_S3 @ 4 ** np.arange(PART_K)[::-1]
    one_hot, size = num_positional(len(bases))
    counts = np.bincount(numbers[(kmers_S3 < 4).all(axis=1)], minlength=size)
    return np.concatenate(
        [(bases[:, None] == np.arange(4)).ravel()[:one_hot], counts], dtype=np.float32
    )
