"""Single bases as token ids, for networks that read letters instead of pieces."""

import numpy as np

from dna_bigbird.genome.alphabet import BASES

_IDS = np.full(256, len(BASES), dtype=np.uint8)
_IDS[np.frombuffer(BASES.encode(), np.uint8)] = range(len(BASES))


class BaseTokenizer:
    """A C G T N as the ids 0 … 4; nothing is put before or after a window.

    Args:
        length: Shorter sequences are filled up with N to this length; 0: not at all.
    """

    cls_id = None
    sep_id = None
    vocab_size = len(BASES)

    def __init__(self, length: int = 0) -> None:
        self.length = length

    def encode(self, sequence: str) -> np.ndarray:
        """Return the id of every base, shape (bases,) or (length,), uint8.

        Raises:
            ValueError: If a letter is not A, C, G, T or N (see `genome.normalise`).

        Example:
            >>> BaseTokenizer().encode("ACGTN").tolist()
            [0, 1, 2, 3, 4]
        """
        sequence = sequence.ljust(self.length, "N")
        ids = _IDS[np.frombuffer(sequence.encode("latin-1"), np.uint8)]
        if (ids == len(BASES)).any():
            letters = "".join(sorted(set(sequence) - set(BASES)))
            raise ValueError(
                f"letters {letters!r} are not A C G T N; pass them through normalise()"
            )
        return ids
