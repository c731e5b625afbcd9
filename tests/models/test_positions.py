"""Longer sequences than a model was trained for."""

import pytest
import torch
import torch.nn.functional as F

from dna_bigbird.bundles.convert_run import extend_positions
from dna_bigbird.models.classifier import SequenceClassifier
from dna_bigbird.models.config import EncoderConfig
from dna_bigbird.models.pretraining_model import PretrainingModel

CONFIG = EncoderConfig(
    vocab_size=30, hidden_size=8, num_layers=2, num_heads=2, ffn_size=12, max_tokens=512,
    block_size=64, num_random=1, dropout=0.0,
)  # fmt: skip


def tokens(length, seed=1):
    generator = torch.Generator().manual_seed(seed)
    ids = torch.randint(5, 30, (1, length), generator=generator)
    return ids, torch.zeros(1, length, dtype=torch.bool)


def table(model):
    return model.encoder.position.weight.detach()


@pytest.mark.parametrize("max_tokens", [513, 1024, 1300])
def test_tile_repeats_the_table(max_tokens):
    model = PretrainingModel(CONFIG)
    rows = table(extend_positions(model, max_tokens, "tile"))
    assert rows.shape == (max_tokens, 8)
    for start in range(0, max_tokens, 512):
        part = rows[start : start + 512]
        assert torch.equal(part, table(model)[: len(part)])


@pytest.mark.parametrize("max_tokens", [513, 1024, 1300, 4096])
def test_interpolate_keeps_the_ends_and_what_is_linear(max_tokens):
    model = PretrainingModel(CONFIG)
    with torch.no_grad():
        slope = torch.linspace(-3, 3, 8)
        model.encoder.position.weight.copy_(torch.arange(512.0)[:, None] * slope + 1)
    rows = table(extend_positions(model, max_tokens, "interpolate"))
    assert torch.equal(rows[[0, -1]], table(model)[[0, -1]])
    expected = torch.linspace(0, 511, max_tokens, dtype=torch.float64)[:, None] * slope + 1
    torch.testing.assert_close(rows.double(), expected, rtol=1e-6, atol=1e-6)


def test_interpolate_between_rows_by_hand():
    model = PretrainingModel(CONFIG)
    rows, old = table(extend_positions(model, 1023, "interpolate")), table(model)
    assert torch.equal(rows[::2], old)  # twice as fine: each old row, and the means between
    torch.testing.assert_close(rows[1::2], (old[:-1] + old[1:]) / 2)


@pytest.mark.parametrize("rule", ["tile", "interpolate"])
def test_a_model_of_512_tokens_runs_and_learns_at_4096(rule):
    model = extend_positions(PretrainingModel(CONFIG), 4096, rule).train()
    ids, is_padding = tokens(4096)
    positions = torch.arange(0, 4096, 50)
    logits, _ = model(ids, is_padding, ids * 0, positions)
    F.cross_entropy(logits, ids[0, positions]).backward()
    assert model.encoder.config.max_tokens == 4096
    assert (model.encoder.position.weight.grad != 0).any(dim=1).all()
    with pytest.raises(
        ValueError, match="a sequence has 4097 tokens, the model reads at most 4096"
    ):
        model.encoder(*tokens(4097))


def test_with_tile_old_lengths_keep_their_states():
    model = PretrainingModel(CONFIG).eval()
    extended = extend_positions(model, 2000, "tile")
    for length in (1, 300, 512):
        assert torch.equal(model.encoder(*tokens(length)), extended.encoder(*tokens(length)))
    stretched = extend_positions(model, 2000, "interpolate")
    assert not torch.equal(model.encoder(*tokens(300)), stretched.encoder(*tokens(300)))


def test_the_model_itself_stays_as_it_was():
    model = PretrainingModel(CONFIG)
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    extended = extend_positions(model, 600, "tile")
    with torch.no_grad():
        for parameter in extended.parameters():
            parameter.add_(1)
    assert model.encoder.config == CONFIG
    assert all(torch.equal(before[name], tensor) for name, tensor in model.state_dict().items())


@pytest.mark.parametrize("plan", ["uniform", "original", "huggingface"])
def test_config_and_state_make_the_same_model_again(plan):
    """What a bundle stores is enough: nothing of the extension lives elsewhere."""
    config = EncoderConfig(**{**vars(CONFIG), "random_plan": plan})
    extended = extend_positions(PretrainingModel(config, seed=3), 1024, "tile").train()
    again = PretrainingModel(extended.encoder.config).train()
    again.load_state_dict(extended.state_dict())
    assert torch.equal(again.encoder(*tokens(1024)), extended.encoder(*tokens(1024)))


def test_encoder_alone_and_classifier():
    classifier = extend_positions(SequenceClassifier(CONFIG, 3).double(), 700, "tile")
    assert classifier(*tokens(700)).shape == (1, 3)
    assert table(classifier).dtype == torch.float64
    encoder = extend_positions(classifier.encoder, 800, "interpolate")
    assert encoder(*tokens(800)).shape == (1, 800, 8)


def test_frozen_positions_stay_frozen():
    model = PretrainingModel(CONFIG)
    assert extend_positions(model, 600, "tile").encoder.position.weight.requires_grad
    model.encoder.position.weight.requires_grad_(False)
    assert not extend_positions(model, 600, "tile").encoder.position.weight.requires_grad


@pytest.mark.parametrize(
    ("max_tokens", "rule", "message"),
    [
        (1024, "rotate", "--positions tile or interpolate"),
        (512, "tile", "the model reads 512 tokens already, got max_tokens 512"),
        (100, "interpolate", "the model reads 512 tokens already, got max_tokens 100"),
    ],
)
def test_what_cannot_be_extended(max_tokens, rule, message):
    with pytest.raises(ValueError, match=message):
        extend_positions(PretrainingModel(CONFIG), max_tokens, rule)


def test_rotary_positions_need_no_rule():
    config = EncoderConfig(**{**vars(CONFIG), "positions": "rotary", "init_std": 0.3})
    model = PretrainingModel(config).eval()
    extended = extend_positions(model, 2000)
    assert extended.encoder.config == EncoderConfig(**{**vars(config), "max_tokens": 2000})
    for length in (300, 512, 1999):
        assert torch.equal(model.encoder(*tokens(length)), extended.encoder(*tokens(length)))
    with pytest.raises(
        ValueError, match=r"--positions tile is for a table of positions; .* has none"
    ):
        extend_positions(model, 2000, "tile")
    with pytest.raises(ValueError, match="the model reads 512 tokens already"):
        extend_positions(model, 512)
    with pytest.raises(ValueError, match="--positions tile or interpolate"):
        extend_positions(PretrainingModel(CONFIG), 2000)
