"""Processes that end with other weights than the first are noticed."""

from types import SimpleNamespace

import pytest
import torch

from dna_bigbird.errors import InputError
from dna_bigbird.tasks.agreement import check_agreement, sha256_of_state


def trained(seed=0):
    torch.manual_seed(seed)
    model = torch.nn.Linear(3, 2)
    optimizer = torch.optim.AdamW(model.parameters())
    model(torch.ones(1, 3)).sum().backward()
    optimizer.step()
    return model, optimizer


def checksum(model, optimizer):
    return sha256_of_state(model.state_dict(), optimizer.state_dict())


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

    def gather(found, given):
        found[:] = [given, *(mine if other is None else other for other in others)]

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
