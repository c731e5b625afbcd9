"""From logits to probabilities, and their correction that a bundle's config.json records; without torch."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

# L labels, K classes; arrays end in this axis


def sigmoid(logits: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return 1 / (1 + exp(-logits)), each value independent of its position in the array.

    Example:
        >>> sigmoid(np.array([-1000.0, 0.0, 1000.0, np.nan])).tolist()
        [0.0, 0.5, 1.0, nan]
    """
    # That of torch rounds the last values of an array differently: a sequence would not score the
    # same alone.
    with np.errstate(over="ignore"):  # exp is infinite, the result 0
        result = np.exp(-logits)
    result += 1
    return np.reciprocal(result, out=result)


def log_odds(probabilities: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return log(p / (1 - p)), infinite for 0 and 1."""
    with np.errstate(divide="ignore"):
        return np.log(probabilities) - np.log1p(-probabilities)


@dataclass(frozen=True)
class Scaling:
    """Correction of probabilities, fitted on validation rows (`metrics.calibration`).

    Labels have Platt scaling, log odds' = slope · log odds + bias, classes temperature scaling, p' proportional
    to p ** (1 / temperature). Neither changes the order of rows by a label, or of the classes of a row.

    Example:
        >>> half = Scaling(slopes=[1.0], biases=[-np.log(8)], n=100)
        >>> half.probabilities(np.array([[0.0], [8 / 9], [1.0]])).round(6).tolist()
        [[0.0], [0.5], [1.0]]
        >>> Scaling(temperature=0.5).probabilities(np.array([0.2, 0.4, 0.4])).round(6).tolist()
        [0.111111, 0.444444, 0.444444]
    """

    slopes: list[float] = field(default_factory=list)
    """One per label, above 0; none for classes."""
    biases: list[float] = field(default_factory=list)
    """One per label, in nats."""
    temperature: float | None = None
    """Of classes, above 0; None for labels."""
    n: int = 0
    """Validation rows it was fitted on."""

    def __post_init__(self) -> None:
        of_classes = self.temperature is not None
        if len(self.slopes) != len(self.biases) or of_classes == bool(self.slopes):
            raise ValueError("expected slopes and biases, one of each per label, or a temperature")
        if min([*self.slopes, 1.0 if self.temperature is None else self.temperature]) <= 0:
            raise ValueError("slopes and temperature must be above 0")

    def logits(self, logits: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return corrected log odds (..., L), or of each class of all K against the others (..., K)."""
        if self.temperature is None:
            return logits * self.slopes + self.biases
        log_p = -np.logaddexp(0, -logits) / self.temperature
        own = np.eye(logits.shape[-1], dtype=bool)
        others = np.where(own, -np.inf, log_p[..., None, :])
        return log_p - np.logaddexp.reduce(others, axis=-1)

    def probabilities(self, probabilities: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return corrected probabilities of labels (..., L), or of all classes (..., K)."""
        return sigmoid(self.logits(log_odds(probabilities)))

    def of(self, labels: Sequence[int]) -> "Scaling":
        """Return the correction of some labels; that of classes is of all."""
        if self.temperature is not None:
            return self
        slopes, biases = ([values[i] for i in labels] for values in (self.slopes, self.biases))
        return Scaling(slopes, biases, n=self.n)

    def inverse(self) -> "Scaling":
        """Return what turns corrected probabilities back."""
        if self.temperature is not None:
            return Scaling(temperature=1 / self.temperature, n=self.n)
        slopes = [1 / slope for slope in self.slopes]
        biases = [-bias * slope for bias, slope in zip(self.biases, slopes, strict=True)]
        return Scaling(slopes, biases, n=self.n)

    @staticmethod
    def mean(scalings: Sequence["Scaling | None"]) -> "Scaling | None":
        """Return the correction of the mean of several models; None if one of them has none."""
        known = [scaling for scaling in scalings if scaling is not None]
        if len(known) < len(scalings):
            return None
        if known[0].temperature is not None:
            return Scaling(temperature=float(np.mean([x.temperature for x in known])), n=known[0].n)
        slopes, biases = (
            np.mean([getattr(x, name) for x in known], axis=0).tolist()
            for name in ("slopes", "biases")
        )
        return Scaling(slopes, biases, n=min(x.n for x in known))
