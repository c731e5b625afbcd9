"""Counts of gapped words (gapped k-mers) as a kernel; gkm-SVM, Ghandi et al. 2014.

A gapped word has l bases; k of them are read, the others are gaps. Two words of l bases with m
mismatches share C(l - m, k) of them, so the product of two vectors of counts is a sum over pairs of
words, and no vector is needed (0.9 million features for l = 10 and k = 6, 5.4 million for 11 and 7).

With two bits per base the number of mismatches depends only on the exclusive or of two words. Such a
matrix is diagonal after a Walsh-Hadamard transform, so it is applied to all 4 ** l words in
O(l * 4 ** l) steps. All of this is exact up to rounding in float32.
"""

from collections.abc import Iterable
from itertools import pairwise
from math import comb

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from dna_bigbird.baselines.base_kmers import UNKNOWN, base_codes

# N rows, W words (4 ** word_length), B rows at once, C bits in a part of a word

ROWS_AT_ONCE = 16
"""Rows that are transformed at once: 67 MB for words of 10 bases."""
PART_BITS = 5
"""Bits of a word that one matrix product transforms."""
PAIR_WORDS = 1_000
"""Words of a row up to which its length is a sum over pairs, which is then faster."""


def words_of(sequence: str, length: int, *, together: bool) -> NDArray[np.int32]:
    """Return the numbers of all words of a sequence; with `together` also of the other strand.

    Words with an N are left out.

    Example:
        >>> words_of("ACGNT", 2, together=False).tolist(), words_of("ACG", 2, together=True).tolist()
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


def word_matrix(sequences: Iterable[str], length: int, *, together: bool) -> csr_matrix:
    """Return the counts of all words in every sequence, (N, W), float32."""
    words = [words_of(each, length, together=together) for each in sequences]
    ends = np.cumsum([0, *map(len, words)])
    numbers = np.concatenate(words) if words else np.zeros(0, np.int32)
    counts = np.ones(len(numbers), np.float32)
    return csr_matrix((counts, numbers, ends), shape=(len(words), 4**length))


class GappedKernel:
    """Products of vectors of counts of gapped words.

    Args:
        length: Bases in a word, gaps included, at most 12.
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
        """Return for each word its products with the counted words, summed: counts times kernel."""
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
        """Return the length of each row's vector of counts, (N,); 1 for a row without words."""
        squares = np.empty(rows_NW.shape[0])
        for row, (start, end) in enumerate(pairwise(rows_NW.indptr)):
            if end - start <= PAIR_WORDS:
                words, counts = rows_NW.indices[start:end], rows_NW.data[start:end]
                squares[row] = counts @ self._shared_W[words[:, None] ^ words] @ counts
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
