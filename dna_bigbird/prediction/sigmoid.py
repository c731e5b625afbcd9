"""From logits to probabilities, with NumPy alone."""

import numpy as np
from numpy.typing import NDArray


def sigmoid(logits: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return 1 / (1 + exp(-logits)); each value is independent of its position in the array.

    The sigmoid of torch rounds the last values of an array differently from the others, so a
    sequence would not score the same alone as with others.

    Example:
        >>> sigmoid(np.array([-1000.0, 0.0, 1000.0, np.nan])).tolist()
        [0.0, 0.5, 1.0, nan]
    """
    with np.errstate(over="ignore"):  # exp is infinite, the result 0
        result = np.exp(-logits)
    result += 1
    return np.reciprocal(result, out=result)
