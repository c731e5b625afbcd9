"""Processes that train together: the errors a user reads, the lock that no fork keeps."""

import os

import pytest

from dna_bigbird.errors import InputError
from dna_bigbird.tasks import peers
from dna_bigbird.tasks.run_folder import locked


def test_a_lost_connection_is_one_line():
    text = "[pair.cc:537] Read error [127.0.0.1]:4514:\n Connection closed by peer"
    with (
        pytest.raises(InputError, match=r"another process .* ended.*\(\[pair.cc:537\] Read error"),
        peers.readable_loss(2),
    ):
        raise RuntimeError(text)


@pytest.mark.parametrize(("processes", "text"), [(1, "gloo failed"), (2, "shapes do not match")])
def test_other_errors_stay_what_they_are(processes, text):
    with pytest.raises(RuntimeError, match=text), peers.readable_loss(processes):
        raise RuntimeError(text)


def test_a_process_whose_starter_is_gone_ends(monkeypatch):
    monkeypatch.setenv(peers.STARTER, "1")
    monkeypatch.setattr("ctypes.CDLL", lambda _: type("C", (), {"prctl": lambda *_: 0}))
    with pytest.raises(InputError, match="the first process of this run has ended"):
        peers.end_with_the_first(is_first=False)


def test_the_first_process_leaves_its_number(monkeypatch):
    monkeypatch.setenv(peers.STARTER, "?")
    peers.end_with_the_first(is_first=True)
    assert os.environ[peers.STARTER] == str(os.getpid())


@pytest.mark.parametrize(
    ("variables", "first"),
    [
        ({}, True),
        ({"LOCAL_RANK": "0"}, True),
        ({"LOCAL_RANK": "3"}, False),
        ({"SLURM_LOCALID": "0"}, True),
        ({"SLURM_LOCALID": "2"}, False),
        (
            {"SLURM_LOCALID": "0", "LOCAL_RANK": "1"},
            False,
        ),  # Lightning's child in a job of one task
    ],
)
def test_the_first_process_of_a_machine(monkeypatch, variables, first):
    for name in ("LOCAL_RANK", "SLURM_LOCALID"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert peers.is_first_on_node() is first


def test_a_forked_child_does_not_keep_the_lock(tmp_path):
    """A data worker may outlive a killed run by seconds."""
    begun_reads, begun_writes = os.pipe()
    ends_reads, ends_writes = os.pipe()
    with locked(tmp_path):
        child = os.fork()
        if child == 0:
            os.close(ends_writes)
            os.write(begun_writes, b".")
            os.read(ends_reads, 1)  # until the parent closes its end
            os._exit(0)
        os.read(begun_reads, 1)
    try:
        with locked(tmp_path):
            pass
    finally:
        os.close(ends_writes)
        os.waitpid(child, 0)
        for descriptor in (begun_reads, begun_writes, ends_reads):
            os.close(descriptor)
