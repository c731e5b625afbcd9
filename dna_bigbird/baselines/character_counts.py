"""Causal counts over characters of any alphabet: what a character model has to beat."""

# N characters, V letters of the alphabet

import numpy as np
from numpy.typing import NDArray

from dna_bigbird.baselines.ngram import smooth

MOST_COUNTED = 20_000_000
"""Characters counted at most, the last ones before the scored part; they take about 1.5 GB."""


class CharacterNgram:
    """N-gram of characters with interpolated Witten-Bell smoothing (see `baselines.ngram.smooth`).

    Args:
        order: Characters in the longest n-gram; a word of them is one number below 2^63.

    Raises:
        ValueError: If the order is below 1, or too long for the alphabet.
    """

    def __init__(self, order: int, alphabet_size: int) -> None:
        if order < 1 or order * np.log2(max(alphabet_size, 2)) >= 63:
            raise ValueError(f"order {order} is below 1 or too long for {alphabet_size} letters")
        self.order, self.alphabet_size = order, alphabet_size

    def fit(self, characters: NDArray[np.uint8]) -> "CharacterNgram":
        """Count the n-grams of at most `MOST_COUNTED` characters."""
        counted = characters[-MOST_COUNTED:]
        self.counted = len(counted)
        self._tables = []
        for n in range(1, self.order + 1):
            grams, times = np.unique(self._grams(counted, n), return_counts=True)
            heads, first = np.unique(grams // self.alphabet_size, return_index=True)
            totals = np.add.reduceat(times, first)
            types = np.diff([*first, len(grams)])
            self._tables.append((grams, times, heads, totals, types))
        return self

    def nll(self, characters: NDArray[np.uint8]) -> NDArray[np.float64]:
        """Return the nats of each character given those before it, (N,)."""
        p_N = np.full(len(characters), 1 / self.alphabet_size)
        for n, (grams, times, heads, totals, types) in enumerate(self._tables, start=1):
            if len(characters) < n:
                break
            words = self._grams(characters, n)
            seen = _looked_up(grams, times, words)
            head = words // self.alphabet_size
            p_N[n - 1 :] = smooth(
                seen,
                _looked_up(heads, totals, head),
                _looked_up(heads, types, head),
                p_N[n - 1 :],
                1.0,
            )
        return -np.log(p_N)

    def _grams(self, characters: NDArray[np.uint8], n: int) -> NDArray[np.int64]:
        """Return the word of n characters that ends at each position from n - 1 on."""
        words = np.zeros(len(characters) - n + 1, np.int64)
        for i in range(n):
            words = words * self.alphabet_size + characters[i : len(characters) - n + 1 + i]
        return words


def _looked_up(keys: NDArray, values: NDArray, words: NDArray) -> NDArray[np.int64]:
    """Return the value of each key, 0 for unknown ones; keys ascend."""
    at = np.minimum(np.searchsorted(keys, words), len(keys) - 1)
    return np.where(keys[at] == words, values[at], 0)
