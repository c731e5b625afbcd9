"""Hashes by which sequences without coordinates are recognised on either strand."""

from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from dna_bigbird.genome.alphabet import normalise, reverse_complement
from dna_bigbird.labelled.labelled_set import LabelledSet

HASH_BYTES = 8


def sequence_hash(sequence: str) -> int:
    """Return 64 bits that a sequence and its reverse complement share; case does not matter.

    They are BLAKE2b of the smaller of the two strands as ASCII, read as a little-endian number. Two
    different sequences have the same hash with a probability of 2^-64.

    Raises:
        ValueError: If a letter is not DNA.

    Example:
        >>> sequence_hash("aacg") == sequence_hash("CGTT") != sequence_hash("AACC")
        True
    """
    forward = normalise(sequence)
    smaller = min(forward, reverse_complement(forward))
    digest = blake2b(smaller.encode("ascii"), digest_size=HASH_BYTES).digest()
    return int.from_bytes(digest, "little")


def row_hashes(labelled: LabelledSet, rows: NDArray[np.int64]) -> NDArray[np.uint64]:
    """Return the hash of the sequence of every row, (rows,).

    Raises:
        ValueError: If the bases of a row are in the genome and the set was opened without it.
    """
    hashes = (sequence_hash(labelled.sequence(row)) for row in rows.tolist())
    return np.fromiter(hashes, dtype=np.uint64, count=len(rows))


def rows_without_coordinates(labelled: LabelledSet, rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return those of some rows that have no coordinates.

    They are all rows of a set without coordinates, else the rows on chromosomes that are no longer
    than a window (promoter-sequences).
    """
    if not labelled.has_coordinates:
        return rows
    alone, names = labelled.chromosomes_of_one_window(), labelled.intervals.chromosomes
    is_alone = np.array([name in alone for name in names], dtype=bool)
    return rows[is_alone[labelled.intervals.chrom[rows]]]
