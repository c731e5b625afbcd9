"""One value per base: the mean of the windows over it, compared with a plain count base by base."""

import subprocess

import numpy as np
import pyBigWig
import pytest

from dna_bigbird.core.errors import InputError
from dna_bigbird.core.result_folders import RECORD
from dna_bigbird.prediction.partial_results import open_partial_results
from dna_bigbird.prediction.predict_run import write
from dna_bigbird.prediction.windows.tiling import Window
from dna_bigbird.prediction.writers.target import Target, WriteContext, frame_of
from dna_bigbird.prediction.writers.tracks import place_windows, segments_of
from tests.bedtools_program import needs_bedtools

LENGTHS = {"chr2": 900, "chr10": 500, "chr1": 700, "long_name_without_windows": 50}
LABELS = ["CTCF", "K562|H3K27ac|None"]


def random_windows(seed, count=120):
    """Windows of many lengths in no order, some twice; one in eight has no score."""
    rng = np.random.default_rng(seed)
    windows, values = [], rng.random((count, len(LABELS)), np.float32)
    for _ in range(count):
        name = rng.choice(["chr2", "chr10", "chr1"])
        start, end = sorted(rng.choice(LENGTHS[name] // 10 + 1, 2, replace=False) * 10)
        windows.append(Window(str(name), int(start), int(end), ""))
    windows[-5:] = windows[:5]
    values[rng.random(count) < 1 / 8] = np.nan
    return windows, values


def base_by_base(windows, values):
    """What each base should have, in float64; NaN where nothing is known."""
    tracks = {}
    for name, length in LENGTHS.items():
        total, times = np.zeros((length, len(LABELS))), np.zeros((length, 1))
        for window, value in zip(windows, values, strict=True):
            if window.name == name and not np.isnan(value).any():
                total[window.start : window.end] += value.astype(np.float64)
                times[window.start : window.end] += 1
        with np.errstate(invalid="ignore"):
            tracks[name] = total / times
    return tracks


@pytest.fixture
def stored_rows(tmp_path):
    """Function (windows, values) -> open stored that holds them in frames of 50."""
    with open_partial_results(tmp_path / "kept", {}, resume=False) as stored:

        def fill(windows, values):
            for first in range(0, len(windows), 50):
                few = slice(first, first + 50)
                stored.append(frame_of(windows[few], values[few]))
            return stored

        yield fill


@pytest.mark.parametrize("block_values", [1, 14, 10**6])
@pytest.mark.parametrize("seed", range(5))
def test_segments_are_the_mean_of_each_base(stored_rows, seed, block_values):
    windows, values = random_windows(seed)
    stored = stored_rows(windows, values)
    found = {name: np.full((n, len(LABELS)), np.nan) for name, n in LENGTHS.items()}
    before = ("", 0)
    for segments in segments_of(
        place_windows(stored), stored.column("probabilities"), block_values=block_values
    ):
        for start, end, value in zip(segments.start, segments.end, segments.values, strict=True):
            assert before <= (segments.chrom, start) < (segments.chrom, end)
            found[segments.chrom][start:end] = value
            before = (segments.chrom, end)
    for name, expected in base_by_base(windows, values).items():
        np.testing.assert_array_equal(np.isnan(found[name]), np.isnan(expected))
        np.testing.assert_allclose(found[name], expected, rtol=1e-7)


def test_a_base_under_one_window_has_its_probability_to_the_bit(stored_rows):
    windows = [Window("chr1", start, start + 10, "") for start in range(0, 300, 10)]
    values = np.random.default_rng(0).random((30, 2), np.float32)
    stored = stored_rows(windows, values)
    (segments,) = segments_of(place_windows(stored), stored.column("probabilities"), slice(1, 2))
    np.testing.assert_array_equal(segments.values, values[:, 1:])


def read_bigwig(path):
    with pyBigWig.open(str(path)) as file:
        return {name: file.values(name, 0, n, numpy=True) for name, n in file.chroms().items()}


def test_bigwig_holds_the_mean_of_each_base_in_a_file_a_label(stored_rows, tmp_path):
    windows, values = random_windows(7)
    expected = base_by_base(windows, values)
    folder = tmp_path / "tracks"
    write(
        Target(folder, "bigwig", folder=True),
        stored_rows(windows, values),
        WriteContext(LABELS, lambda: LENGTHS),
    )
    names = ["CTCF.bw", "K562_H3K27ac_None.bw"]
    assert sorted(p.name for p in folder.iterdir()) == [RECORD, *names, "labels.tsv"]
    assert (folder / "labels.tsv").read_text().splitlines() == [
        "label\tfile", "CTCF\tCTCF.bw", "K562|H3K27ac|None\tK562_H3K27ac_None.bw",
    ]  # fmt: skip
    for label, file in enumerate(names):
        tracks = read_bigwig(folder / file)
        assert list(tracks) == ["chr1", "chr10", "chr2"], "as the names sort"
        for name, found in tracks.items():
            np.testing.assert_allclose(found, expected[name][:, label], rtol=1e-7, equal_nan=True)


def test_bigwig_replaces_only_its_own_folder(stored_rows, tmp_path):
    stored = stored_rows(*random_windows(1))
    folder = tmp_path / "tracks"
    target, about = Target(folder, "bigwig", folder=True), WriteContext(LABELS, lambda: LENGTHS)
    write(target, stored, about)
    before = (folder / "CTCF.bw").read_bytes()
    write(target, stored, about)
    assert (folder / "CTCF.bw").read_bytes() == before, "equal rows, equal bytes"
    (folder / "thesis.bw").write_text("years of work")
    with pytest.raises(InputError, match=r"holds thesis.bw, which no run of this command wrote"):
        write(target, stored, about)
    assert (folder / "thesis.bw").exists()


def test_bigwig_without_any_score_is_refused(stored_rows, tmp_path):
    stored = stored_rows([Window("chr1", 0, 10, "")], np.full((1, 1), np.nan, np.float32))
    with pytest.raises(InputError, match="no window has a score"):
        write(Target(tmp_path / "x.bw", "bigwig"), stored, WriteContext(["a"], lambda: LENGTHS))


def test_many_labels_are_written_a_few_files_at_a_time(stored_rows, tmp_path, monkeypatch):
    monkeypatch.setattr("dna_bigbird.prediction.writers.tracks.LABELS_AT_ONCE", 3)
    labels = [f"label {i}" for i in range(8)]
    windows = random_windows(0)[0]
    values = np.random.default_rng(0).random((len(windows), 8), np.float32)
    write(
        Target(tmp_path / "t", "bigwig", True),
        stored_rows(windows, values),
        WriteContext(labels, lambda: LENGTHS),
    )
    for label in range(8):
        total = np.zeros(900)
        times = np.zeros(900)
        for window, value in zip(windows, values[:, label].astype(float), strict=True):
            if window.name == "chr2":
                total[window.start : window.end] += value
                times[window.start : window.end] += 1
        found = read_bigwig(tmp_path / "t" / f"label_{label}.bw")["chr2"]
        np.testing.assert_allclose(
            found[times > 0], (total / np.maximum(times, 1))[times > 0], rtol=1e-7
        )


def test_bed_rows_are_sorted_and_hold_the_mean_of_each_base(stored_rows, tmp_path):
    windows, values = random_windows(3)
    path = tmp_path / "scores.bed"
    write(Target(path, "bed"), stored_rows(windows, values), WriteContext(LABELS, lambda: LENGTHS))
    header, *lines = path.read_text().splitlines()
    assert header == "#chrom\tstart\tend\tname\tscore\tstrand\tprobability"
    rows = [line.split("\t") for line in lines]
    keys = [(row[0], int(row[1]), int(row[2]), LABELS.index(row[3])) for row in rows]
    assert keys == sorted(keys)
    expected = base_by_base(windows, values)
    covered = 0
    for chrom, start, end, label, score, strand, probability in rows:
        truth = expected[chrom][int(start) : int(end), LABELS.index(label)]
        assert np.ptp(truth) < 1e-12
        assert float(probability) == pytest.approx(truth[0], rel=1e-4)
        assert abs(int(score) - 1000 * truth[0]) <= 0.5001
        assert strand == "."
        covered += int(end) - int(start)
    assert covered == sum(np.isfinite(track).sum() for track in expected.values())


@needs_bedtools
def test_bedtools_takes_the_bed_rows_as_sorted(stored_rows, tmp_path):
    windows, values = random_windows(4)
    path = tmp_path / "scores.bed"
    write(Target(path, "bed"), stored_rows(windows, values), WriteContext(LABELS, lambda: LENGTHS))

    def bedtools(*arguments):
        return subprocess.run(
            ["bedtools", *map(str, arguments)], capture_output=True, text=True, check=True
        ).stdout.splitlines()

    def places(rows):
        return [row.split("\t")[:3] for row in rows]

    assert places(bedtools("sort", "-i", path)) == places(path.read_text().splitlines()[1:])
    merged = sum(
        int(row.split("\t")[2]) - int(row.split("\t")[1]) for row in bedtools("merge", "-i", path)
    )
    expected = base_by_base(windows, values)
    assert merged == sum(np.isfinite(track[:, 0]).sum() for track in expected.values())
    regions = tmp_path / "regions.bed"
    regions.write_text("chr1\t0\t700\nchr10\t0\t500\nchr2\t0\t900\n")
    counts = [
        row.split("\t")[3]
        for row in bedtools("map", "-a", regions, "-b", path, "-c", 7, "-o", "count")
    ]
    lines = path.read_text().splitlines()
    assert counts == [
        str(sum(line.startswith(f"{c}\t") for line in lines)) for c in ("chr1", "chr10", "chr2")
    ]


def test_scores_of_bins_lie_on_the_middle_of_their_windows(stored_rows):
    windows = [Window("chr1", start, start + 100, "") for start in range(0, 600, 20)]
    windows.append(Window("chr2", 0, 80, ""))
    values = np.random.default_rng(0).random((len(windows), 2), np.float32)
    stored = stored_rows(windows, values)
    (segments,) = segments_of(place_windows(stored, margin_bp=40), stored.column("probabilities"))
    assert segments.start.tolist() == [window.start + 40 for window in windows[:-1]]
    assert segments.end.tolist() == [window.start + 60 for window in windows[:-1]]
    np.testing.assert_array_equal(segments.values, values[:-1])


def test_no_windows_are_a_header_alone(stored_rows, tmp_path):
    write(
        Target(tmp_path / "x.bed", "bed"),
        stored_rows([], np.empty((0, 2))),
        WriteContext(LABELS, lambda: LENGTHS),
    )
    assert (tmp_path / "x.bed").read_text().count("\n") == 1
