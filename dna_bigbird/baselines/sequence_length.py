"""What the length of a sequence gives away: a trivial baseline for sets whose classes differ in length."""

import numpy as np
from numpy.typing import NDArray

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
