"""Multinomial logistic regression for classes, ridge regression for targets, by scikit-learn."""

import warnings
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression, Ridge

from dna_bigbird.models.label_types import MULTI_CLASS

# N rows, D features, K classes, L targets

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
