"""Schedule and decay groups of the optimizer."""

import pytest
import torch
from torch import nn

from dna_bigbird.models.train_config import TrainConfig
from dna_bigbird.training.optimisation import (
    build_optimizer,
    learning_rate_factor,
    parameter_groups,
)


@pytest.mark.parametrize(("step", "factor"), [(0, 0.0), (100, 1.0), (200, 8 / 9), (1000, 0.0)])
def test_schedule_at_its_corners(step, factor):
    """W = 100 of 1000: at 2W the fall has used 100 of its 900 steps."""
    assert learning_rate_factor(step, warmup_steps=100, max_steps=1000) == pytest.approx(factor)


def test_schedule_without_warm_up_starts_at_its_height():
    assert learning_rate_factor(0, warmup_steps=0, max_steps=10) == 1.0


@pytest.mark.parametrize(
    ("step", "factor"),
    [
        (0, 0.0),
        (50, 0.5),
        (100, 1.0),
        (500, 1.0),
        (800, 1.0),
        (900, 0.5),
        (999, 1 / 200),
        (1000, 0),
    ],
)
def test_warm_up_stable_decay_at_its_corners(step, factor):
    """W = 100 of 1000, the last fifth of them, 200, falls."""
    found = learning_rate_factor(step, warmup_steps=100, max_steps=1000, schedule="stable_decay")
    assert found == pytest.approx(factor)


@pytest.mark.parametrize("step", [0, 99, 100, 500, 999, 1000])
def test_a_decay_over_everything_is_linear(step):
    """It cannot begin before the warm-up ends."""
    sizes = {"warmup_steps": 100, "max_steps": 1000}
    whole = learning_rate_factor(step, **sizes, schedule="stable_decay", decay_share=1.0)
    assert whole == learning_rate_factor(step, **sizes)


def test_a_decay_shorter_than_a_step_never_begins():
    share = {"schedule": "stable_decay", "decay_share": 0.01}
    factors = [learning_rate_factor(s, warmup_steps=0, max_steps=10, **share) for s in (0, 9, 10)]
    assert factors == [1.0, 1.0, 0.0]


def test_optimizer_follows_the_schedule():
    model = nn.Linear(2, 2)
    config = TrainConfig(max_steps=4, warmup_steps=2, learning_rate=0.1, validate_every=1)
    optimizer, schedule = build_optimizer(model, config)
    used = []
    for _ in range(4):
        used.append(optimizer.param_groups[0]["lr"])
        model(torch.ones(2)).sum().backward()
        optimizer.step()
        schedule.step()
    assert used == pytest.approx([0.0, 0.05, 0.1, 0.05])
    assert schedule.get_last_lr() == [0.0, 0.0]


def test_biases_and_norms_do_not_decay():
    model = nn.Sequential(nn.Embedding(5, 4), nn.Linear(4, 4), nn.LayerNorm(4))
    decaying, spared = parameter_groups(model, 0.01)
    assert {id(p) for p in decaying["params"]} == {id(model[0].weight), id(model[1].weight)}
    assert {id(p) for p in spared["params"]} == {
        id(model[1].bias),
        id(model[2].weight),
        id(model[2].bias),
    }
    assert (decaying["weight_decay"], spared["weight_decay"]) == (0.01, 0.0)


class TwoParts(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Linear(2, 2)
        self.head = nn.Linear(2, 2)


def test_what_stands_on_the_encoder_may_have_its_own_rate():
    """One step of Adam moves every weight by its learning rate."""
    model = TwoParts()
    config = TrainConfig(learning_rate=0.001, head_learning_rate=0.1, weight_decay=0.0)
    optimizer, schedule = build_optimizer(model, config)
    before = {name: p.detach().clone() for name, p in model.named_parameters()}
    sum(
        (p * torch.arange(1.0, p.numel() + 1).view_as(p)).sum() for p in model.parameters()
    ).backward()
    optimizer.step()
    for name, p in model.named_parameters():
        moved = (before[name] - p).detach()
        expected = torch.full_like(p, 0.1 if name.startswith("head") else 0.001)
        torch.testing.assert_close(moved, expected, rtol=1e-3, atol=1e-6, msg=name)
    assert [g["weight_decay"] for g in optimizer.param_groups] == [0.0] * 4
    schedule.step()
    factor = learning_rate_factor(1, warmup_steps=0, max_steps=config.max_steps)
    assert schedule.get_last_lr() == pytest.approx([0.001 * factor] * 2 + [0.1 * factor] * 2)


def test_examples_of_a_training():
    """7 steps of 2 passes of 3 examples in each of 2 x 5 processes."""
    config = TrainConfig(
        max_steps=7, validate_every=7, accumulate=2, batch_size=3, nodes=2, devices=5
    )
    assert config.num_examples == 7 * 2 * 3 * 10


def test_published_constants():
    optimizer, _ = build_optimizer(nn.Linear(2, 2), TrainConfig())
    assert optimizer.defaults["betas"] == (0.9, 0.999)
    assert optimizer.defaults["eps"] == 1e-6


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"warmup_steps": 10, "max_steps": 10, "validate_every": 5}, "never reach its height"),
        ({"max_steps": 10, "validate_every": 3}, "not a multiple of --validate_every 3"),
        ({"batch_size": 0}, "--batch_size 0"),
        ({"learning_rate": 0.0}, "--learning_rate 0.0"),
        ({"workers": -1}, "--workers -1"),
        ({"checkpoint_every_minutes": float("nan")}, "--checkpoint_every_minutes nan"),
        ({"compile": True, "strategy": "fsdp"}, "--compile true with --strategy fsdp"),
        ({"optimizer": "adafactor", "strategy": "fsdp"}, "--optimizer adafactor with --strategy"),
        ({"optimizer": "lamb", "strategy": "fsdp"}, "--optimizer lamb with --strategy"),
        ({"optimizer": "muon", "strategy": "fsdp"}, "--optimizer muon with --strategy fsdp"),
        ({"muon_learning_rate": 0.0}, "--muon_learning_rate 0.0"),
        ({"muon_precision": "float16"}, "muon_precision='float16': expected 'auto', 'float32' or"),
        ({"decay_share": 0.0}, "--decay_share 0.0"),
        ({"decay_share": 1.5}, "--decay_share 1.5"),
        ({"schedule": "inverse_sqrt"}, "--warmup_steps must be at least 1"),
        ({"beta2": 1.0}, "--beta2 1.0"),
        ({"muon_weight_decay": 0.1}, "--muon_weight_decay 0.1 is read with --optimizer muon only"),
        ({"ema_decay": 0.9, "swa_share": 0.2}, "--ema_decay 0.9 and --swa_share 0.2: choose one"),
        ({"swa_share": 0.2, "strategy": "fsdp"}, "--swa_share with --strategy fsdp"),
    ],
)
def test_contradictions_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        TrainConfig(**settings)
