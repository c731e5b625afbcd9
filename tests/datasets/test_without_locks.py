"""Files where the file system has no locks, and where another program holds one."""

import fcntl
from pathlib import Path

import h5py
import pytest

from dna_bigbird.core.hdf5 import new_hdf5, read_hdf5
from tests.no_locks import ERRORS, run, without_locks
from tests.tiny_bundle import draw_dna, write_pretrained_bundle

READ = (
    "import sys; from dna_bigbird.core.hdf5 import read_hdf5; print(read_hdf5(sys.argv[1])['x'][0])"
)


def written(path: Path) -> Path:
    with new_hdf5(path) as file:
        file["x"] = [7]
    return path


@pytest.mark.parametrize("error", ERRORS)
def test_a_file_is_read_without_locks(tmp_path, error):
    done = run(without_locks(tmp_path, error), "-c", READ, written(tmp_path / "x.h5"))
    assert (done.stdout, done.returncode) == ("7\n", 0), done.stderr[-2000:]


def test_the_variable_is_named_if_it_demands_a_lock(tmp_path):
    environment = without_locks(tmp_path, "ENOLCK") | {"HDF5_USE_FILE_LOCKING": "TRUE"}
    done = run(environment, "-m", "dna_bigbird", "info", written(tmp_path / "x.h5"))
    assert done.returncode == 2
    assert "x.h5: cannot read it: its file system has no locks" in done.stderr
    assert "HDF5_USE_FILE_LOCKING=FALSE" in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize("locking", [None, True, False, "best-effort"])
def test_a_file_that_the_caller_has_open(tmp_path, locking):
    """HDF5 opens a file twice in a process only with one setting."""
    path = written(tmp_path / "x.h5")
    with h5py.File(path, "r", locking=locking), read_hdf5(path) as file:
        assert file["x"][0] == 7


def test_a_file_that_another_program_writes_is_not_read(tmp_path):
    path = written(tmp_path / "x.h5")
    with open(path, "rb") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        with pytest.raises(BlockingIOError, match="lock"):
            read_hdf5(path)


@pytest.mark.slow
@pytest.mark.parametrize("error", ERRORS)
def test_from_a_table_to_predictions_without_locks(tmp_path, error):
    table, genome, labelled, model, predictions = (
        tmp_path / name for name in ("table.tsv", "genome.fa", "set.h5", "model", "rows.h5")
    )
    rows = [f"{draw_dna(60, seed)}\t{seed % 2}" for seed in range(200)]
    table.write_text("\n".join(["sequence\tlabel", *rows]) + "\n")
    genome.write_text(f">chr1\n{draw_dna(500, seed=1)}\n")
    encoder = write_pretrained_bundle(tmp_path / "encoder")
    environment = without_locks(tmp_path, error)
    for argv in (
        ["sequence-set", "--input", table, "--output", labelled],
        ["info", labelled],
        ["finetune", "--data", labelled, "--pretrained", encoder, "--output", model,
         "--checkpoints", tmp_path / "checkpoints", "--training.max_steps", 3],
        ["evaluate", "--data", labelled, "--model", model, "--output", tmp_path / "scored"],
        ["predict", "--fasta", genome, "--model", model, "--output", predictions],
        ["embed", "--fasta", genome, "--model", model, "--output", tmp_path / "vectors.h5"],
    ):  # fmt: skip
        done = run(environment, "-m", "dna_bigbird", *argv)
        assert done.returncode == 0, done.stderr[-2000:]
    with h5py.File(predictions) as file:
        assert len(file["probabilities"])
