"""What bedtools computes for us is what counting says; nothing of it stays on the disk."""

import os
import tempfile
from pathlib import Path

import numpy as np
import pytest

from dna_bigbird.core.errors import InputError
from dna_bigbird.genome import bedtools
from dna_bigbird.genome.coverage import bins_mostly_covered, merge_spans
from tests.bedtools_program import needs_bedtools


@pytest.fixture
def scratch(tmp_path, monkeypatch):
    """The folder for temporary files, which must be empty again."""
    folder = tmp_path / "scratch"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    yield folder
    assert list(folder.iterdir()) == []
    assert tempfile.tempdir == str(folder)


@needs_bedtools
@pytest.mark.parametrize("seed", range(3))
def test_most_shared_bases(scratch, seed):
    rng = np.random.default_rng(seed)
    chrom, other_chrom = rng.integers(0, 12, 200), rng.integers(0, 12, 150)
    start, other_start = rng.integers(-100, 9_000, 200), rng.integers(-100, 9_000, 150)
    expected = [
        max(
            [0, *(300 - abs(start[i] - other_start[other_chrom == chrom[i]]))],
        )
        for i in range(200)
    ]
    found = bedtools.most_shared_bp(chrom, start, other_chrom, other_start, 300)
    assert found.tolist() == expected
    assert 10 < np.count_nonzero(found) < 190


def test_files_of_pybedtools_are_below_the_folder_of_the_tests(tmp_path_factory):
    import pybedtools

    rows = pybedtools.BedTool("chr1\t1\t2\n", from_string=True)
    assert tmp_path_factory.getbasetemp() in Path(os.fsdecode(rows.fn)).parents


@needs_bedtools
def test_nothing_shares_nothing(scratch):
    none = np.empty(0, dtype=np.int64)
    some = np.array([3, 500])
    assert bedtools.most_shared_bp(none, none, some, some, 10).tolist() == []
    assert bedtools.most_shared_bp(some, some, none, none, 10).tolist() == [0, 0]
    assert bedtools.most_shared_bp(some, some, some, some + 10, 10).tolist() == [0, 0]
    assert [x.tolist() for x in bedtools.mostly_covered_bins([], some, some, 10)] == [[], []]
    far = [(0, 3, 700, 800)]
    assert [x.tolist() for x in bedtools.mostly_covered_bins(far, some, some, 10)] == [[], []]


@needs_bedtools
@pytest.mark.parametrize("seed", range(3))
def test_bins_that_are_mostly_covered(scratch, seed):
    rng = np.random.default_rng(seed)
    label, chrom = rng.integers(0, 4, 600), rng.integers(0, 3, 600)
    start = rng.integers(0, 9_000, 600)
    end = start + rng.integers(1, 250, 600)
    bin_chrom, number = np.repeat(np.arange(3), 40), np.tile(np.arange(0, 40), 3)
    expected = set()
    for i in range(4):
        for j in range(3):
            here = (label == i) & (chrom == j)
            covered = bins_mostly_covered(merge_spans(start[here], end[here]), 200, 8_000)
            expected |= {(40 * j + place, i) for place in covered.tolist()}
    peaks = zip(label.tolist(), chrom.tolist(), start.tolist(), end.tolist(), strict=True)
    place, found = bedtools.mostly_covered_bins(peaks, bin_chrom, number * 200, 200)
    assert set(zip(place.tolist(), found.tolist(), strict=True)) == expected
    assert 50 < len(expected) < 470


@needs_bedtools
def test_half_is_not_more_than_half(scratch):
    zero = np.array([0])
    # Two peaks of 60 that share 20 bases cover 100, not 120.
    for end, expected in ((100, []), (101, [0])):
        peaks = [(0, 0, 0, 60), (0, 0, 40, end)]
        assert bedtools.mostly_covered_bins(peaks, zero, zero, 200)[0].tolist() == expected


@needs_bedtools
def test_a_program_that_fails_is_one_line(scratch, monkeypatch):
    import pybedtools

    def fails(*args, **kwargs):
        raise pybedtools.helpers.BEDToolsError("bedtools merge", "Error: No space left\non device")

    monkeypatch.setattr(pybedtools.BedTool, "merge", fails)
    zero = np.array([0])
    with pytest.raises(
        InputError, match=r"a second time, failed: .*No space left on device"
    ) as failure:
        bedtools.mostly_covered_bins([(0, 0, 0, 60)], zero, zero, 200)
    assert "\n" not in str(failure.value)


def test_without_the_program_the_line_says_how_to_get_it(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert not bedtools.has_bedtools()
    message = "--check_every 5 needs the program bedtools.*: apt-get install bedtools, or conda"
    with pytest.raises(InputError, match=message):
        bedtools.check_has_bedtools("--check_every 5")
    program = tmp_path / "bedtools"
    program.write_text("#!/bin/sh\n")
    os.chmod(program, 0o755)
    assert bedtools.has_bedtools()
