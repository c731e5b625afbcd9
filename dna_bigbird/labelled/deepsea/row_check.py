"""Comparing rows of the DeepSEA bundle with the genome: a row that differs is named, with a reason."""

from itertools import permutations
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dna_bigbird.core.errors import InputError
from dna_bigbird.genome import Genome, Interval, reverse_complement
from dna_bigbird.genome.windows import Windows
from dna_bigbird.labelled.deepsea.mat_files import CHANNELS, WINDOW_BP

_SEARCHED_BP = 1000
"""How far from its coordinates a row's bases are looked for, to say what is wrong."""


def one_hot(bases: str, channels: str = CHANNELS) -> NDArray[np.uint8]:
    """Return (4, length); N is a column of zeros.

    Example:
        >>> one_hot("ANT").tolist()
        [[1, 0, 0], [0, 0, 0], [0, 0, 0], [0, 0, 1]]
    """
    letters = np.frombuffer(bases.encode("ascii"), dtype=np.uint8)
    return (letters == np.frombuffer(channels.encode(), dtype=np.uint8)[:, None]).astype(np.uint8)


def check_rows(
    path: Path,
    first_row: int,
    every: slice,
    forward: tuple[NDArray, NDArray],
    reverse: tuple[NDArray, NDArray],
    centres: Windows,
    genome: Genome,
) -> None:
    """Raise InputError at the first row whose bases or labels are not as expected.

    Args:
        first_row: Number in the file of the slice's first row.
        every: Which rows of the slice to check.
        forward, reverse: Windows (m, 4, 1000) and labels (m, L) of the slice, and of the same
            rows in the second half of the file.
        centres: The m windows of 1000 bp.

    Raises:
        InputError: Naming file, row, coordinates and the likely reason.
    """
    rows = np.arange(len(centres))[every]
    text = "".join(genome.fetch(centres[row]) for row in rows.tolist()).encode("ascii")
    letters = np.frombuffer(text, dtype=np.uint8).reshape(len(rows), WINDOW_BP)
    letters = np.asfortranarray(letters)  # both formats keep samples side by side in memory
    wrong, wrong_reverse = np.zeros((2, len(rows)), dtype=bool)
    for channel, base in enumerate(CHANNELS.encode()):
        expected = letters == base
        wrong |= (forward[0][every, channel] != expected).any(axis=1)
        # Channels A G C T backwards are their complements T C G A.
        wrong_reverse |= (reverse[0][every, 3 - channel, ::-1] != expected).any(axis=1)
    wrong_labels = (forward[1][every] != reverse[1][every]).any(axis=1)
    bad = np.flatnonzero(wrong | wrong_reverse | wrong_labels)
    if not len(bad):
        return
    row = int(rows[bad[0]])
    window = centres[row]
    if wrong[bad[0]]:
        reason = _reason(np.asarray(forward[0][row]), window, genome)
    elif wrong_reverse[bad[0]]:
        reason = (
            "its row of the second half is not its reverse complement; expected all "
            "forward windows, then all reverse complements in the same order"
        )
    else:
        reason = "its reverse complement in the second half has other labels"
    raise InputError(
        f"{path}: row {first_row + row:,} ({window.chrom}:{window.start}-{window.end}): {reason}"
    )


def _reason(window_4W: NDArray, window: Interval, genome: Genome) -> str:
    """Say why a row is not the window's bases."""
    if not np.isin(window_4W, (0, 1)).all() or (window_4W.sum(axis=0) > 1).any():
        return "its columns are not one-hot (at most one 1 each)"
    bases = genome.fetch(window)
    for order in permutations("ACGT"):
        if np.array_equal(window_4W, one_hot(bases, "".join(order))):
            return f"its channels are in the order {' '.join(order)}, expected {' '.join(CHANNELS)}"
    text = "".join(
        np.array([*CHANNELS, "N"])[np.where(window_4W.any(0), window_4W.argmax(0), 4)].tolist()
    )
    around = genome.fetch(
        Interval(window.chrom, window.start - _SEARCHED_BP, window.end + _SEARCHED_BP)
    )
    shift = around.find(text) - _SEARCHED_BP if text.strip("N") else -_SEARCHED_BP - 1
    if shift >= -_SEARCHED_BP:
        side = "right" if shift > 0 else "left"
        return (
            f"the file has the bases {abs(shift)} bp further {side}; is allTFs.pos.bed shifted, "
            "or does it not belong to these files?"
        )
    if text == reverse_complement(bases):
        return "it is the reverse complement; expected the forward windows in the first half"
    differ = sum(a != b for a, b in zip(text, bases, strict=True))
    return (
        f"{differ:,} of its {WINDOW_BP:,} bases are not those of {genome.path.name}. Is the genome "
        "hg19, and allTFs.pos.bed that of this bundle?"
    )
