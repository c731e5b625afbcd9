"""Changed settings of an encoder, and an encoder without layers."""

from dataclasses import fields, replace

import pytest
import torch

from dna_bigbird.models.config import EncoderConfig
from dna_bigbird.models.encoder_changes import EncoderChanges
from dna_bigbird.models.etc_config import EtcChanges, EtcConfig
from dna_bigbird.models.etc_encoder import build_encoder

SMALL = {"vocab_size": 10, "hidden_size": 8, "num_heads": 2, "ffn_size": 16, "block_size": 4}


def test_every_change_is_a_setting_with_the_same_type():
    for changes, settings in ((EncoderChanges, EncoderConfig), (EtcChanges, EtcConfig)):
        known = {field.name: field.type for field in fields(settings)}
        for field in fields(changes):
            if field.name != "etc":
                assert field.type == known[field.name] | None
                assert field.default is None
    assert {field.name for field in fields(EtcChanges)} == {
        field.name for field in fields(EtcConfig)
    }


def test_only_what_is_named_changes():
    before = EncoderConfig(**SMALL, stem_width=3)
    after = EncoderChanges(num_layers=1, norm_first=False, stem_width=0).applied_to(before)
    assert after == EncoderConfig(**SMALL, num_layers=1, stem_width=0)
    assert EncoderChanges().applied_to(before) == before


def test_contradictions_are_refused():
    with pytest.raises(ValueError, match=r"--model.hidden_size 9 is not a multiple"):
        EncoderChanges(hidden_size=9).applied_to(EncoderConfig(**SMALL))
    with pytest.raises(ValueError, match=r"--model.num_layers -1 must be at least 0"):
        EncoderChanges(num_layers=-1).applied_to(EncoderConfig(**SMALL))


NAMES = [field.name for field in fields(EncoderChanges) if field.name != "etc"]
NAMES += [f"etc.{field.name}" for field in fields(EtcChanges)]


@pytest.mark.parametrize("name", NAMES)
def test_a_change_keeps_the_weights_if_a_model_with_it_can_load_them(name):
    """Compared with the names and shapes of the weights; some settings act without a weight."""
    others = {
        "hidden_size": 12, "num_layers": 1, "num_heads": 1, "ffn_size": 8, "max_tokens": 20,
        "block_size": 8, "attention": "full", "window_blocks": 1, "global_blocks": "none",
        "num_random": 1, "pattern_seed": 3, "activation": "relu", "norm_first": True,
        "positions": "rotary", "qk_norm": True, "stem_width": 5, "patch_tokens": 2,
        "scale_residual": True, "attention_dropout": 0.1, "init_std": 0.1,
        "etc.radius": 5, "etc.local_mode": "three_blocks", "etc.max_distance": 3,
        "etc.tokens_per_global": 4, "etc.hard_g2l": False, "etc.hard_l2g": True,
        "etc.sharing": "kv", "etc.shared_output": True, "etc.shared_ffn": False,
    }  # fmt: skip
    acting = {"num_heads", "activation", "norm_first", "scale_residual", "init_std"}
    before = EncoderConfig(**SMALL, num_layers=2, max_tokens=16, num_random=0)
    if name == "patch_tokens":
        before = replace(before, norm_first=True, positions="rotary")
    etc, _, part = name.rpartition(".")
    if etc:
        before = replace(before, attention="etc", etc=EtcConfig(radius=20, hard_l2g=False))
        changes = EncoderChanges(etc=EtcChanges(**{part: others[name]}))
        assert changes.applied_to(before).etc == replace(before.etc, **{part: others[name]})
    else:
        changes = EncoderChanges(**{name: others[name]})
    shapes = [
        {key: value.shape for key, value in build_encoder(config).state_dict().items()}
        for config in (before, changes.applied_to(before))
    ]
    assert changes.other_weights(before) == [name] * (shapes[0] != shapes[1] or name in acting)


def test_rotary_positions_read_longer_sequences_with_the_same_weights():
    rotary = EncoderConfig(**SMALL, positions="rotary", max_tokens=16)
    assert EncoderChanges(max_tokens=64).other_weights(rotary) == []


@pytest.mark.parametrize("norm_first", [False, True])
def test_without_layers_there_are_the_normalised_embeddings_and_the_stem(norm_first):
    config = EncoderConfig(
        **SMALL, num_layers=0, positions="rotary", num_segments=0, stem_width=3, dropout=0.0,
        norm_first=norm_first,
    )  # fmt: skip
    encoder = build_encoder(config).eval()
    ids = torch.tensor([[2, 5, 6, 7, 3]])
    weights = encoder.state_dict()
    assert set(weights) == {
        "word.weight", "norm.weight", "norm.bias", "stem.convolution.weight", "stem.convolution.bias"
    }  # fmt: skip
    words = weights["word.weight"][ids[0]]
    kernel = weights["stem.convolution.weight"].view(8, 3, 8)  # out, position, in
    convolved = torch.nn.functional.conv1d(
        words.T[None], kernel.transpose(1, 2), weights["stem.convolution.bias"], padding=1
    )
    expected = torch.nn.functional.layer_norm(words + convolved[0].T, (8,), eps=config.norm_eps)
    hidden = encoder(ids, torch.zeros_like(ids, dtype=torch.bool))
    assert torch.allclose(hidden[0], expected, atol=1e-5)
