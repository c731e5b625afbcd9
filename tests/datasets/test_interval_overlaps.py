"""Intervals that share bases, against a double loop and against bedtools."""

from collections import Counter

import numpy as np
import pytest

from dna_bigbird.bench import leak_free
from dna_bigbird.bench.leak_free import overlaps, repeated
from dna_bigbird.genome import Interval
from dna_bigbird.genome.windows import Windows
from tests.bedtools_program import needs_bedtools

NAMES = ("equal", "shared", "half", "other_class")


def draw(count, seed, chromosomes=4, length_bp=(1, 60), span_bp=400):
    """Return intervals on both strands, and their classes."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(*length_bp, size=count)
    starts = rng.integers(0, span_bp, size=count)
    rows = [
        Interval(f"chr{rng.integers(chromosomes)}", int(s), int(s + n), rng.choice(["+", "-"]))
        for s, n in zip(starts, lengths, strict=True)
    ]
    return rows, rng.integers(2, size=count)


def by_loop(asked, classes, others, other_classes):
    expected = {name: [False] * len(asked) for name in NAMES}
    for i, x in enumerate(asked):
        for j, y in enumerate(others):
            if x.chrom != y.chrom:
                continue
            bp = min(x.end, y.end) - max(x.start, y.start)
            expected["equal"][i] |= (x.start, x.end) == (y.start, y.end)
            expected["shared"][i] |= bp > 0
            expected["half"][i] |= bp >= x.length / 2 and bp >= y.length / 2
            expected["other_class"][i] |= bp > 0 and bool(classes[i] != other_classes[j])
    return expected


def lists(result):
    return {name: getattr(result, name).tolist() for name in NAMES}


@pytest.mark.parametrize("at_once", [1 << 20, 7])
@pytest.mark.parametrize("length_bp", [(1, 60), (25, 26), (1, 3)])
@pytest.mark.parametrize("seed", range(3))
def test_every_mask_is_that_of_a_double_loop(seed, length_bp, at_once, monkeypatch):
    """Some are equal; one length, or many; a table in one part or in many."""
    monkeypatch.setattr(leak_free, "PAIRS_AT_ONCE", at_once)
    asked, classes = draw(80, seed, length_bp=length_bp)
    others, other_classes = draw(90, seed + 100, length_bp=length_bp)
    others[:10] = asked[10:20]
    result = overlaps(Windows.of(asked), classes, Windows.of(others), other_classes)
    expected = by_loop(asked, classes, others, other_classes)
    assert lists(result) == expected
    assert all(0 < sum(expected[name]) < 80 for name in NAMES)


def test_one_long_interval_covers_many_and_chromosome_ends_do_not_touch():
    asked = [
        Interval("a", 0, 10),
        Interval("a", 990, 1000),
        Interval("b", 0, 5),
        Interval("c", 0, 9),
    ]
    others = [Interval("a", 0, 1000), Interval("c", 9, 20), Interval("d", 0, 50)]
    zeros = [np.zeros(n, dtype=np.int64) for n in (4, 3)]
    result = overlaps(Windows.of(asked), zeros[0], Windows.of(others), zeros[1])
    assert result.shared.tolist() == [True, True, False, False]
    assert not (result.half.any())
    assert not (result.equal.any())
    assert not (result.other_class.any())


def test_an_empty_table_shares_nothing():
    rows, classes = draw(5, seed=0)
    some, nothing = Windows.of(rows), Windows.of([])
    none = np.zeros(0, dtype=np.int64)
    assert not overlaps(some, classes, nothing, none).shared.any()
    assert overlaps(nothing, none, some, classes).shared.tolist() == []


@needs_bedtools
@pytest.mark.parametrize("seed", range(3))
def test_bedtools_finds_the_same(seed):
    import pybedtools

    tables = [draw(count, seed + count, span_bp=900)[0] for count in (200, 150)]
    beds = [
        pybedtools.BedTool([(x.chrom, x.start, x.end, str(i)) for i, x in enumerate(rows)])
        for rows in tables
    ]
    zeros = [np.zeros(len(rows), dtype=np.int64) for rows in tables]
    result = overlaps(Windows.of(tables[0]), zeros[0], Windows.of(tables[1]), zeros[1])
    for mask, options in ((result.shared, {}), (result.half, {"f": 0.5, "r": True})):
        listed = {int(x.name) for x in beds[0].intersect(beds[1], u=True, **options)}
        assert set(np.flatnonzero(mask).tolist()) == listed
        assert 10 < len(listed) < 190


@pytest.mark.parametrize("seed", range(3))
def test_repeats_are_those_of_a_counter(seed):
    """The strand does not matter; of several equal ones the first is no repeat."""
    rows, _ = draw(300, seed, chromosomes=3, length_bp=(5, 8), span_bp=20)
    keys = [(x.chrom, x.start, x.end) for x in rows]
    mask = repeated(Windows.of(rows))
    counts = Counter(keys)
    assert mask.sum() == sum(counts.values()) - len(counts)
    assert mask.tolist() == [key in keys[:i] for i, key in enumerate(keys)]
    assert 20 < mask.sum() < 280
