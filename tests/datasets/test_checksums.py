"""Checksums of labelled sets, scores and stores: damage is one line, files without them a note."""

import json

import h5py
import numpy as np
import pytest

from dna_bigbird.core import hdf5
from dna_bigbird.core.errors import InputError
from dna_bigbird.core.hdf5 import DATASETS, HEADER, TEXTS, new_hdf5
from dna_bigbird.corpus.token_store import TokenStore
from dna_bigbird.genome import Interval
from dna_bigbird.labelled.labelled_set import LabelledData, LabelledSet, write_labelled_set
from dna_bigbird.labelled.scores import LabelScores, read_scores, write_scores


@pytest.fixture
def labelled(tmp_path, toy):
    """Path of a set with stored sequences, pairs and bins."""
    data = LabelledData(
        task="chromatin",
        window_bp=10,
        label_names=["a", "b"],
        label_groups=["TF", "HM"],
        intervals=[Interval("chr1", 100 * i, 100 * i + 10) for i in range(6)],
        names=list("uvwxyz"),
        labels=np.array([[1, 0], [0, 0], [1, 1], [0, 1], [0, 0], [1, 0]]),
        split=np.array([0, 0, 0, 1, 1, 2]),
        sequences=np.frombuffer(b"ACGTACGTAC", np.uint8).reshape(1, 10),
        stored=np.array([-1, -1, 0, -1, -1, -1]),
        pair=np.arange(6),
        bin_starts=np.arange(6),
        bin_bp=4,
    )
    path = tmp_path / "set.h5"
    write_labelled_set(path, data, toy, assembly="toy", command="c", inputs={"genome": "0"})
    return path


@pytest.fixture
def scores(tmp_path):
    """Path of a file of scores."""
    path = tmp_path / "scores.h5"
    values = np.linspace(0, 1, 6, dtype=np.float32).reshape(3, 2)
    write_scores(path, LabelScores("kmer", "text", ["a", "b"], np.array([2, 5, 9]), values, "abc"))
    return path


READERS = {"labelled": LabelledSet, "scores": read_scores}


@pytest.fixture(params=READERS)
def readable(request):
    """(path, reader) of each format."""
    return request.getfixturevalue(request.param), READERS[request.param]


def datasets_of(path) -> list[str]:
    names: list[str] = []
    with h5py.File(path) as file:
        file.visititems(lambda name, x: names.append(name) if isinstance(x, h5py.Dataset) else None)
    return names


def test_a_file_of_another_format_is_named(labelled, scores):
    for path, read, found in (
        (scores, LabelledSet, "scores"),
        (labelled, read_scores, "labelled set"),
        (scores, TokenStore, "scores"),
    ):
        with pytest.raises(InputError, match=rf"{path.name}: .* is 'dna-bigbird {found}'; make"):
            read(path)


def test_every_dataset_is_covered(readable):
    path, read = readable
    intact = path.read_bytes()
    with h5py.File(path) as file:
        assert sorted(json.loads(file.attrs[DATASETS])) == sorted(datasets_of(path))
    for name in datasets_of(path):
        path.write_bytes(intact)
        with h5py.File(path, "r+") as file:
            raw = bytearray(file[name][:].tobytes())
            raw[-1] ^= 1
            shape, dtype = file[name].shape, file[name].dtype
            file[name][:] = np.frombuffer(bytes(raw), dtype).reshape(shape)
        with pytest.raises(InputError, match=rf"{path.name}: damaged: the sha256 of {name} is .*…"):
            read(path)


def test_every_attribute_is_covered(readable):
    path, read = readable
    intact = path.read_bytes()
    with h5py.File(path) as file:
        texts = json.loads(file.attrs[TEXTS])
        assert texts == {n: v for n, v in file.attrs.items() if isinstance(v, str)}
        numbers = set(file.attrs) - {TEXTS, DATASETS, HEADER, "format_version", *texts}
    for name in [*(texts.keys() - {"format"}), *numbers, DATASETS]:
        path.write_bytes(intact)
        with h5py.File(path, "r+") as file:
            if name in texts:
                other = texts | {name: texts[name] + "x"}
                file.attrs[TEXTS] = np.bytes_(json.dumps(other, sort_keys=True))
            else:
                value = file.attrs[name]
                file.attrs[name] = value + (b"x" if isinstance(value, bytes) else 1)
        with pytest.raises(
            InputError, match=rf"{path.name}: damaged: the sha256 of its attributes"
        ):
            read(path)


def test_text_without_checksum_is_not_read(readable):
    """Damage there made HDF5 loop for ever (tests/fuzz/test_fuzz_hdf5.py); others read it as str."""
    path, read = readable
    with h5py.File(path) as file:
        before = hdf5.read_attributes(file)
    raw = path.read_bytes()
    heap = raw.index(b"GCOL")
    path.write_bytes(raw[:heap] + bytes(4096)[: len(raw) - heap] + raw[heap + 4096 :])
    read(path)
    with h5py.File(path) as file:
        assert hdf5.read_attributes(file) == before


def test_attributes_come_back_whatever_their_length(tmp_path):
    """More than 64 KB do not fit into the header of a group."""
    attributes = {"a": "", "b": "ä" * 50_000, "c": "x\n y", "d": -3}
    with new_hdf5(tmp_path / "a.h5") as file:
        file.attrs.update(attributes)
        hdf5.write_checksums(file, {})
    with h5py.File(tmp_path / "a.h5") as file:
        assert {name: file.attrs[name] for name in attributes} == attributes
        read = hdf5.read_attributes(file)
        assert {name: read[name] for name in attributes} == attributes


def test_a_dataset_cannot_disappear(labelled):
    with h5py.File(labelled, "r+") as file:
        del file["rows/pair"]  # is optional
    with pytest.raises(InputError, match=r"set\.h5: damaged: the sha256 of its attributes"):
        LabelledSet(labelled)


def test_another_process_may_have_verified_the_data(labelled):
    with h5py.File(labelled, "r+") as file:
        file["rows/split"][0] = 2
    assert LabelledSet(labelled, verify=False).split[0] == 2
    with pytest.raises(InputError, match="the sha256 of rows/split is"):
        LabelledSet(labelled)


def test_files_of_earlier_versions_are_read_with_a_note(readable, capsys):
    path, read = readable
    with h5py.File(path, "r+") as file:
        del file.attrs[HEADER], file.attrs[DATASETS], file.attrs[TEXTS]
    for _ in range(2):
        read(path)
    note = f"dna-bigbird: note: {path}: made by an earlier version: it has no checksums, "
    assert capsys.readouterr().err.count(note) == 1
    read(path)
    assert capsys.readouterr() == ("", "")


def test_intact_files_say_nothing(readable, capsys):
    path, read = readable
    read(path)
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (PermissionError(13, "no"), "cannot read it: Permission denied"),
        (
            OSError("Can't read (file read failed: errno = 5, error message = 'x')"),
            "cannot read it: I",
        ),
        (OSError("bad heap"), "damaged: bad heap; build the set again"),
        (MemoryError(), "not enough memory to read it"),
    ],
)
def test_a_failing_disk_is_not_called_damage(labelled, monkeypatch, error, message):
    def failing(*_):
        raise error

    monkeypatch.setattr("dna_bigbird.labelled.labelled_set.texts_of", failing)
    with pytest.raises(InputError, match=rf"set\.h5: {message}"):
        LabelledSet(labelled)


def test_damage_met_in_the_middle_of_a_run_is_one_line(labelled, toy):
    made = LabelledSet(labelled, toy)
    labelled.write_bytes(labelled.read_bytes()[:2000])
    with pytest.raises(
        InputError, match=r"set\.h5: (damaged|not an HDF5 file).*build the set again"
    ):
        made.sequence(2)
    with pytest.raises(InputError, match=r"set\.h5: not an HDF5 file, or one cut short"):
        _ = made.packed_labels


def test_data_are_hashed_in_blocks_of_bounded_size(labelled, monkeypatch):
    """Whatever the size of the blocks, the checksum is that of all bytes in order."""
    for size in (1, 7, 24, 1 << 24):
        monkeypatch.setattr(hdf5, "BLOCK_BYTES", size)
        LabelledSet(labelled)
    monkeypatch.setattr(hdf5, "BLOCK_BYTES", 1000)
    with h5py.File(labelled, "w") as file:
        for name, chunks in (("plain", None), ("chunked", (30, 4))):
            dataset = file.create_dataset(name, (1000, 4), np.int64, chunks=chunks)
            rows = [x.stop - x.start for x in hdf5._blocks(dataset)]
            assert max(rows) * 32 <= 1000
            assert rows[0] % 30 == 0 or chunks is None
