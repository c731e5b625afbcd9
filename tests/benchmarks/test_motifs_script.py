"""benchmarks/motifs.py: the control's labels, and what counts as a planted matrix."""

import h5py
import numpy as np
import pytest

from dna_bigbird.core.hdf5 import dataset_digests, write_checksums


@pytest.fixture
def labelled(tmp_path):
    """A file with the two datasets that are read, 30 rows, each with labels of its own."""
    path = tmp_path / "set.h5"
    bits = np.arange(30, dtype=np.uint8)[:, None]
    with h5py.File(path, "w") as file:
        file["labels/bits"], file["rows/split"] = bits, np.repeat([0, 1, 2], 10).astype(np.uint8)
        write_checksums(file, dataset_digests(file, ["labels/bits", "rows/split"]))
    return path


def test_only_training_rows_change_their_labels(script, labelled, tmp_path):
    output = tmp_path / "shuffled.h5"
    script("motifs").shuffled_set(labelled, output, seed=0)
    with h5py.File(output) as file:
        rows = file["labels/bits"][:, 0].tolist()
    assert sorted(rows[:10]) == list(range(10)) != rows[:10]
    assert rows[10:] == list(range(10, 30))


def test_a_similar_matrix_counts_and_a_weak_match_does_not(script):
    rows = [
        {"matrix": "BACH1 MA1633.2", "q": "0.001"},
        {"matrix": "BACH1 MA1633.2", "q": "0.06"},
        {"matrix": "CTCF MA0139.2", "q": "0.001"},
        {"matrix": "", "q": ""},
    ]
    assert script("motifs").hits_of(rows, {"MA1633.2", "MA0099.4"}) == rows[:1]


def test_every_planted_matrix_has_a_label(script):
    planted = script("motifs").load_motifs()
    named = {name for names in script("motifs").LABELS.values() for name in names}
    assert named == planted.keys() - {"INR", "DPE"}
