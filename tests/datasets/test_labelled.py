"""Reading labelled sets and scores: contents, pickling, forks, refusals."""

import functools
import json
import multiprocessing
import pickle

import h5py
import numpy as np
import pytest
import torch

from dna_bigbird.cli.main import main
from dna_bigbird.core.errors import InputError
from dna_bigbird.core.files import sha256_of
from dna_bigbird.genome import Genome, Interval, reverse_complement
from dna_bigbird.genome.windows import Windows
from dna_bigbird.labelled.labelled_data import PackedLabels
from dna_bigbird.labelled.labelled_set import (
    LabelledData,
    LabelledSet,
    open_labelled_set,
    write_labelled_set,
)
from dna_bigbird.labelled.scores import LabelScores, read_scores, write_scores


def write(path, genome, assembly="toy", sha256="0"):
    stored = np.frombuffer(b"ACGTACGTAC" * 2, np.uint8).reshape(2, 10)
    data = LabelledData(
        task="promoter",
        window_bp=10,
        label_names=["ä", "b"],
        label_groups=["TF", "HM"],
        intervals=[
            Interval("chr1", 100, 110, "-"),
            Interval("chr1", 100, 110, "-"),
            Interval("chr2", 7, 17, "+"),
            Interval("chr2", 7, 17, "+"),
        ],
        names=["GENE_1", "GENE_1", "", "x"],
        labels=np.array([[1, 0], [0, 0], [1, 1], [0, 1]], np.uint8),
        split=np.array([0, 0, 2, 1], np.uint8),
        sequences=stored,
        stored=np.array([-1, 1, -1, 0]),
        counts={"read": 4},
    )
    inputs = {"genome": sha256}
    write_labelled_set(path, data, genome, assembly=assembly, command="x", inputs=inputs)
    return path


def test_what_is_written_comes_back(tmp_path, toy):
    made = LabelledSet(write(tmp_path / "s.h5", toy), toy)
    assert len(made) == 4
    assert (made.label_names, made.label_groups) == (["ä", "b"], ["TF", "HM"])
    assert made.rows("train").tolist() == [0, 1]
    assert (made.rows("validation").tolist(), made.rows(2).tolist()) == ([3], [2])
    assert made.interval(0) == Interval("chr1", 100, 110, "-")
    assert made.sequence(0) == reverse_complement(toy.fetch(Interval("chr1", 100, 110)))
    assert made.sequence(3) == "ACGTACGTAC"
    assert (made.name(0), made.name(2)) == ("GENE_1", "")
    assert made.pairs.tolist() == [0, 0, 1, 1]
    assert made.counts == {"read": 4}
    assert made.bin_starts is None
    assert not made.is_semi_synthetic
    assert LabelledSet(write(tmp_path / "d.h5", toy, "demo22 (x)"), toy).is_semi_synthetic


def test_without_a_genome_only_stored_bases_are_there(tmp_path, toy):
    made = LabelledSet(write(tmp_path / "s.h5", toy))
    assert made.labels.sum() == 4
    assert made.sequence(1) == "ACGTACGTAC"
    with pytest.raises(ValueError, match="the bases of row 0 need the genome"):
        made.sequence(0)


def _sequences(made):
    return [made.sequence(i) for i in range(4)]


def test_pickled_and_forked_readers_agree(tmp_path, toy):
    made = LabelledSet(write(tmp_path / "s.h5", toy), toy)
    expected = _sequences(made)  # opens the file before it is handed on
    assert _sequences(pickle.loads(pickle.dumps(made))) == expected
    with multiprocessing.get_context("fork").Pool(2) as pool:
        assert pool.map(_sequences, [made] * 4) == [expected] * 4


def test_another_genome_is_refused(tmp_path, toy):
    path = write(tmp_path / "s.h5", toy)
    text = toy.path.read_text()
    longer, changed = tmp_path / "longer.fa", tmp_path / "changed.fa"
    longer.write_text(text.replace("\n>chr2", "A\n>chr2"))
    with pytest.raises(InputError, match=r"chr1 has 20,000 bp, but it has 20,001 bp in longer\.fa"):
        LabelledSet(path, Genome(longer))
    start = text.index("\n") + 1 + 104
    other = "A" if text[start] != "A" else "C"
    changed.write_text(text[:start] + other + text[start + 1 :])
    with pytest.raises(InputError, match=r"changed\.fa has other bases in its windows"):
        LabelledSet(path, Genome(changed))


def test_another_file_with_the_same_windows_is_told(tmp_path, toy, capsys):
    """No window is on the last base of chr2, so only the checksum of the file tells."""
    path = write(tmp_path / "s.h5", toy, sha256=sha256_of(toy.path))
    open_labelled_set(path, toy)
    assert capsys.readouterr().err == ""
    text = toy.path.read_text()
    end = text.index("\n>chrS") - 1
    changed = tmp_path / "changed.fa"
    changed.write_text(text[:end] + ("A" if text[end] != "A" else "C") + text[end + 1 :])
    open_labelled_set(path, Genome(changed))
    note = "s.h5: made from another FASTA file than changed.fa. The lengths of the chromosomes and"
    assert capsys.readouterr().err.count(note) == 1


def test_files_that_are_no_labelled_set(tmp_path, toy):
    with pytest.raises(InputError, match=r"gone\.h5: no such labelled set"):
        LabelledSet(tmp_path / "gone.h5")
    (tmp_path / "text.h5").write_text("no")
    with pytest.raises(InputError, match=r"text\.h5: not an HDF5 file, or one cut short"):
        LabelledSet(tmp_path / "text.h5")
    with h5py.File(tmp_path / "other.h5", "w") as file:
        file["x"] = 1
    with pytest.raises(InputError, match=r"other\.h5: this HDF5 file is not a labelled set"):
        LabelledSet(tmp_path / "other.h5")
    path = write(tmp_path / "s.h5", toy)
    with h5py.File(path, "a") as file:
        file.attrs["format_version"] = 99
    with pytest.raises(InputError, match=r"s\.h5: format version 99, this program reads 2"):
        LabelledSet(path)


def test_scores(tmp_path):
    values = np.array([[0.1, 0.2], [0.3, 0.4], [0.5, 0.6]], np.float32)
    scores = LabelScores("kmer", "about it", ["a", "b"], np.array([2, 5, 9]), values, "abc")
    for name in ("s.h5", "t.h5"):
        write_scores(tmp_path / name, scores)
    assert (tmp_path / "s.h5").read_bytes() == (tmp_path / "t.h5").read_bytes()
    back = read_scores(tmp_path / "s.h5")
    assert (back.name, back.description, back.label_names) == ("kmer", "about it", ["a", "b"])
    assert back.set_sha256 == "abc"
    assert (back.of(np.array([9, 2])) == values[[2, 0]]).all()
    for missing in ([3], [10], [0]):
        with pytest.raises(InputError, match="the kmer scores lack rows of the labelled set"):
            back.of(np.array(missing))
    with h5py.File(tmp_path / "other.h5", "w") as file:
        file["x"] = 1
    with pytest.raises(InputError, match=r"other\.h5: .* not a file of scores"):
        read_scores(tmp_path / "other.h5")
    with pytest.raises(InputError, match=r"gone\.h5: no such file of scores"):
        read_scores(tmp_path / "gone.h5")


def test_labels_are_packed_in_the_file_and_in_memory(tmp_path, toy):
    """919 labels take 115 bytes a row, and any rows come back as they were."""
    rng = np.random.default_rng(1)
    labels = (rng.random((300, 919)) < 0.1).astype(np.uint8)
    data = LabelledData(
        task="chromatin",
        window_bp=10,
        label_names=["x"] * 919,
        label_groups=["g"] * 919,
        intervals=Windows(("chr2", "chr1"), rng.integers(0, 2, 300), np.arange(-5, 295), 10),
        names=[],
        labels=labels,
        split=np.zeros(300),
        label_cells=["K562"] * 919,
    )
    write_labelled_set(tmp_path / "s.h5", data, toy, assembly="", command="", inputs={})
    made = LabelledSet(tmp_path / "s.h5", toy)
    with h5py.File(tmp_path / "s.h5") as file:
        assert file["labels/bits"].shape == (300, 115)
        unpacked = np.unpackbits(file["labels/bits"][:], axis=1, count=919)
    assert (unpacked == labels).all()
    assert made.packed_labels.bits.nbytes == 300 * 115
    some = np.array([7, 299, 0, 7])
    assert (made.labels_of(some) == labels[some]).all()
    assert (made.packed_labels[5] == labels[5]).all()
    assert made.packed_labels.positives().tolist() == labels.sum(axis=0).tolist()
    assert made.packed_labels.positives(some).tolist() == labels[some].sum(axis=0).tolist()
    assert [made.interval(i) for i in range(300)] == list(data.intervals)
    assert (made.label_cells[3], made.label_targets[3], made.name(3)) == ("K562", "", "")


def test_keeping_rows_keeps_what_belongs_to_them(tmp_path, toy):
    def read(data, name):
        write_labelled_set(tmp_path / name, data, toy, assembly="", command="", inputs={})
        return LabelledSet(tmp_path / name, toy)

    data = LabelledData(
        task="promoter",
        window_bp=4,
        label_names=["p"],
        label_groups=["p"],
        intervals=[Interval("chr1", 10 * i, 10 * i + 4, "-+"[i % 2]) for i in range(5)],
        names=list("abcde"),
        labels=np.array([[1], [0], [1], [0], [0]]),
        split=np.array([0, 0, 1, 1, 2]),
        sequences=np.frombuffer(b"AAAACCCCGGGG", np.uint8).reshape(3, 4),
        stored=np.array([-1, 2, -1, 0, 1]),
        pair=np.array([4, 4, 7, 7, 9]),
        counts={"read": 5},
    )
    whole = read(data, "whole.h5")
    for rows in ([1, 2, 4], [0, 2], [4, 3, 1], []):
        part = read(data.keep(np.array(rows, dtype=np.int64)), "part.h5")
        assert [part.sequence(i) for i in range(len(part))] == [whole.sequence(i) for i in rows]
        assert [part.name(i) for i in range(len(part))] == ["abcde"[i] for i in rows]
        assert part.labels.tolist() == whole.labels[rows].tolist()
        assert part.pairs.tolist() == [data.pair[i] for i in rows]
        assert part.split.tolist() == data.split[rows].tolist()
    assert len(data.keep(data.split == 1)) == 2


def _worker_sums(made, rows):
    return [(int(row), made.labels_of([row]).sum(), made.sequence(row)) for row in rows]


def test_data_loader_workers_read_the_same(tmp_path, toy):
    made = LabelledSet(write(tmp_path / "s.h5", toy), toy)
    expected = _worker_sums(made, range(4))  # opens the file before the workers start
    loader = torch.utils.data.DataLoader(
        range(4), batch_size=1, num_workers=2, collate_fn=functools.partial(_worker_sums, made)
    )
    assert [row for batch in loader for row in batch] == expected


def test_an_older_format_is_refused(tmp_path, toy):
    path = write(tmp_path / "s.h5", toy)
    with h5py.File(path, "a") as file:
        file.attrs["format_version"] = 1
    with pytest.raises(
        InputError, match=r"s\.h5: format version 1, .* reads 2, 3, 4 and 5; build the set"
    ):
        LabelledSet(path)


def test_windows_of_another_length_are_refused():
    with pytest.raises(ValueError, match="is 5 bp long, expected 4"):
        Windows.of([Interval("chr1", 0, 4), Interval("chr1", 1, 6)], 4)
    with pytest.raises(ValueError, match="labels must be 0 or 1"):
        PackedLabels.of([[0, 2]])


def test_info_describes_a_labelled_set(tmp_path, toy, capsys):
    main(["info", str(write(tmp_path / "s.h5", toy)), "--format", "json"])
    told = json.loads(capsys.readouterr().out)
    assert told["rows"] == {"train": 2, "validation": 1, "test": 1}
    assert told["labels_by_group"] == {"TF": 1, "HM": 1}
    assert told["first_labels"][0] == {"name": "ä", "group": "TF", "positives": 2}
    assert (told["window_bp"], told["counts"]) == (10, {"read": 4})
