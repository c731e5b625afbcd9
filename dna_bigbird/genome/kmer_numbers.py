"""Numbers of words of bases (k-mers): one for a word and its reverse complement."""

from functools import cache

import numpy as np
from numpy.typing import NDArray


@cache
def canonical_words(k: int) -> NDArray[np.int64]:
    """Return for every word of k bases the number that it shares with its reverse complement.

    Example:
        >>> canonical_words(1).tolist()
        [0, 1, 1, 0]
    """
    words = np.arange(4**k)
    digits = words[:, None] // 4 ** np.arange(k) % 4  # the last base first
    reverse = ((3 - digits) * 4 ** np.arange(k)[::-1]).sum(axis=1)
    return np.unique(np.minimum(words, reverse), return_inverse=True)[1].reshape(-1)
