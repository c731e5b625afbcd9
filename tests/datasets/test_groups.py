"""Groups of rows that stay together, and folds of them."""

import numpy as np
import pytest

from dna_bigbird.genome import Interval
from dna_bigbird.labelled.splits import folds_of, group_windows


def by_hand(intervals, keys):
    """Join any two rows that overlap or share a key until nothing changes."""
    group = list(range(len(intervals)))
    for i, a in enumerate(intervals):
        for j, b in enumerate(intervals[:i]):
            if a.overlap(b) or (keys and keys[i] and keys[i] == keys[j]):
                old, new = group[i], group[j]
                group = [new if g == old else g for g in group]
    return group


def test_overlapping_windows_of_either_strand_are_one_group_and_touching_ones_are_not():
    windows = [("chr1", 0, 100, "+"), ("chr1", 99, 199, "-"), ("chr1", 199, 299, "+")]
    windows += [("chr2", 0, 100, "+"), ("chr1", 150, 160, "-")]
    assert group_windows([Interval(*w) for w in windows]).tolist() == [0, 0, 1, 2, 0]


def test_a_window_inside_another_does_not_end_it():
    windows = [Interval("chr1", 0, 100), Interval("chr1", 10, 20), Interval("chr1", 50, 60)]
    assert group_windows(windows).tolist() == [0, 0, 0]


@pytest.mark.parametrize("seed", range(20))
def test_groups_are_those_of_joining_by_hand(seed):
    rng = np.random.default_rng(seed)
    n = 60
    starts = rng.integers(-20, 4000, n)
    windows = [
        Interval(f"chr{c}", int(s), int(s + length), "+-"[c % 2])
        for c, s, length in zip(rng.integers(1, 4, n), starts, rng.integers(1, 80, n), strict=True)
    ]
    keys = [str(k) if k < 12 else "" for k in rng.integers(0, 40, n)] if seed % 2 else []
    found, expected = group_windows(windows, keys), np.array(by_hand(windows, keys))
    assert ((found[:, None] == found) == (expected[:, None] == expected)).all()
    first = [np.flatnonzero(found == g)[0] for g in range(found.max() + 1)]
    assert first == sorted(first)


def test_no_rows_and_wrong_keys():
    assert group_windows([]).tolist() == []
    with pytest.raises(ValueError, match="1 keys for 2 windows"):
        group_windows([Interval("chr1", 0, 1), Interval("chr1", 2, 3)], ["a"])


def test_folds_keep_groups_and_are_balanced_by_rows():
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(300), rng.integers(1, 12, 300))
    rng.shuffle(groups)
    fold = folds_of(groups, 5, seed=1)
    assert all(len(set(fold[groups == g])) == 1 for g in range(300))
    sizes = np.bincount(fold, minlength=5)
    assert sizes.max() - sizes.min() <= 1  # the last groups dealt have one row
    assert (fold == folds_of(groups, 5, seed=1)).all()
    assert (fold != folds_of(groups, 5, seed=2)).any()


def test_one_large_group_fills_its_fold_alone():
    fold = folds_of([7] * 50 + list(range(100, 120)), 3, seed=0)
    assert np.bincount(fold).tolist() == [50, 10, 10]


def test_too_few_groups_are_refused():
    with pytest.raises(ValueError, match="hang together in 2 groups, too few for 3 folds"):
        folds_of([0, 0, 1], 3, seed=0)
