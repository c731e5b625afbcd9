"""Numbers of k-mers: one for a k-mer and its reverse complement."""

from functools import cache

import numpy as np
from numpy.typing import NDArray


@cache
def canonical_kmers(k: int) -> NDArray[np.int64]:
    """Return for every k-mer of k bases the number that it shares with its reverse complement.

    Example:
        >>> canonical_kmers(1).tolist()
        [0, 1, 1, 0]
    """
    kmers = np.arange(4**k)
    digits = kmers[:, None] // 4 ** np.arange(k) % 4  # the last base first
    reverse = ((3 - digits) * 4 ** np.arange(k)[::-1]).sum(axis=1)
    return np.unique(np.minimum(kmers, reverse), return_inverse=True)[1].reshape(-1)
