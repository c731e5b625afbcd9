"""The schedule and the optimizer of summarization: inverse square root, Adafactor."""

import copy
import math

import pytest
import torch
from torch import nn

from dna_bigbird.models.train_config import TrainConfig
from dna_bigbird.training.optimisation import build_optimizer, learning_rate_factor


@pytest.mark.parametrize("step", [0, 1, 5000, 10000, 20000, 300000])
def test_inverse_sqrt_is_the_published_formula(step):
    """lr0 = 0.32, H = 1024, W = 10000: the largest rate is 1e-4, reached at W."""
    lr0, hidden, warmup = 0.32, 1024, 10000
    published = lr0 / math.sqrt(hidden) * min(1, step / warmup) / math.sqrt(max(step, warmup))
    factor = learning_rate_factor(
        step, warmup_steps=warmup, max_steps=300000, schedule="inverse_sqrt"
    )
    assert 1e-4 * factor == pytest.approx(published, rel=1e-12)


def test_schedules_at_twice_the_warm_up():
    factors = [
        learning_rate_factor(200, warmup_steps=100, max_steps=1000, schedule=name)
        for name in ("linear", "inverse_sqrt", "constant")
    ]
    assert factors == pytest.approx([8 / 9, math.sqrt(0.5), 1.0])


def test_beta2_reaches_adam():
    optimizer, _ = build_optimizer(nn.Linear(2, 2), TrainConfig(beta2=0.98))
    assert optimizer.defaults["betas"] == (0.9, 0.98)


def train(model, optimizer, schedule, batches):
    for x in batches:
        optimizer.zero_grad()
        model(x).square().sum().backward()
        optimizer.step()
        schedule.step()


def test_adafactor_is_the_published_rule():
    """Shazeer and Stern 2018, algorithm 4 written out in float64, for a matrix and a vector."""
    config = TrainConfig(
        optimizer="adafactor", schedule="constant", learning_rate=0.05, weight_decay=0.0
    )
    torch.manual_seed(0)
    model = nn.Linear(3, 4).double()
    weight, bias = (p.detach().clone() for p in (model.weight, model.bias))
    optimizer, schedule = build_optimizer(model, config)
    rows = cols = var = 0.0
    for t, x in enumerate(1e-3 * torch.randn(4, 5, 3, dtype=torch.float64), start=1):
        train(model, optimizer, schedule, [x])
        out = x @ weight.T + bias
        grads = (2 * out.T @ x, 2 * out.sum(0))
        keep = 1 - t**-0.8
        rows = keep * rows + (1 - keep) * (grads[0] ** 2 + 1e-30).mean(1)
        cols = keep * cols + (1 - keep) * (grads[0] ** 2 + 1e-30).mean(0)
        var = keep * var + (1 - keep) * (grads[1] ** 2 + 1e-30)
        updates = (grads[0] / (rows[:, None] * cols / rows.mean()).sqrt(), grads[1] / var.sqrt())
        for value, update in zip((weight, bias), updates, strict=True):
            size = max(1e-3, value.square().mean().sqrt().item())
            value -= 0.05 * size * update / max(1.0, update.square().mean().sqrt().item())
    torch.testing.assert_close((model.weight.detach(), model.bias.detach()), (weight, bias))


def test_rows_that_no_token_used_stay_finite():
    """Half of the table has no gradient at all."""
    table = nn.Embedding(8, 4)
    optimizer, _ = build_optimizer(table, TrainConfig(optimizer="adafactor", weight_decay=0.0))
    before = table.weight.detach().clone()
    table(torch.arange(4)).sum().backward()
    optimizer.step()
    assert torch.equal(table.weight[4:], before[4:])
    assert (table.weight[:4] < before[:4]).all()


@pytest.mark.parametrize("name", ["adamw", "adafactor", "lamb"])
def test_optimizers_resume_bit_by_bit(name):
    config = TrainConfig(optimizer=name, schedule="inverse_sqrt", warmup_steps=2, max_steps=100)
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 2))
    batches = torch.randn(6, 5, 3)
    whole, halves = copy.deepcopy(model), copy.deepcopy(model)
    train(whole, *build_optimizer(whole, config), batches)
    optimizer, schedule = build_optimizer(halves, config)
    train(halves, optimizer, schedule, batches[:3])
    states = copy.deepcopy([x.state_dict() for x in (halves, optimizer, schedule)])
    fresh = copy.deepcopy(model)
    again = (fresh, *build_optimizer(fresh, config))
    for part, state in zip(again, states, strict=True):
        part.load_state_dict(state)
    train(*again, batches[3:])
    assert all(
        torch.equal(a, b) for a, b in zip(whole.parameters(), fresh.parameters(), strict=True)
    )
