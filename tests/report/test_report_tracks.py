"""Tracks: reading, choosing the region and the labels, placing scores."""

import numpy as np
import pytest

from dna_bigbird.core.errors import InputError
from dna_bigbird.genome.interval import Interval
from dna_bigbird.report.tracks import (
    build_strip,
    choose_labels,
    choose_region,
    covered,
    read_peak_sheet,
    read_promoters,
    read_scores,
)


def region(start, end):
    return Interval("c", start, end, ".")


def write(path, *lines):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(line + "\n" for line in lines))
    return path


def test_bed_rows_and_epd_rows(tmp_path):
    path = write(
        tmp_path / "a.bed",
        "track name=x",
        "chr1\t100\t101\tA\t0\t+",
        "chr1\t51\t111\tB\t0\t+\t100\t111",
        "chr1\t90\t150\tC\t0\t-\t90\t101",
    )
    assert [(f.start, f.end, f.strand) for f in read_promoters(path)] == [
        (100, 101, "+"),
        (100, 101, "+"),
        (100, 101, "-"),
    ]
    write(tmp_path / "b.bed", "chr1\t1\t2\tA\t0\t+", "chr1 3 four")
    with pytest.raises(InputError, match=r"b\.bed:2: end is 'four', expected a whole number"):
        read_promoters(tmp_path / "b.bed")
    write(tmp_path / "c.bed", "chr1\t5\t9\tA\t0\t+")
    with pytest.raises(
        InputError, match=r"c\.bed:1: the row is 4 bp wide; expected the start site"
    ):
        read_promoters(tmp_path / "c.bed")


def test_sample_sheet(tmp_path):
    write(tmp_path / "peaks" / "one.bed", "c\t1\t5\tX", "c\t7\t9\tY")
    sheet = write(
        tmp_path / "peaks.tsv",
        "# written by hand",
        "label\tgroup\tcell\tpath\tprefix",
        "CTCF\tTF\tK562\tpeaks/one.bed\t",
        "*\tTF\tK562\tpeaks/one.bed\tK562_",
    )
    peaks = read_peak_sheet(sheet)
    assert {name: len(intervals) for name, intervals in peaks.items()} == {
        "CTCF": 2,
        "K562_X": 1,
        "K562_Y": 1,
    }
    write(tmp_path / "bad.tsv", "label\tgroup", "CTCF\tTF")
    with pytest.raises(InputError, match=r"bad\.tsv:1: the header lacks cell, path"):
        read_peak_sheet(tmp_path / "bad.tsv")
    write(tmp_path / "gone.tsv", "label\tgroup\tcell\tpath", "CTCF\tTF\tK562\tnowhere.bed")
    with pytest.raises(InputError, match=r"gone\.tsv:2: there is no file .*nowhere\.bed"):
        read_peak_sheet(tmp_path / "gone.tsv")


def test_covered_parts_are_merged_in_any_order(tmp_path):
    path = write(
        tmp_path / "p.tsv",
        "sequence\tstart\tend\tlabel",
        "a\t0\t10\t0.1",
        "a\t5\t15\t0.1",
        "b\t0\t3\t0.1",
        "a\t20\t30\t0.1",
    )
    assert [(x.chrom, x.start, x.end) for x in covered(path)] == [
        ("a", 0, 15),
        ("a", 20, 30),
        ("b", 0, 3),
    ]
    with pytest.raises(InputError, match=r"q\.tsv:1: expected the columns sequence, start, end"):
        covered(write(tmp_path / "q.tsv", "chrom\tstart\tend", "a\t0\t1"))


def test_region_is_where_most_labels_are_not_where_one_is_crowded():
    crowd = [Interval("c", 1_000 + 100 * i, 1_050 + 100 * i) for i in range(60)]
    spread = {f"l{i}": [Interval("c", 150_000 + 2_000 * i, 150_200 + 2_000 * i)] for i in range(6)}
    chosen = choose_region([Interval("c", 0, 300_000)], {"crowd": crowd} | spread)
    assert chosen.start <= 150_000
    assert chosen.end >= 160_200
    assert chosen.end - chosen.start == 40_000


def test_region_stays_inside_what_was_predicted():
    truth = {"x": [Interval("c", 55_000, 55_200)]}
    assert choose_region([Interval("c", 50_000, 62_000)], truth) == region(50_000, 62_000)
    assert choose_region([Interval("c", 0, 500), Interval("d", 0, 900)], {}) == Interval(
        "d", 0, 900, "."
    )
    assert choose_region([], truth) is None


def test_labels_with_truth_come_first_and_every_group_is_seen():
    names = [f"tf{i}" for i in range(12)] + ["open", "mark"]
    groups = dict.fromkeys(names, "TF") | {"open": "DNase", "mark": "HM"}
    truth = {n: [Interval("c", 10, 20)] for n in names if n != "tf0"} | {"tf5": []}
    chosen = choose_labels(region(0, 10_000), names, groups, truth)
    assert len(chosen) == 8
    assert {"open", "mark"} <= set(chosen)
    assert not {"tf0", "tf5"} & set(chosen)


def test_scores_are_in_the_middle_of_their_windows_as_wide_as_the_step(tmp_path):
    rows = [f"c\t{s}\t{s + 1000}\t0.{i}\t0.5" for i, s in enumerate(range(0, 1000, 200))]
    path = write(tmp_path / "p.tsv", "sequence\tstart\tend\ta\tb", *rows)
    starts, ends, scores = read_scores(path, Interval("c", 0, 5_000), ["a"])["a"]
    assert starts.tolist() == [400, 600, 800, 1000, 1200]
    assert (ends - starts == 200).all()
    assert scores.tolist() == [0.0, 0.1, 0.2, 0.3, 0.4]
    apart = write(tmp_path / "q.tsv", "sequence\tstart\tend\ta", "c\t0\t10\t1", "c\t50\t60\tnan")
    starts, ends, scores = read_scores(apart, Interval("c", 0, 100), ["a"])["a"]
    assert (starts.tolist(), ends.tolist()) == ([0, 50], [10, 60])
    assert np.isnan(scores[1])


def test_strip_puts_predictions_and_truth_of_both_heads_in_one_region(tmp_path):
    header = "sequence\tstart\tend\t"
    promoter = write(
        tmp_path / "promoter.tsv",
        header + "promoter",
        *(f"c\t{s}\t{s + 500}\t0.5" for s in range(0, 90_000, 500)),
    )
    chromatin = write(
        tmp_path / "chromatin.tsv",
        header + "CTCF\tREST",
        *(f"c\t{s}\t{s + 500}\t0.5\t0.1" for s in range(20_000, 50_000, 500)),
    )
    strip = build_strip(
        {"promoter": promoter, "chromatin": chromatin},
        [Interval("c", 30_000, 30_001, "-"), Interval("c", 80_000, 80_001, "+")],
        {"CTCF": [Interval("c", 31_000, 31_400)]},
        {"CTCF": "TF", "REST": "TF"},
    )
    assert strip.region == region(20_000, 50_000)
    assert [t.label for t in strip.tracks] == ["promoter", "CTCF", "REST"]
    assert [len(t.truth) for t in strip.tracks] == [1, 1, 0]
    assert all(len(t.windows.scores) == 60 for t in strip.tracks)
    assert build_strip({}, None, None, {}) is None
    empty = write(tmp_path / "empty.tsv", header + "CTCF")
    assert build_strip({"chromatin": empty}, None, None, {}) is None
