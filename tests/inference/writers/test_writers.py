"""Which format a run writes, what it refuses before scoring, and what an HDF5 file holds."""

import csv
import hashlib
import json
import os

import h5py
import numpy as np
import pytest

from dna_bigbird.core.errors import InputError, OutputError
from dna_bigbird.core.writing import check_can_write
from dna_bigbird.prediction.partial_results import open_partial_results
from dna_bigbird.prediction.predict_run import write
from dna_bigbird.prediction.windows.tiling import Window
from dna_bigbird.prediction.writers.target import Target, WriteContext, chosen_target, frame_of

WINDOWS = [Window(f"seq{i}é", i, i + 200, "") for i in range(9)]
VALUES = np.random.default_rng(0).random((9, 2), np.float32)


@pytest.mark.parametrize(
    ("output", "wanted", "expected", "folder"),
    [
        ("a.tsv", None, "tsv", False),
        ("a", None, "tsv", False),
        ("a.csv", None, "csv", False),
        ("a.CSV", "csv", "csv", False),
        ("tracks.v2", "bigwig", "bigwig", True),
        ("a.scores", "bed", "bed", False),
        ("a.BED", None, "bed", False),
        ("a.bw", None, "bigwig", False),
        ("a.bigWig", "bigwig", "bigwig", False),
        ("tracks", "bigwig", "bigwig", True),
        ("a.h5", None, "hdf5", False),
    ],
)
def test_the_suffix_tells_the_format(tmp_path, output, wanted, expected, folder):
    assert chosen_target(tmp_path / output, wanted) == Target(tmp_path / output, expected, folder)


def test_what_cannot_be_written_is_refused_before_scoring(tmp_path):
    (tmp_path / "folder.tsv").mkdir()
    (tmp_path / "file").write_text("")
    for output, wanted, message in (
        ("a.bed", "tsv", r"a.bed has the suffix of bed, but format is tsv"),
        ("a.tsv.gz", None, "files are written uncompressed; leave out .gz"),
        ("a.csv", "bigwig", r"a.csv has the suffix of csv, but format is bigwig"),
        (
            "a.xlsx",
            None,
            r"a.xlsx: .xlsx is not the suffix of a format that is written here; end the "
            r"name in \.tsv, \.txt, \.csv, \.bed, \.bw, \.bigwig, \.h5 or \.hdf5",
        ),
        ("a.xlsx", "tsv", r"a.xlsx: .xlsx is not the suffix of a format that is written here"),
        ("a.xlsx", "bigwig", r"a.xlsx: .xlsx is not the suffix of a format that is written here"),
        ("a.scores", None, r"a.scores: .scores is not the suffix of a format"),
        ("folder.tsv", None, "folder.tsv: this is a folder; expected the name of a file"),
        ("file", "bigwig", "file: this is not a regular file|file: this is not a folder"),
        ("file/below.tsv", None, "cannot write it"),
        ("x" * 300, None, "cannot write it: File name too long"),
    ):
        with pytest.raises(OutputError if "a." not in output else InputError, match=message):
            chosen_target(tmp_path / output, wanted)
    with pytest.raises(OutputError, match="this is not a regular file"):
        chosen_target("/dev/null")
    with pytest.raises(InputError, match="a bigWig file holds one label, and these are 2"):
        chosen_target(tmp_path / "a.bw").check_labels(["a", "b"])


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_without_permission_is_refused_before_scoring(tmp_path):
    tmp_path.chmod(0o555)
    with pytest.raises(OutputError, match="no permission to write in"):
        check_can_write(tmp_path / "a.tsv")


def written(path, frames):
    about = WriteContext(
        ["CTCF", "DNase|é"],
        dict,
        settings={"window": 200, "labels": ["CTCF", "DNase|é"]},
        assembly="GRCh37",
        files={"fasta": path.parent / "in.fa"},
        checksums={"model": ["ab"]},
    )
    with open_partial_results(path, {}, resume=False) as stored:
        for first, last in frames:
            stored.append(frame_of(WINDOWS[first:last], VALUES[first:last]))
        write(Target(path, "hdf5"), stored, about)
    return path


def test_hdf5_holds_every_window_and_where_it_comes_from(tmp_path):
    (tmp_path / "in.fa").write_text(">a\nACGT\n")
    path = written(tmp_path / "x.h5", [(0, 9)])
    with h5py.File(path) as file:
        assert dict(file.attrs) == {
            "format": "dna-bigbird predictions",
            "format_version": 1,
            "assembly": "GRCh37",
            "command": "predict --window 200 --labels 'CTCF,DNase|é'",
            "inputs": json.dumps(
                {"fasta": hashlib.sha256(b">a\nACGT\n").hexdigest(), "model": ["ab"]}
            ),
        }
        assert [x.decode() for x in file["labels/name"]] == ["CTCF", "DNase|é"]
        assert [x.decode() for x in file["rows/sequence"]] == [w.name for w in WINDOWS]
        np.testing.assert_array_equal(file["rows/start"], [w.start for w in WINDOWS])
        np.testing.assert_array_equal(file["rows/end"], [w.end for w in WINDOWS])
        np.testing.assert_array_equal(file["probabilities"], VALUES)


def test_commas_quotes_and_tabs_in_names_come_back_from_csv(tmp_path):
    labels = ['K562,"CTCF"', "DNase|é"]
    windows = [Window("chr1", 0, 9, "", row_name=name) for name in ("a,b", '"', "x  y", "")]
    values = np.array([[0.123456789, np.nan]] * 4, np.float32)
    for format in ("tsv", "csv"):
        path = tmp_path / f"x.{format}"
        with open_partial_results(path, {}, resume=False) as stored:
            stored.append(frame_of(windows, values))
            write(Target(path, format), stored, WriteContext(labels, dict))
    expected = [["sequence", "start", "end", *labels, "name"]]
    expected += [["chr1", "0", "9", "0.12346", "nan", window.row_name] for window in windows]
    with open(tmp_path / "x.csv", newline="", encoding="utf-8") as stream:
        assert list(csv.reader(stream)) == expected
    lines = (tmp_path / "x.tsv").read_text(encoding="utf-8").split("\n")
    assert [line.split("\t") for line in lines[:-1]] == expected


def test_hdf5_does_not_show_how_the_rows_came(tmp_path):
    (tmp_path / "in.fa").write_text(">a\nACGT\n")
    once = written(tmp_path / "a.h5", [(0, 9)]).read_bytes()
    assert written(tmp_path / "b.h5", [(0, 1), (1, 7), (7, 9)]).read_bytes() == once
    with h5py.File(written(tmp_path / "c.h5", [])) as file:
        assert file["probabilities"].shape == (0, 2)
