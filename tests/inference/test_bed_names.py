"""Rows scored with `--bed` keep the names of their BED rows, in every file that has rows."""

import csv
import io

import h5py
import numpy as np
import pytest

from dna_bigbird import embed, predict
from dna_bigbird.cli.main import main
from dna_bigbird.prediction import predict_run
from dna_bigbird.prediction.partial_results import partial_results_path

NAMES = ["peak 1", 'say "hi", twice', ".", "peak 1", "γ"]
ROWS = ["chr2\t10\t210", "chr2\t300\t750", "chr1\t0\t90", "chr2\t0\t200", "chr1\t100\t301"]
WINDOWS = [1, 3, 1, 1, 2]
"""Windows of 200 bp in each row."""


@pytest.fixture
def genome(tmp_path, random_dna):
    path = tmp_path / "genome.fa"
    path.write_text(f">chr1\n{random_dna(450, 1)}\n>chr2\n{random_dna(900, 2)}\n")
    return path


@pytest.fixture
def bed(tmp_path):
    path = tmp_path / "named.bed"
    head = "browser position chr1\ntrack name=mine\n# a comment\n"
    rows = [f"{row}\t{name}\t0\t+\n" for row, name in zip(ROWS, NAMES, strict=True)]
    path.write_text(head + "".join(rows))
    return path


@pytest.fixture
def expected():
    return [name for name, times in zip(NAMES, WINDOWS, strict=True) for _ in range(times)]


def without_names(bed):
    """The same rows in three columns."""
    path = bed.with_name("plain.bed")
    path.write_text("".join(f"{row}\n" for row in ROWS))
    return path


def tsv_rows(path):
    return [line.split("\t") for line in path.read_text().splitlines()]


def test_tables_and_hdf5_have_the_names_last_and_are_otherwise_the_same(
    bundle_folder, genome, bed, expected, tmp_path
):
    for suffix in ("tsv", "csv", "h5"):
        for rows in (bed, without_names(bed)):
            predict(genome, rows, model=bundle_folder, output=tmp_path / f"{rows.stem}.{suffix}")
    header, *rows = tsv_rows(tmp_path / "named.tsv")
    assert header == ["sequence", "start", "end", "CTCF", "DNase", "name"]
    assert [row[-1] for row in rows] == expected
    assert [row[:-1] for row in [header, *rows]] == tsv_rows(tmp_path / "plain.tsv")
    with open(tmp_path / "named.csv", newline="") as stream:
        assert list(csv.reader(stream)) == [header, *rows]
    with h5py.File(tmp_path / "named.h5") as file, h5py.File(tmp_path / "plain.h5") as plain:
        assert [name.decode() for name in file["rows/name"]] == expected
        assert set(file["rows"]) - set(plain["rows"]) == {"name"}
        np.testing.assert_array_equal(file["probabilities"], plain["probabilities"])


def test_arrays_have_the_names(bundle_folder, genome, bed, expected):
    for function in (predict, embed):
        assert function(genome, bed, model=bundle_folder).name.tolist() == expected
        assert function(genome, without_names(bed), model=bundle_folder).name is None
        assert function(genome, model=bundle_folder).name is None


def test_vectors_have_the_names(bundle_folder, genome, bed, expected, tmp_path):
    embed(genome, bed, model=bundle_folder, output=tmp_path / "x.npz")
    embed(genome, bed, model=bundle_folder, output=tmp_path / "x.h5")
    assert np.load(tmp_path / "x.npz")["name"].tolist() == expected
    with h5py.File(tmp_path / "x.h5") as file:
        assert [name.decode() for name in file["name"]] == expected


def test_column_4_of_dots_gives_no_column(bundle_folder, genome, bed, tmp_path):
    dots = tmp_path / "dots.bed"
    dots.write_text("".join(f"{row}\t.\t0\t-\n" for row in ROWS))
    predict(genome, dots, model=bundle_folder, output=tmp_path / "dots.tsv")
    predict(genome, without_names(bed), model=bundle_folder, output=tmp_path / "plain.tsv")
    assert (tmp_path / "dots.tsv").read_bytes() == (tmp_path / "plain.tsv").read_bytes()


def test_standard_input_and_output_have_the_rows_of_the_file(
    bundle_folder, genome, bed, tmp_path, monkeypatch, capsys
):
    common = ["predict", "--fasta", str(genome), "--model", str(bundle_folder)]
    main([*common, "--bed", str(bed), "--output", str(tmp_path / "file.tsv")])
    capsys.readouterr()
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(bed.read_bytes())))
    main([*common, "--bed", "-"])
    assert capsys.readouterr().out == (tmp_path / "file.tsv").read_text()


@pytest.mark.parametrize("output", ["x.tsv", "x.csv", "x.h5"])
def test_a_continued_run_keeps_the_names(bundle_folder, genome, bed, tmp_path, monkeypatch, output):
    (tmp_path / "whole").mkdir()
    options = {"model": bundle_folder, "workers": 0}
    monkeypatch.setattr("dna_bigbird.prediction.predictor.SHORT_BP", 10**9)  # one window per chunk
    predict(genome, bed, output=tmp_path / "whole" / output, **options)
    frames = predict_run.PredictionRun.frames

    def failing(*arguments, **more):
        yield from [frame for frame, _ in zip(frames(*arguments, **more), range(3), strict=False)]
        raise RuntimeError("the machine caught fire")

    with monkeypatch.context() as patch:
        patch.setattr(predict_run.PredictionRun, "frames", failing)
        with pytest.raises(RuntimeError, match="fire"):
            predict(genome, bed, output=tmp_path / output, **options)
    assert partial_results_path(tmp_path / output).exists()
    predict(genome, bed, output=tmp_path / output, resume=True, **options)
    assert (tmp_path / output).read_bytes() == (tmp_path / "whole" / output).read_bytes()
