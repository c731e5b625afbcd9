"""Interval arithmetic against counting bases one by one, and against bedtools where it is."""

import tempfile

import numpy as np
import pytest

from dna_bigbird.genome import Genome
from dna_bigbird.genome.coverage import (
    bins_mostly_covered,
    covered_bp,
    merge_spans,
    unknown_spans,
)
from tests.bedtools_program import needs_bedtools


def random_spans(rng, n=30, size=3000):
    starts = rng.integers(0, size - 1, n)
    return starts, np.minimum(size, starts + rng.integers(1, 400, n))


def painted(starts, ends, size=3000):
    covered = np.zeros(size, dtype=bool)
    for start, end in zip(starts, ends, strict=True):
        covered[start:end] = True
    return covered


@pytest.mark.parametrize("seed", range(20))
def test_against_painted_bases(seed):
    rng = np.random.default_rng(seed)
    starts, ends = random_spans(rng, n=int(rng.integers(0, 40)))
    covered = painted(starts, ends)
    merged = merge_spans(starts, ends)
    assert (painted(*merged) == covered).all()
    assert (merged[0][1:] > merged[1][:-1]).all()

    q_starts, q_ends = random_spans(rng)
    expected = [covered[s:e].sum() for s, e in zip(q_starts, q_ends, strict=True)]
    assert covered_bp(merged, q_starts, q_ends).tolist() == expected

    size = 2990  # the last, incomplete bin never counts
    bins = [i for i in range(size // 200) if covered[200 * i : 200 * (i + 1)].sum() > 100]
    assert bins_mostly_covered(merged, 200, size).tolist() == bins


def test_half_is_not_more_than_half():
    assert bins_mostly_covered(merge_spans([0], [100]), 200, 200).tolist() == []
    assert bins_mostly_covered(merge_spans([0], [101]), 200, 200).tolist() == [0]
    # Two peaks of 60 that share 20 bases cover 100, not 120.
    assert bins_mostly_covered(merge_spans([0, 40], [60, 100]), 200, 200).tolist() == []


def test_one_long_peak_takes_all_inner_bins():
    assert bins_mostly_covered(merge_spans([150], [2050]), 200, 5000).tolist() == list(range(1, 10))


def test_no_spans():
    merged = merge_spans([], [])
    assert covered_bp(merged, [0], [10]).tolist() == [0]
    assert bins_mostly_covered(merged, 200, 1000).tolist() == []


@pytest.mark.parametrize("at_once_bp", [1, 3, 7, 1000])
def test_runs_of_n_whatever_is_read_at_once(tmp_path, at_once_bp):
    text = "NNACnnnRGTNACGTACNNNNNN"
    (tmp_path / "g.fa").write_text(f">a\n{text}\n>b\nACGT\n")
    genome = Genome(tmp_path / "g.fa")
    is_n = [base.upper() in "NR" for base in text]
    starts, ends = unknown_spans(genome, "a", at_once_bp=at_once_bp)
    assert painted(starts, ends, len(text)).tolist() == is_n
    assert (starts[1:] > ends[:-1]).all()
    assert len(unknown_spans(genome, "b", at_once_bp=at_once_bp)[0]) == 0


@needs_bedtools
def test_against_bedtools(tmp_path, monkeypatch):
    import pybedtools

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    rng = np.random.default_rng(5)
    starts, ends = random_spans(rng)
    try:
        peaks = pybedtools.BedTool(
            [("c", int(s), int(e)) for s, e in zip(starts, ends, strict=True)]
        )
        merged = peaks.sort().merge()
        ours = merge_spans(starts, ends)
        assert [(r.start, r.end) for r in merged] == list(zip(*map(list, ours), strict=True))
        bins = pybedtools.BedTool([("c", i * 200, i * 200 + 200) for i in range(15)])
        fraction = [float(r[-1]) for r in bins.coverage(merged)]
        expected = [i for i, value in enumerate(fraction) if value > 0.5]
        assert bins_mostly_covered(ours, 200, 3000).tolist() == expected
    finally:
        pybedtools.cleanup()
