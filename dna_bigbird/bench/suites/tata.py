"""TATA displacement: the TATA box of real promoters is moved, and nothing is added or lost.

Permuted negatives ask whether a sequence is a promoter at all, and counting words answers much of that.
Here the block with the TATA box is swapped with another block of the same promoter, so all bases and the
words within the blocks stay and only their positions change. The control swaps two other blocks of the
same length, as far apart in the same direction, one of them near the box. A model that reads the box where
it works falls more by the first change than by the second. The suite is this project's own; no score of
it is published. The box is TATAWAWR, its first base usually at -31 (TATA-box matrix of Bucher 1990).
"""

import zlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dna_bigbird.bench.suites.genomes import Genomes
from dna_bigbird.bench.suites.suite import PairRow, PairRows, Suite, Task
from dna_bigbird.core.errors import InputError, shortened
from dna_bigbird.core.files import numbered_lines, read_text
from dna_bigbird.core.plain_numbers import whole_number
from dna_bigbird.genome.fasta_stream import FastaRecord, dna_of, read_fasta

NAME = "tata-displacement"
LINES = ("human_tata_promoters_300bp.txt", "human_tata_promoters_300bp.txt.gz")
FASTA = ("promoters.fa", "promoters.fa.gz")
START_SITE = "tss.txt"
LINE_BP, USUAL_TSS = 300, 249
"""Length of a line of `LINES`, and the 0-based offset of the first transcribed base in it."""

BOX = ("T", "A", "T", "A", "AT", "A", "AT", "AG")
"""TATAWAWR: the letters that fit each position."""
LEAST_FIT = len(BOX) - 1
BOX_OFFSETS = (-36, -25)
"""Offsets of the first base of a box from the start site, half-open: -31 with a tolerance of 5 bp."""
FLANK_BP = 2
BLOCK_BP = len(BOX) + 2 * FLANK_BP
"""Length of a block that is swapped."""
INITIATOR = (-2, 5)
"""Offsets of the initiator from the start site, half-open; no block touches it."""
LEAST_MOVE_BP = 40
NEAR_BP = 40
"""The first block of the control begins at most so far from the block with the box."""
LEAST_CHANGED = 4
"""Positions at which two blocks that are swapped differ at least."""


@dataclass(frozen=True)
class Promoter:
    """One promoter, as its strand reads it."""

    name: str
    sequence: str
    tss: int
    """0-based offset of the first transcribed base."""


@dataclass(frozen=True)
class Swap:
    """Two blocks of `BLOCK_BP` bases that change places: offsets of their first bases."""

    first: int
    second: int

    def apply(self, sequence: str) -> str:
        """Return the sequence with the blocks swapped.

        Example:
            >>> Swap(0, 12).apply("A" * 12 + "C" * 12 + "G")
            'CCCCCCCCCCCCAAAAAAAAAAAAG'
        """
        low, high = sorted((self.first, self.second))
        left, right = (sequence[start : start + BLOCK_BP] for start in (low, high))
        between = sequence[low + BLOCK_BP : high]
        return sequence[:low] + right + between + left + sequence[high + BLOCK_BP :]


def tasks(folder: Path) -> list[Task]:
    """Return the single task."""
    promoter_file(folder)
    about = "Does moving the TATA box lower the prediction more than an equal change elsewhere?"
    return [Task(NAME, "accuracy", about, protocol="pairs")]


def read(folder: Path, task: Task, genomes: Genomes) -> PairRows:
    """Read the promoters and swap their blocks; equal files give equal pairs. No genome is needed."""
    counts: Counter[str] = Counter()
    rows = []
    for promoter in read_promoters(folder):
        counts["rows_read"] += 1
        edits = displace(promoter)
        if isinstance(edits, str):
            counts[f"left_out_{edits}"] += 1
            continue
        changed, control = (swap.apply(promoter.sequence) for swap in edits)
        rows.append(PairRow(promoter.name, promoter.sequence, changed, control))
    return PairRows(rows, counts=dict(counts))


def promoter_file(folder: Path) -> Path:
    """Return the file of promoters."""
    for name in (*LINES, *FASTA):
        if (folder / name).is_file():
            return folder / name
    raise InputError(
        f"{folder}: no promoters in it; expected {LINES[0]} or {FASTA[0]}, plain or .gz"
    )


def read_promoters(folder: Path) -> Iterator[Promoter]:
    """Yield the promoters of a folder."""
    path = promoter_file(folder)
    if path.name in LINES:
        records = (FastaRecord(f"line_{n}", x.strip(), n) for n, x in numbered_lines(path))
        tss = USUAL_TSS
    else:
        records, tss = read_fasta(path), _start_site(folder / START_SITE)
    for record in records:
        if not record.letters and path.name in LINES:
            continue
        length = len(record.letters)
        if path.name in LINES and length != LINE_BP:
            raise InputError(
                f"{path}:{record.line}: {length} characters, {shortened(record.letters)!r}; expected one "
                f"sequence of {LINE_BP} bases per line. Other lengths: {FASTA[0]} with {START_SITE}"
            )
        if not tss < length:
            raise InputError(
                f"{path}:{record.line}: {record.name} has {length} bases and the start site is at offset {tss} "
                f"(from 0); write the right offset into {START_SITE}"
            )
        yield Promoter(record.name, dna_of(record, path), tss)


def _start_site(path: Path) -> int:
    if not path.is_file():
        return USUAL_TSS
    text = read_text(path).strip()
    offset = whole_number(text)
    if offset is None or offset < 0:
        raise InputError(
            f"{path}:1: {shortened(text)!r}; expected the offset of the start site, counted from 0"
        )
    return offset


def displace(promoter: Promoter) -> tuple[Swap, Swap] | str:
    """Return the swap that moves the TATA box and the control, or why there is none."""
    box = find_box(promoter.sequence, promoter.tss)
    if box is None:
        return "without_tata_box"
    start = box - FLANK_BP
    rng = np.random.default_rng(zlib.crc32(promoter.sequence.encode()))
    for target in rng.permutation(max(0, len(promoter.sequence) - BLOCK_BP + 1)).tolist():
        move = Swap(start, target)
        if not _is_move(move, promoter):
            continue
        control = _control(move, promoter, rng)
        if control is not None:
            return move, control
    return "without_room"


def find_box(sequence: str, tss: int) -> int | None:
    """Return the offset of the best TATA box near -31, or None; from 0."""
    middle = tss + (BOX_OFFSETS[0] + BOX_OFFSETS[1] - 1) // 2
    starts = range(max(0, tss + BOX_OFFSETS[0]), tss + BOX_OFFSETS[1])
    best = max(starts, key=lambda x: (_fit(sequence, x), -abs(x - middle)), default=None)
    return best if best is not None and _fit(sequence, best) >= LEAST_FIT else None


def _fit(sequence: str, start: int) -> int:
    site = sequence[start : start + len(BOX)]
    return sum(base in letters for base, letters in zip(site, BOX, strict=False))


def _is_move(move: Swap, promoter: Promoter) -> bool:
    if abs(move.second - move.first) < LEAST_MOVE_BP or not _is_allowed(move, promoter):
        return False
    return find_box(move.apply(promoter.sequence), promoter.tss) is None


def _is_allowed(swap: Swap, promoter: Promoter) -> bool:
    """Return True if both blocks are inside, keep off the initiator, and differ enough."""
    low, high = (promoter.tss + offset for offset in INITIATOR)
    for start in (swap.first, swap.second):
        inside = 0 <= start <= len(promoter.sequence) - BLOCK_BP
        if not inside or (start < high and start + BLOCK_BP > low):
            return False
    changed = swap.apply(promoter.sequence)
    different = sum(a != b for a, b in zip(changed, promoter.sequence, strict=True))
    return different >= 2 * LEAST_CHANGED


def _control(move: Swap, promoter: Promoter, rng: np.random.Generator) -> Swap | None:
    """Return a swap as far in the same direction that does not touch the block with the box."""
    distance = move.second - move.first
    starts = np.arange(move.first - NEAR_BP, move.first + NEAR_BP + 1)
    for start in rng.permutation(starts).tolist():
        swap = Swap(start, start + distance)
        apart = all(abs(x - move.first) >= BLOCK_BP for x in (swap.first, swap.second))
        if apart and _is_allowed(swap, promoter):
            return swap
    return None


SUITE = Suite(
    name=NAME,
    title="TATA displacement",
    about="real promoters whose TATA box is moved within them, and an equal change elsewhere",
    where="promoters with a TATA box of EPDnew (epd.expasy.org), or of the repository egochao/DeePromoter on GitHub",
    licence="as the promoters; the changes are this project's",
    layout=(
        "human_tata_promoters_300bp.txt[.gz], one sequence of 300 bases per line with the start site at offset "
        "249; or promoters.fa[.gz] with tss.txt, the offset of the start site"
    ),
    source="dna-bigbird",
    tasks=tasks,
    read=read,
    faults=(
        "Moving the box also destroys the words across the four borders of the blocks, and brings the box and its "
        "flanks to another position; the control does the former only. Boxes with fewer than 7 letters of "
        "TATAWAWR are left out."
    ),
)
