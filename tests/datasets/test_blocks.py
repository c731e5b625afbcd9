"""Blocks of the genome that a bootstrap draws: neighbours together, negatives with their positive."""

import numpy as np
import pytest

from dna_bigbird.genome import Genome, Interval
from dna_bigbird.genome.windows import Windows
from dna_bigbird.labelled.labelled_set import (
    LabelledData,
    LabelledSet,
    block_units,
    write_labelled_set,
)


@pytest.fixture
def made(tmp_path):
    """Function (chromosome and start of each window, labels, pairs) -> labelled set."""
    fasta = tmp_path / "long.fa"
    fasta.write_text("".join(f">{name}\n{'ACGT' * 30_000}\n" for name in ("chr1", "chr2")))
    genome = Genome(fasta)

    def build(places, labels=None, pair=None, window_bp=10):
        intervals = [
            Interval(chrom, start, start + window_bp, "+-"[i % 2])
            for i, (chrom, start) in enumerate(places)
        ]
        data = LabelledData(
            task="x",
            window_bp=window_bp,
            label_names=["a"],
            label_groups=["g"],
            intervals=intervals,
            names=[""] * len(places),
            labels=np.array(labels or [1] * len(places), dtype=np.uint8)[:, None],
            split=np.full(len(places), 2, dtype=np.uint8),
            pair=None if pair is None else np.array(pair),
        )
        path = tmp_path / "s.h5"
        write_labelled_set(path, data, genome, assembly="", command="", inputs={})
        return LabelledSet(path)

    return build


def together(units):
    """Places of the rows of each block, in order of their first row."""
    return sorted(np.flatnonzero(units == unit).tolist() for unit in np.unique(units))


def test_centres_in_one_stretch_of_a_chromosome(made):
    """Centres at 9,999 and 10,000 lie in different stretches, whatever the strand."""
    places = [("chr1", s) for s in (0, 100, 9994, 9995, 12_000)] + [("chr2", 0)]
    units, size = block_units(made(places), np.arange(6), block_bp=10_000)
    assert size == 10_000
    assert together(units) == [[0, 1, 2], [3, 4], [5]]


def test_a_negative_goes_with_its_positive(made):
    """Rows 1 and 3 are negatives of rows 0 and 2, taken from elsewhere; order does not matter."""
    places = [("chr1", 0), ("chr2", 50_000), ("chr1", 90_000), ("chr1", 20)]
    labelled = made(places, labels=[1, 0, 1, 0], pair=[7, 7, 5, 5])
    assert together(block_units(labelled, np.arange(4), 1000)[0]) == [[0, 1], [2, 3]]
    backwards = made(places[::-1], labels=[0, 1, 0, 1], pair=[5, 5, 7, 7])
    assert together(block_units(backwards, np.arange(4), 1000)[0]) == [[0, 1], [2, 3]]


def test_blocks_of_some_rows(made):
    places = [("chr1", s) for s in (0, 100, 50_000, 60_000)]
    assert together(block_units(made(places), np.array([1, 2]), 10_000)[0]) == [[0], [1]]


@pytest.mark.parametrize(
    ("step_bp", "rows", "window_bp", "expected"),
    [
        (5_000, 24, 10, 10_000),  # 24 blocks, where 20 kb would give 12
        (1_000, 10, 10, 10_000),  # two blocks at best: the shortest
        (10_000, 12, 15_000, 20_000),  # never shorter than a window
    ],
)
def test_the_longest_block_that_leaves_enough_of_them(made, step_bp, rows, window_bp, expected):
    places = [(c, s) for c in ("chr1", "chr2") for s in range(0, rows * step_bp, step_bp)]
    places = [place for place in places if place[1] + window_bp <= 120_000]
    assert block_units(made(places, window_bp=window_bp), np.arange(len(places)))[1] == expected


@pytest.mark.parametrize(
    ("span_mb", "expected"), [(300, 1_000_000), (20, 1_000_000), (19, 500_000), (0.5, 20_000)]
)
def test_block_size_by_the_length_of_the_test_regions(span_mb, expected):
    """Windows on a stand-in for a set, for no toy genome is this long."""
    start = np.arange(0, int(span_mb * 1e6), 1000)

    class Set:
        has_coordinates = True
        window_bp, num_bins = 1000, 0
        intervals = Windows(
            ("chr8",),
            np.zeros(len(start), dtype=np.uint32),
            start,
            1000,
            np.full(len(start), b"+"),
        )
        pairs = np.arange(len(start))

        def labels_of(self, rows):
            return np.ones((len(rows), 1))

    units, size = block_units(Set(), np.arange(len(start)))
    assert size == expected
    assert 20 <= len(np.unique(units)) <= max(50, span_mb)
