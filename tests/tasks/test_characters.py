"""The loss of the next character, and the settings of the phases."""

import math
from pathlib import Path

import numpy as np
import pytest
import torch
import yaml

from dna_bigbird.models.character_config import CharacterConfig
from dna_bigbird.models.character_model import CharacterModel
from dna_bigbird.models.train_config import TrainConfig
from dna_bigbird.training.character_config import StagedTraining
from dna_bigbird.training.character_phases import CharacterTask, collate_characters
from dna_bigbird.training.objective import ratios

TINY = CharacterConfig(
    vocab_size=5, hidden_size=8, num_heads=2, ffn_size=16, causal_windows=[3], dilations=[1], dropout=0.0, init_std=0.5,
)  # fmt: skip


@pytest.mark.parametrize("unscored", [None, 4])
def test_the_loss_is_the_mean_over_predicted_characters(unscored):
    windows = np.random.default_rng(0).integers(0, 5, (3, 12)).astype(np.uint8)
    model = CharacterModel(TINY).double()
    task = CharacterTask(model, TrainConfig(), unscored)
    loss, sums = task.loss_and_sums(collate_characters(list(enumerate(windows))))
    nats = []
    for window in torch.from_numpy(windows.astype(np.int64)):
        log_p = model(window[None, :-1])[0].log_softmax(-1)
        nats += [-log_p[i, c].item() for i, c in enumerate(window[1:].tolist()) if c != unscored]
    assert loss.item() == pytest.approx(np.mean(nats))
    assert ratios(sums)["bits_per_character"] == pytest.approx(np.mean(nats) / math.log(2))
    assert sums["loss"][1] == len(nats)


def test_a_batch_without_a_predicted_character_has_no_loss():
    batch = collate_characters([(0, np.full(5, 4, np.uint8))])
    loss, _ = CharacterTask(CharacterModel(TINY), TrainConfig(), 4).loss_and_sums(batch)
    assert loss == 0


def test_the_published_phases():
    """Table 12: lengths, learning rates, warm-up, and what a step adds up."""
    training = StagedTraining()
    assert [phase.max_tokens for phase in training.phases] == [2048, 4096, 8192, 16384, 23040]
    configs = [training.train_config(i) for i in range(5)]
    assert [c.learning_rate for c in configs] == [2.5e-4, 1.25e-4, 6.25e-5, 3.125e-5, 1.5625e-5]
    assert [c.warmup_steps for c in configs] == [10_000, 5000, 5000, 3500, 500]
    assert [c.batch_size * c.accumulate for c in configs] == [32, 32, 16, 16, 16]
    assert {c.schedule for c in configs} == {"constant"}
    assert {(c.gradient_clip, c.weight_decay, c.optimizer) for c in configs} == {
        (0.25, 0.01, "adamw")
    }


RECIPES = Path(__file__).parents[2] / "config/text"


def recipe(name):
    settings = yaml.safe_load((RECIPES / f"characters-{name}.yaml").read_text())
    return CharacterConfig(**settings["model"]), StagedTraining(**settings["training"])


def test_the_small_recipe_has_the_defaults():
    """All but how often it writes a checkpoint."""
    model, training = recipe("small")
    assert model == CharacterConfig()
    assert StagedTraining(**vars(training) | {"checkpoint_every_steps": 0}) == StagedTraining()


def test_the_large_recipe_differs_where_the_paper_does():
    model, training = recipe("large")
    with torch.device("meta"):
        numbers = sum(p.numel() for p in CharacterModel(model).parameters())
    assert round(numbers / 1e6) == 102
    small = vars(CharacterConfig()) | {"dropout": 0.4, "gradient_checkpointing": True}
    small |= {name: getattr(model, name) for name in ("causal_windows", "dilations")}
    assert vars(model) == small
    assert (len(model.causal_windows), model.causal_windows[0], model.causal_windows[-1]) == (
        30,
        32,
        512,
    )
    steps = [350_000, 25_000, 10_000, 5000, 5000]
    other = vars(training) | {
        "phase_steps": StagedTraining().phase_steps,
        "checkpoint_every_steps": 0,
    }
    assert (training.phase_steps, StagedTraining(**other)) == (steps, StagedTraining())


def test_the_tiny_recipe_has_the_same_phases_in_small():
    model, training = recipe("tiny")
    _, small = recipe("small")
    factors = [phase.max_tokens / training.max_tokens for phase in training.phases]
    assert factors == [phase.max_tokens / small.max_tokens for phase in small.phases]
    assert model.reach * training.phases[-1].factor == 2944


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"phase_steps": [10]}, "--training.phase_steps has 1 phases, --training.examples_per_step 5"),
        ({"phase_steps": [15] * 5}, "--training.phase_steps 15 is not a multiple of --training.validations 10"),
        ({"batch_size": 5}, "--training.examples_per_step 32 is not a multiple of --training.batch_size 5"),
        ({"longest": 100}, "--training.longest 100 is below --training.max_tokens 2048"),
        ({"warmup_share": 1.0}, "--training.warmup_share 1.0"),
        ({"max_tokens": 0}, "--training.max_tokens 0"),
        ({"learning_rate": 0.0}, "learning_rate 0.0"),
    ],
)  # fmt: skip
def test_settings_that_contradict_each_other(changes, message):
    with pytest.raises(ValueError, match=message):
        StagedTraining(**changes)
