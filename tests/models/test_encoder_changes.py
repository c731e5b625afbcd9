"""Changed settings of an encoder, and an encoder without layers."""

from dataclasses import fields, replace

import pytest
import torch

from dna_bigbird.cli.parser import field_texts
from dna_bigbird.models.attention_config import (
    EtcChanges,
    EtcConfig,
    LongformerChanges,
    LongformerConfig,
    PerformerChanges,
    PerformerConfig,
)
from dna_bigbird.models.config import OWN_SETTINGS, EncoderConfig
from dna_bigbird.models.encoder_changes import EncoderChanges
from dna_bigbird.models.etc_encoder import build_encoder
from dna_bigbird.models.weight_transfer import copy_weights

OWN = {
    "etc": (EtcChanges, EtcConfig),
    "longformer": (LongformerChanges, LongformerConfig),
    "performer": (PerformerChanges, PerformerConfig),
}
SMALL = {"vocab_size": 10, "hidden_size": 8, "num_heads": 2, "ffn_size": 16, "block_size": 4}


def test_every_change_is_a_setting_with_the_same_type():
    for changes, settings in ((EncoderChanges, EncoderConfig), *OWN.values()):
        known = {field.name: field.type for field in fields(settings)}
        for field in fields(changes):
            if field.name not in OWN:
                assert field.type == known[field.name] | None
                assert field.default is None
    assert set(OWN) == set(OWN_SETTINGS)
    for changes, settings in OWN.values():
        assert [field.name for field in fields(changes)] == [
            field.name for field in fields(settings)
        ]


def test_only_what_is_named_changes():
    before = EncoderConfig(**SMALL, stem_width=3)
    after = EncoderChanges(num_layers=1, norm_first=False, stem_width=0).applied_to(before)
    assert after == EncoderConfig(**SMALL, num_layers=1, stem_width=0)
    assert EncoderChanges().applied_to(before) == before


def test_contradictions_are_refused():
    with pytest.raises(ValueError, match=r"--model.hidden_size 9 is not a multiple"):
        EncoderChanges(hidden_size=9).applied_to(EncoderConfig(**SMALL))
    with pytest.raises(ValueError, match=r"--model.num_layers -1"):
        EncoderChanges(num_layers=-1).applied_to(EncoderConfig(**SMALL))


NAMES = [field.name for field in fields(EncoderChanges) if field.name not in OWN]
NAMES += [f"{name}.{field.name}" for name, (changes, _) in OWN.items() for field in fields(changes)]


def moves(before: EncoderConfig, after: EncoderConfig) -> bool:
    """Whether the weights of one encoder can be loaded into another one."""
    try:
        copy_weights(build_encoder(before), build_encoder(after))
    except RuntimeError:
        return False
    return True


@pytest.mark.parametrize("name", NAMES)
def test_a_change_keeps_the_weights_if_a_model_with_it_can_load_them(name):
    """Some settings act without a weight."""
    others = {
        "hidden_size": 12, "num_layers": 1, "num_heads": 1, "ffn_size": 8, "max_tokens": 20,
        "block_size": 8, "attention": "full", "window_blocks": 1, "global_blocks": "none",
        "num_random": 1, "pattern_seed": 3, "activation": "relu", "norm_first": True,
        "positions": "rotary", "qk_norm": True, "stem_width": 5, "patch_tokens": 2,
        "layer_skips": True, "value_embeddings": True, "head_gates": True,
        "word_memory": 40, "word_tokens": 4,
        "scale_residual": True, "attention_dropout": 0.1, "init_std": 0.1,
        "etc.radius": 5, "etc.local_mode": "three_blocks", "etc.max_distance": 3,
        "etc.tokens_per_global": 4, "etc.hard_g2l": False, "etc.hard_l2g": True,
        "etc.sharing": "kv", "etc.shared_output": True, "etc.shared_ffn": False,
        "longformer.window_tokens": 3, "longformer.windows": (2, 4), "longformer.dilations": (1, 2),
        "longformer.dilated_heads": 1, "longformer.separate_global": False,
        "performer.num_features": 9, "performer.kernel": "relu", "performer.rows": "independent",
        "performer.norms": "sqrt_dim", "performer.redraw_interval": 0, "performer.seed": 3,
    }  # fmt: skip
    acting = {"num_heads", "activation", "norm_first", "scale_residual", "init_std", "word_tokens"}
    before = EncoderConfig(**SMALL, num_layers=2, max_tokens=16, num_random=0)
    if name == "patch_tokens":
        before = replace(before, norm_first=True, positions="rotary")
    attention, _, part = name.rpartition(".")
    if attention:
        own = EtcConfig(radius=20) if attention == "etc" else OWN[attention][1]()
        before = replace(before, attention=attention, **{attention: own})
        changes = EncoderChanges(**{attention: OWN[attention][0](**{part: others[name]})})
        after = getattr(changes.applied_to(before), attention)
        assert after == replace(own, **{part: others[name]})
    else:
        changes = EncoderChanges(**{name: others[name]})
    can_move = moves(before, changes.applied_to(before)) and name not in acting
    assert changes.other_weights(before) == [name] * (not can_move)
    if name not in ("max_tokens", "attention"):
        text = field_texts(OWN[attention][0] if attention else EncoderChanges)[part]
        assert text.endswith(
            "May differ with pretrained weights." if can_move else "Fresh weights only."
        )


@pytest.mark.parametrize("after", ["bigbird", "full", "longformer", "performer", "etc"])
@pytest.mark.parametrize("before", ["bigbird", "full", "longformer", "performer", "etc"])
def test_attention_may_change_but_not_from_or_to_etc(before, after):
    """The settings of the attention before are left out, as is a dropout that it does not have."""
    own = {"longformer": LongformerConfig(5), "performer": PerformerConfig(9)}.get(before)
    config = EncoderConfig(**SMALL, num_layers=2, max_tokens=16, attention=before)
    if own is not None:
        config = replace(config, **{before: own})
    if before == "bigbird":
        config = replace(config, attention_dropout=0.1)
    changes = EncoderChanges(attention=after)
    changed = changes.applied_to(config)
    assert changed.attention == after
    assert changes.other_weights(config) == ["attention"] * (
        before != after and "etc" in (before, after)
    )
    if before == after:
        assert changed == config
    else:
        assert all(getattr(changed, name) == default for name, default in OWN_SETTINGS.items())


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
