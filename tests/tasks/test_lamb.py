"""LAMB against its algorithm written out."""

import pytest
import torch
from torch import nn

from dna_bigbird.models.train_config import TrainConfig
from dna_bigbird.training.optimisation import build_optimizer


def config(**settings):
    fixed = {
        "optimizer": "lamb",
        "schedule": "constant",
        "learning_rate": 0.05,
        "weight_decay": 0.1,
    }
    return TrainConfig(**fixed | settings)


@pytest.mark.parametrize("decay", [0.1, 0.0])
def test_it_is_the_published_rule(decay):
    """You et al. 2020, algorithm 2 in float64; biases are neither decayed nor scaled."""
    torch.manual_seed(0)
    model = nn.Linear(3, 4).double()
    weight, bias = (p.detach().clone() for p in (model.weight, model.bias))
    optimizer, schedule = build_optimizer(model, config(weight_decay=decay))
    moments = [[torch.zeros_like(x), torch.zeros_like(x)] for x in (weight, bias)]
    for t, x in enumerate(torch.randn(5, 6, 3, dtype=torch.float64), start=1):
        optimizer.zero_grad()
        model(x).square().sum().backward()
        optimizer.step()
        schedule.step()
        out = x @ weight.T + bias
        for value, grad, pair in zip(
            (weight, bias), (2 * out.T @ x, 2 * out.sum(0)), moments, strict=True
        ):
            pair[0] = 0.9 * pair[0] + 0.1 * grad
            pair[1] = 0.999 * pair[1] + 0.001 * grad**2
            update = (pair[0] / (1 - 0.9**t)) / ((pair[1] / (1 - 0.999**t)).sqrt() + 1e-6)
            ratio = 1.0
            if value.ndim == 2:
                update = update + decay * value
                ratio = value.square().sum().sqrt() / update.square().sum().sqrt()
            value -= 0.05 * ratio * update
    torch.testing.assert_close((model.weight.detach(), model.bias.detach()), (weight, bias))


def test_a_matrix_of_zeros_leaves_zero():
    """Its norm is 0, so the update is taken as it is: Adam's first step, the rate itself."""
    model = nn.Linear(2, 2, bias=False)
    nn.init.zeros_(model.weight)
    optimizer, _ = build_optimizer(model, config())
    model(torch.ones(1, 2)).sum().backward()
    optimizer.step()
    torch.testing.assert_close(model.weight.detach(), torch.full((2, 2), -0.05))


def test_a_matrix_moves_by_the_rate_times_its_norm():
    """Whatever the size of the gradient."""
    for scale in (1e-3, 1e3):
        torch.manual_seed(0)
        model = nn.Linear(5, 7)
        before = model.weight.detach().clone()
        optimizer, _ = build_optimizer(model, config(weight_decay=0.0))
        (scale * model(torch.randn(3, 5)).square().sum()).backward()
        optimizer.step()
        moved = (model.weight.detach() - before).norm()
        assert float(moved) == pytest.approx(0.05 * float(before.norm()), rel=1e-3)
