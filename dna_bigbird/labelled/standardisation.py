"""The scale on which a model learns the targets of a regression."""

import numpy as np


def standardisation(targets_NL: np.ndarray) -> tuple[list[float], list[float]]:
    """Return mean and standard deviation of every target; a constant target has 1.

    Example:
        >>> standardisation(np.array([[1.0], [3.0]]))
        ([2.0], [1.0])
    """
    stds = targets_NL.std(axis=0)
    return targets_NL.mean(axis=0).tolist(), np.where(stds > 0, stds, 1.0).tolist()
