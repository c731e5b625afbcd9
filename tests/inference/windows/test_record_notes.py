"""Notes on short records and on gaps between windows: once per run, with the right numbers."""

import io

import numpy as np
import pytest

from dna_bigbird import embed, predict
from dna_bigbird.cli.main import main
from dna_bigbird.prediction import predict_run
from dna_bigbird.prediction.windows.tiling import RecordNotes, window_starts

LENGTHS = [150, 200, 199, 450, 1, 1000]
"""Three are shorter than the 200 bp of the model."""
OF_RECORDS = "3 of 6 records are shorter than the model's window of 200 bp"
OF_ROWS = "2 of 3 BED rows are shorter than the model's window of 200 bp"


@pytest.fixture
def fasta(tmp_path, random_dna):
    path = tmp_path / "r.fa"
    texts = [f">r{i}\n{random_dna(length, i)}\n" for i, length in enumerate(LENGTHS)]
    path.write_text("".join(texts))
    return path


@pytest.fixture
def bed(tmp_path):
    path = tmp_path / "r.bed"
    path.write_text("r5\t0\t199\nr5\t0\t600\nr5\t5\t10\n")
    return path


def about_short(notes):
    return [line.partition(";")[0] for line in notes if "shorter" in line]


@pytest.mark.parametrize("function", [predict, embed])
def test_records_and_rows_are_counted(bundle_folder, fasta, bed, function):
    assert about_short(function(fasta, model=bundle_folder).notes) == [OF_RECORDS]
    assert about_short(function(fasta, bed, model=bundle_folder).notes) == [OF_ROWS]
    assert about_short(function(fasta, model=bundle_folder, window=300).notes) == [OF_RECORDS]
    only_long = {"a": "ACGT" * 50, "b": "ACGT" * 99}
    assert about_short(function(sequences=only_long, model=bundle_folder).notes) == []


def test_windows_that_are_all_short_get_one_other_note(bundle_folder, fasta):
    notes = predict(fasta, model=bundle_folder, window=100).notes
    short = "windows of 100 bp are shorter than the model's window of 200 bp"
    assert about_short(notes) == [short]


@pytest.mark.parametrize("rows", [False, True])
def test_standard_input_is_counted_in_the_end(bundle_folder, fasta, bed, rows, monkeypatch, capsys):
    text = (bed if rows else fasta).read_bytes()
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text)))
    inputs = ["--fasta", str(fasta), "--bed", "-"] if rows else ["--fasta", "-"]
    main(["predict", *inputs, "--model", str(bundle_folder)])
    err = capsys.readouterr().err
    assert err.count("are shorter than") == 1
    assert (OF_ROWS if rows else OF_RECORDS) in err


def test_a_continued_run_counts_all_records(bundle_folder, fasta, tmp_path, monkeypatch):
    output = tmp_path / "x.tsv"
    monkeypatch.setattr("dna_bigbird.prediction.predictor.SHORT_BP", 10**9)  # one window per chunk
    frames = predict_run.PredictionRun.frames

    def failing(*arguments, **more):
        yield from (frame for frame, _ in zip(frames(*arguments, **more), range(5), strict=False))
        raise RuntimeError("the machine caught fire")

    with monkeypatch.context() as patch:
        patch.setattr(predict_run.PredictionRun, "frames", failing)
        with pytest.raises(RuntimeError, match="fire"):
            predict(fasta, model=bundle_folder, output=output)
    done = predict(fasta, model=bundle_folder, output=output, resume=True)
    assert about_short(done.notes) == [OF_RECORDS]


def test_a_stride_that_leaves_gaps_is_noted(bundle_folder, fasta):
    gap = "the stride of 500 bp is longer than the window of 200 bp: the bases between two windows"
    found = predict(fasta, model=bundle_folder, stride=500)
    assert sum(line.startswith(gap) for line in found.notes) == 1
    assert found.start[found.sequence == "r5"].tolist() == [0, 500, 800]
    assert gap not in " ".join(predict(fasta, model=bundle_folder, stride=200).notes)


def test_gaps_are_those_of_the_windows():
    rng = np.random.default_rng(0)
    for length, window, stride in rng.integers(1, 60, (2000, 3)).tolist():
        covered = np.zeros(length, bool)
        for start in window_starts(length, window, stride):
            covered[start : start + window] = True
        notes = RecordNotes(window, stride)
        notes.count(length)
        assert (not covered.all()) == bool(notes.lines()), (length, window, stride)
