"""The negatives of a promoter set: which promoters have which type."""

import zlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dna_bigbird.genome import Genome, Interval
from dna_bigbird.labelled.promoter.genomic_negatives import match_negatives
from dna_bigbird.labelled.splits import TRAIN, SplitConfig

# Artificial negatives made from a positive sequence, as DeePromoter and GENA-LM do.

PARTS = 20
REPLACED = 12
"""Parts of a negative that are changed; the other 8 stay as they are. A random permutation of 12 parts leaves one of
them in its place on average."""

ARTIFICIAL = {
    "random_base": "cut into 20 parts, 12 of them redrawn base by base (DeePromoter, BigBird)",
    "permuted": "cut into 20 parts, 12 of them shuffled among themselves (GENA-LM); one on average stays in its place",
}
NEGATIVES = ARTIFICIAL | {
    "genomic": "real windows away from every start site, similar in GC and repeat content",
    "background": "real windows away from every start site, of any content",
}
MATCHED = "genomic"
"""Windows of the genome that are like the positive; those of other types are not."""


def part_borders(length_bp: int) -> NDArray[np.int64]:
    """Return the 21 borders of the 20 parts: each `length // 20` long, the last takes the rest.

    Example:
        >>> part_borders(47)[[0, 1, 2, 19, 20]].tolist()
        [0, 2, 4, 38, 47]
    """
    part_bp = length_bp // PARTS
    if part_bp < 1:
        raise ValueError(f"a window of {length_bp} bp cannot be cut into {PARTS} parts")
    return np.append(np.arange(PARTS) * part_bp, length_bp)


def make_negative(
    positive: NDArray[np.uint8], method: str, rng: np.random.Generator
) -> NDArray[np.uint8]:
    """Return a negative of a positive, ASCII bases (length,), of the same length."""
    # What the last part has beyond `length // 20` stays at the end, so that the 8 kept parts are
    # not shifted.
    borders = part_borders(len(positive))
    changed = np.sort(rng.choice(PARTS, size=REPLACED, replace=False))
    negative = positive.copy()
    if method == "random_base":
        for part in changed:
            size = borders[part + 1] - borders[part]
            negative[borders[part] : borders[part + 1]] = rng.choice(
                np.frombuffer(b"ACGT", np.uint8), size=size
            )
    elif method == "permuted":
        part_bp = len(positive) // PARTS
        for target, source in zip(changed, rng.permutation(changed), strict=True):
            piece = positive[borders[source] : borders[source] + part_bp]
            negative[borders[target] : borders[target] + part_bp] = piece
    else:
        raise ValueError(f"unknown negatives {method!r}; there are: {', '.join(ARTIFICIAL)}")
    return negative


# m promoters that have this negative


@dataclass(frozen=True)
class Draw:
    """One negative for each promoter of some splits."""

    method: str
    number: int
    """How many negatives of this type a promoter has before this one; another number, other bases."""
    in_training: bool
    in_held_out: bool

    def owners(self, splits: NDArray[np.integer]) -> NDArray[np.int64]:
        """Return the promoters that have it, by number."""
        return np.flatnonzero(np.where(splits == TRAIN, self.in_training, self.in_held_out))


@dataclass(frozen=True)
class Negatives:
    """The negatives of one draw."""

    owners: NDArray[np.int64]
    """(m,), promoters by number."""
    windows: Sequence[Interval]
    """(m,); of an artificial one the window of its promoter."""
    bases: NDArray[np.uint8] | None
    """(m, window_bp), ASCII, as the strand of the promoter reads it; None: those of the genome."""


def draws(held_out: Sequence[str], training: Sequence[str]) -> list[Draw]:
    """Return what to draw, so that a set of fewer negatives has the same ones.

    Example:
        >>> [(x.method, x.number, x.in_held_out) for x in draws(["permuted"], ["permuted", "permuted"])]
        [('permuted', 0, True), ('permuted', 1, False)]
    """
    of_training, of_held_out = _numbered(training), _numbered(held_out)
    return [
        Draw(method, number, (method, number) in of_training, (method, number) in of_held_out)
        for method, number in dict.fromkeys([*of_held_out, *of_training])
    ]


def _numbered(methods: Sequence[str]) -> list[tuple[str, int]]:
    seen: Counter[str] = Counter()
    numbered = []
    for method in methods:
        numbered.append((method, seen[method]))
        seen[method] += 1
    return numbered


def make_negatives(
    genome: Genome,
    windows: Sequence[Interval],
    splits: NDArray[np.integer],
    chosen: Sequence[Draw],
    avoided: Sequence[Interval],
    split: SplitConfig,
    *,
    max_n_fraction: float,
    unread: SplitConfig | None,
    seed: int,
) -> tuple[list[Negatives], dict[str, float]]:
    """Return the negatives of each draw, and counts of how well genomic ones are matched."""
    owners = [draw.owners(splits) for draw in chosen]
    counts: dict[str, float] = {}
    genomic: list[Interval] = []
    in_genome = [i for i, draw in enumerate(chosen) if draw.method not in ARTIFICIAL]
    if in_genome:
        rows = np.concatenate([owners[i] for i in in_genome])
        is_matched = [np.full(len(owners[i]), chosen[i].method == MATCHED) for i in in_genome]
        matched = match_negatives(
            genome,
            [windows[i] for i in rows.tolist()],
            np.asarray(splits)[rows],
            avoided,
            split,
            is_matched=np.concatenate(is_matched),
            max_n_fraction=max_n_fraction,
            unread=unread,
            seed=seed,
        )
        genomic, counts = matched.intervals, matched.counts
    negatives = []
    for rows, draw in zip(owners, chosen, strict=True):
        own = [windows[i] for i in rows.tolist()]
        if draw.method in ARTIFICIAL:
            bases = _artificial(genome, own, draw.method, seed, draw.number)
            negatives.append(Negatives(rows, own, bases))
        else:
            negatives.append(Negatives(rows, genomic[: len(rows)], None))
            genomic = genomic[len(rows) :]
    return negatives, counts


def _artificial(
    genome: Genome, windows: Sequence[Interval], method: str, seed: int, draw: int
) -> NDArray[np.uint8]:
    """(m, window_bp), ASCII, as the strand of the promoter reads it."""
    negatives = np.empty((len(windows), windows[0].length if windows else 0), dtype=np.uint8)
    for i, window in enumerate(windows):
        where = zlib.crc32(f"{window.chrom}:{window.start}:{window.strand}".encode())
        positive = np.frombuffer(genome.fetch(window).encode("ascii"), dtype=np.uint8)
        negatives[i] = make_negative(positive, method, np.random.default_rng([seed, where, draw]))
    return negatives
