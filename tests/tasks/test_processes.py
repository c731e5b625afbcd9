"""Processes that train together: the same first step, the same weights, one end, readable errors."""

import os
from types import SimpleNamespace

import pytest
import torch

from dna_bigbird.core.errors import InputError
from dna_bigbird.training import processes
from dna_bigbird.training.checkpoint_files import content_sha256
from dna_bigbird.training.processes import SameStart, check_agreement
from dna_bigbird.training.run_folder import locked


def test_a_lost_connection_is_one_line():
    text = "[pair.cc:537] Read error [127.0.0.1]:4514:\n Connection closed by peer"
    with (
        pytest.raises(InputError, match=r"another process .* ended.*\(\[pair.cc:537\] Read error"),
        processes.readable_loss(2),
    ):
        raise RuntimeError(text)


@pytest.mark.parametrize(("count", "text"), [(1, "gloo failed"), (2, "shapes do not match")])
def test_other_errors_stay_what_they_are(count, text):
    with pytest.raises(RuntimeError, match=text), processes.readable_loss(count):
        raise RuntimeError(text)


def test_a_process_whose_starter_is_gone_ends(monkeypatch):
    monkeypatch.setenv(processes.STARTER, str(os.getppid() + 1))
    monkeypatch.setattr("ctypes.CDLL", lambda _: type("C", (), {"prctl": lambda *_: 0}))
    with (
        pytest.raises(InputError, match="the first process of this run has ended"),
        processes.ended_with_the_first(is_first=False),
    ):
        pass


def test_the_first_process_leaves_its_number_while_it_trains():
    """Jobs of a cluster inherit the environment of whoever submits them, such as a notebook that has trained."""
    with processes.ended_with_the_first(is_first=True):
        assert os.environ[processes.STARTER] == str(os.getpid())
    assert processes.STARTER not in os.environ


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
    assert processes.is_first_on_node() is first


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


def start(monkeypatch, *steps):
    def gather(gathered, mine):
        assert mine == steps[0]
        gathered[:] = steps

    monkeypatch.setattr(torch.distributed, "all_gather_object", gather)
    trainer = SimpleNamespace(world_size=len(steps), global_step=steps[0])
    SameStart().on_train_start(trainer, pl_module=None)


def test_equal_steps_go_on(monkeypatch):
    start(monkeypatch, 200, 200, 200)


def test_one_process_asks_nobody():
    trainer = SimpleNamespace(world_size=1, global_step=7)
    SameStart().on_train_start(trainer, pl_module=None)


def test_different_steps_are_refused(monkeypatch):
    with pytest.raises(InputError, match=r"different steps \(200, 100, 200\).*disk that all nodes"):
        start(monkeypatch, 200, 100, 200)


def trained(seed=0):
    torch.manual_seed(seed)
    model = torch.nn.Linear(3, 2)
    optimizer = torch.optim.AdamW(model.parameters())
    model(torch.ones(1, 3)).sum().backward()
    optimizer.step()
    return model, optimizer


def checksum(model, optimizer):
    return content_sha256([model.state_dict(), optimizer.state_dict()])


def test_equal_states_have_equal_checksums():
    assert checksum(*trained()) == checksum(*trained())


@pytest.mark.parametrize("change", ["weight", "moment", "rate", "zero"])
def test_any_bit_counts(change):
    model, optimizer = trained()
    moments = optimizer.state[model.weight]
    moments["exp_avg"][0, 0] = 0.0
    before = checksum(model, optimizer)
    if change == "weight":
        model.bias.data[1] = model.bias.data[1].nextafter(torch.tensor(9.0))
    elif change == "moment":
        moments["exp_avg_sq"][0, 0] = 7.0
    elif change == "rate":
        optimizer.param_groups[0]["lr"] *= 0.5
    else:
        moments["exp_avg"][0, 0] = -0.0
    assert checksum(model, optimizer) != before


def pretend(monkeypatch, others):
    """A trainer of as many processes as `others` and this one."""
    model, optimizer = trained()
    mine = checksum(model, optimizer)

    def gather(gathered, given):
        gathered[:] = [given, *(mine if other is None else other for other in others)]

    monkeypatch.setattr(torch.distributed, "all_gather_object", gather)
    trainer = SimpleNamespace(
        world_size=1 + len(others), strategy=None, optimizers=[optimizer], is_global_zero=True
    )
    return trainer, SimpleNamespace(model=model), mine


def test_agreement_is_noted(monkeypatch, capsys):
    trainer, task, mine = pretend(monkeypatch, [None, None])
    assert check_agreement(trainer, task) == mine
    expected = f"dna-bigbird: note: weights are the same on all 3 processes: sha256 {mine}\n"
    assert capsys.readouterr().err == expected


def test_one_process_notes_its_weights(monkeypatch, capsys):
    trainer, task, mine = pretend(monkeypatch, [])
    check_agreement(trainer, task)
    assert capsys.readouterr().err == f"dna-bigbird: note: weights: sha256 {mine}\n"


def test_disagreement_is_an_error(monkeypatch):
    trainer, task, mine = pretend(monkeypatch, [None, "f" * 64])
    with pytest.raises(
        InputError, match=f"different weights .*process 1: {mine[:12]}, process 2: ffffffffffff"
    ):
        check_agreement(trainer, task)
