"""Weights of another encoder in both streams of BigBird-ETC."""

from dataclasses import replace

import pytest
import torch

from dna_bigbird.models.attention_config import EtcConfig
from dna_bigbird.models.config import EncoderConfig
from dna_bigbird.models.encoder import Encoder
from dna_bigbird.models.etc_encoder import NO_SENTENCE, GlobalTokens
from dna_bigbird.models.weight_transfer import lift_to_etc
from tests.models.test_encoder import batch, spread_out

FULL = EncoderConfig(
    vocab_size=50, hidden_size=16, num_layers=2, num_heads=2, ffn_size=24, max_tokens=100,
    block_size=8, attention="full", dropout=0.0,
)  # fmt: skip
SEPARATE = [
    {},
    {"sharing": "kv", "shared_ffn": False},
    {"sharing": "none", "shared_output": True},
]


def etc_of(own, **etc):
    config = replace(FULL, attention="etc", etc=EtcConfig(radius=200, hard_l2g=True, **etc, **own))
    source = spread_out(Encoder(FULL)).eval()
    return source, lift_to_etc(source, config, torch.Generator().manual_seed(5)).eval()


@torch.no_grad()
@pytest.mark.parametrize("own", SEPARATE, ids=str)
@pytest.mark.parametrize("norm_first", [False, True])
def test_a_wide_band_without_labels_and_global_tokens_is_the_other_encoder(own, norm_first):
    """Tokens that belong to no global token read none with hard l2g."""
    config = replace(FULL, norm_first=norm_first)
    source = spread_out(Encoder(config)).eval()
    source.position.weight.zero_()
    etc_config = replace(config, attention="etc", etc=EtcConfig(radius=200, hard_l2g=True, **own))
    etc = lift_to_etc(source, etc_config, torch.Generator().manual_seed(5)).eval()
    for layer in etc.layers:
        layer.attention.long_labels.embeddings.zero_()
    ids, is_padding, segments = batch([60, 31])
    nothing = GlobalTokens.of_sentences(torch.full_like(ids, NO_SENTENCE), is_padding)
    states = etc(ids, is_padding, segments, global_tokens=nothing)
    torch.testing.assert_close(states, source(ids, is_padding, segments), atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("own", SEPARATE, ids=str)
def test_every_weight_but_labels_and_types_comes_from_the_other_encoder(own):
    source, etc = etc_of(own)
    values = {tuple(x.flatten().tolist()) for x in source.state_dict().values()}
    E = FULL.hidden_size
    for name, x in source.state_dict().items():
        if "qkv" in name:
            values.add(tuple(x[E:].flatten().tolist()))
    fresh = {n for n, x in etc.state_dict().items() if tuple(x.flatten().tolist()) not in values}
    assert fresh == {n for n in etc.state_dict() if "labels" in n or n == "global_type.weight"}
    source.word.weight.data.zero_()
    assert etc.word.weight.abs().sum() > 0  # a copy


def test_another_size():
    source = Encoder(FULL)
    config = replace(FULL, attention="etc", ffn_size=20)
    with pytest.raises(
        ValueError, match=r"ffn_in.weight is \(20, 16\), the other encoder's \(24, 16\)"
    ):
        lift_to_etc(source, config, torch.Generator())
