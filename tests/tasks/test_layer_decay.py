"""Learning rates by depth: one step of Adam, or of Muon without it, against the formula."""

import pytest

from dna_bigbird.models.classifier import SequenceClassifier
from dna_bigbird.models.config import EncoderConfig, HeadConfig
from dna_bigbird.models.train_config import TrainConfig
from dna_bigbird.training.optimisation import build_optimizer

DECAY, LAYERS = 0.5, 3


def model(norm_first):
    config = EncoderConfig(
        vocab_size=12, hidden_size=8, num_layers=LAYERS, num_heads=2, ffn_size=16, max_tokens=16,
        block_size=4, stem_width=3, norm_first=norm_first,
    )  # fmt: skip
    return SequenceClassifier(config, 2, HeadConfig(pooling="mean"))


def exponent(name, norm_first):
    """Of the decay, by the name of a weight."""
    if name.startswith("head."):
        return 0
    if name.startswith("encoder.layers."):
        return LAYERS - int(name.split(".")[2])
    return 1 if norm_first and name.startswith("encoder.norm.") else LAYERS + 1


@pytest.mark.parametrize("norm_first", [False, True])
@pytest.mark.parametrize("head_rate", [0.0, 0.1])
@pytest.mark.parametrize("optimizer", ["adamw", "muon"])
def test_every_weight_has_its_rate(norm_first, head_rate, optimizer):
    network = model(norm_first)
    config = TrainConfig(
        optimizer=optimizer, learning_rate=0.01, muon_learning_rate=0.02, layer_decay=DECAY,
        head_learning_rate=head_rate, muon_precision="float32",
    )  # fmt: skip
    built, schedule = build_optimizer(network, config)
    rates = {id(p): group["lr"] for group in built.param_groups for p in group["params"]}
    for name, parameter in network.named_parameters():
        is_muon = optimizer == "muon" and ".layers." in name and parameter.ndim == 2
        rate = 0.02 if is_muon else 0.01
        if name.startswith("head.") and head_rate:
            rate = head_rate
        expected = rate * DECAY ** exponent(name, norm_first)
        assert rates[id(parameter)] == pytest.approx(expected), name
    before = network.encoder.word.weight.detach().clone()
    sum(p.sum() for p in network.parameters()).backward()
    built.step()
    moved = (before - network.encoder.word.weight.detach()).mean().item()
    assert moved == pytest.approx(0.01 * DECAY ** (LAYERS + 1), rel=0.02), "a step of Adam"
    schedule.step()


def test_without_decay_nothing_changes():
    network = model(False)
    built, _ = build_optimizer(network, TrainConfig(learning_rate=0.01))
    assert [group["lr"] for group in built.param_groups] == [0.01, 0.01]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"layer_decay": 0.0}, "--layer_decay 0.0"),
        ({"layer_decay": 1.5}, "--layer_decay 1.5"),
        ({"layer_decay": 0.9, "optimizer": "adafactor"}, "take adamw or muon"),
    ],
)
def test_wrong_decays_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        TrainConfig(**settings)
