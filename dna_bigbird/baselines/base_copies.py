"""Copying: the base that followed an earlier occurrence of a context, tolerant of substitutions."""

from typing import NamedTuple

import numpy as np

from dna_bigbird.baselines.base_counts import SoFar
from dna_bigbird.baselines.base_kmers import UNKNOWN

REACH_BP = 200
"""A copy goes on for so many bases after the last occurrence of a whole context, right or wrong."""
HISTORY_BP = 32
"""Bases before the predicted one that are compared with those before the copied one."""
_WRONG = 16
_RUNS = (1, 4, 12, 20, HISTORY_BP)
COPY_BUCKETS = _WRONG * (len(_RUNS) + 1)


class Copies(NamedTuple):
    """Predictions of one copying expert for all T bases of the sequence that is read."""

    base: np.ndarray
    """(T,) int8: the base copied; `UNKNOWN` where nothing is."""
    bucket: np.ndarray
    """(T,) uint8 below `COPY_BUCKETS`: how many of the last bases were right, and how many in a row."""


def copies(
    so_far: SoFar, order: int, strand: int, training: np.ndarray, read: np.ndarray
) -> Copies:
    """Follow the latest occurrence of a context of `order` bases, base by base.

    A copy of the other strand is followed backwards and complemented. Nothing is used that is not
    read before the predicted base.

    Args:
        so_far: Of the sequence `read` after `training`, of the same order.
        strand: 0 the same, 1 the other.
    """
    codes = np.concatenate([training, read])
    position = np.arange(len(read)) + len(training)
    source = _followed(so_far, order, strand, position)
    inside = (source >= 0) & (source < position)
    base = np.where(inside, codes[np.where(inside, source, 0)], UNKNOWN)
    if strand:
        base = np.where(base < UNKNOWN, 3 - base, UNKNOWN)
    right, run = _agreement(codes, position, np.where(base < UNKNOWN, source, -1), strand)
    wrong = np.minimum(HISTORY_BP - right, _WRONG - 1)
    bucket = wrong * (len(_RUNS) + 1) + np.digitize(run, _RUNS)
    return Copies(base.astype(np.int8), np.where(base < UNKNOWN, bucket, 0).astype(np.uint8))


def _followed(so_far: SoFar, order: int, strand: int, position: np.ndarray) -> np.ndarray:
    """Return the source that is copied at each position, -1 where the last context is out of reach."""
    latest = np.full(len(position), -1, np.int64)
    latest[so_far.known] = so_far.latest[strand]
    number = np.arange(len(position))
    anchor = np.maximum.accumulate(np.where(latest >= 0, number, -1))
    age = number - anchor
    started = latest[np.maximum(anchor, 0)]
    source = started - order - age if strand else started + age
    return np.where((anchor >= 0) & (age <= REACH_BP), source, -1)


def _agreement(
    codes: np.ndarray, position: np.ndarray, source: np.ndarray, strand: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return how many of the last `HISTORY_BP` bases agree, and how many without interruption."""
    right, run = np.zeros(len(source), np.int64), np.zeros(len(source), np.int64)
    unbroken = np.ones(len(source), bool)
    for back in range(1, HISTORY_BP + 1):
        other = source + back if strand else source - back
        valid = (source >= 0) & (position >= back) & (other >= 0) & (other < position)
        mine = codes[np.where(valid, position - back, 0)]
        theirs = codes[np.where(valid, other, 0)]
        agrees = valid & (mine < UNKNOWN) & (mine == (3 - theirs if strand else theirs))
        right += agrees
        unbroken &= agrees
        run += unbroken
    return right, run
