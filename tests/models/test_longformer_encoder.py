"""The Longformer encoder against torch's own transformer with a mask, and its promises on ragged batches."""

from dataclasses import replace

import pytest
import torch
from torch import nn

from dna_bigbird.attention.patterns.longformer import LongformerPattern
from dna_bigbird.attention.patterns.longformer_layout import LongformerLayout
from dna_bigbird.bundles.convert_run import extend_positions
from dna_bigbird.core.errors import InputError
from dna_bigbird.models.attention_config import LongformerConfig
from dna_bigbird.models.attention_cores import longformer_pattern
from dna_bigbird.models.config import EncoderConfig
from dna_bigbird.models.encoder import Encoder
from dna_bigbird.models.flops import encoder_flops, forward_flops, longformer_pairs
from dna_bigbird.models.lora import adapt
from dna_bigbird.models.lora_config import LoraConfig
from dna_bigbird.models.pretraining_model import PretrainingModel
from dna_bigbird.models.weight_transfer import copy_weights
from tests.models.reference_layers import transformer
from tests.models.test_encoder import batch, generator, spread_out
from tests.models.test_flops import counted, pretraining_inputs

OWN = LongformerConfig(windows=(3, 7), dilations=(1, 2), dilated_heads=1)
CONFIG = EncoderConfig(
    vocab_size=50, hidden_size=16, num_layers=2, num_heads=2, ffn_size=24, max_tokens=200,
    block_size=8, dropout=0.0, attention="longformer", longformer=OWN,
)  # fmt: skip
OTHERS = [
    {},
    {"positions": "rotary", "qk_norm": True, "norm_first": True, "stem_width": 3},
    {"longformer": LongformerConfig(5, separate_global=False)},
]
LATER = {"layer_skips": True, "value_embeddings": True, "head_gates": True, "word_memory": 20}


def encoder(config=CONFIG):
    return spread_out(Encoder(config)).eval()


def is_read(config, layer, head, is_global, is_padding):
    """Who reads whom, pair by pair, from the words of the paper: (B, T, T)."""
    own, T = config.longformer, is_padding.shape[1]
    window = own.windows[layer] if own.windows else own.window_tokens
    dilated = bool(own.dilations) and head >= config.num_heads - own.dilated_heads
    step = own.dilations[layer] if dilated else 1
    distance = torch.arange(T)[:, None] - torch.arange(T)
    near = (distance.abs() <= window * step) & (distance % step == 0)
    read = near | is_global[:, :, None] | is_global[:, None, :]
    return read & ~is_padding[:, None, :]


def reference(model: Encoder, ids, is_padding, segments, is_global):
    """Every pair of tokens, masked."""
    c, own = model.config, model.state_dict()
    D = c.hidden_size // c.num_heads

    def attend(i, x, linear):
        name = f"layers.{i}.attention"
        outs = []
        ordinary = linear(x, f"{name}.qkv")
        own_global = (
            linear(x, f"{name}.global_qkv") if f"{name}.global_qkv.weight" in own else ordinary
        )
        for head in range(c.num_heads):
            visible = is_read(c, i, head, is_global, is_padding)
            rows = []
            for projected in (ordinary, own_global):
                q, k, v = (part[..., head * D : head * D + D] for part in projected.chunk(3, -1))
                scores = (q @ k.mT / D**0.5).masked_fill(~visible, -1e30)
                rows.append(scores.softmax(-1) @ v)
            outs.append(torch.where(is_global[..., None], rows[1], rows[0]))
        return outs

    return transformer(model, ids, segments, attend)


@torch.no_grad()
@pytest.mark.parametrize("changes", [OTHERS[0], OTHERS[2]], ids=str)
@pytest.mark.parametrize("named", [False, True])
def test_it_is_a_transformer_with_masked_pairs(changes, named):
    model = encoder(replace(CONFIG, **changes))
    ids, is_padding, segments = batch([150, 70, 9])
    is_global = torch.zeros_like(is_padding)
    is_global[:, 0] = True
    given = {}
    if named:  # a question at the beginning, and tokens within; one of them is padding
        is_global[0, :30] = is_global[1, 60] = is_global[2, 8:11] = True
        given = {"is_global_BT": is_global}
    expected = reference(model, ids, is_padding, segments, is_global & ~is_padding)
    found = model(ids, is_padding, segments, **given)
    torch.testing.assert_close(found[~is_padding], expected[~is_padding], atol=3e-5, rtol=3e-5)
    assert not found[is_padding].any()
    moved = is_global.roll(1, dims=1)
    other = model(ids, is_padding, segments, is_global_BT=moved)
    assert (other - found)[~is_padding].abs().max() > 0.01


@torch.no_grad()
@pytest.mark.parametrize("changes", [*OTHERS, LATER], ids=str)
def test_a_sequence_has_the_same_states_alone_and_next_to_longer_ones(changes):
    model = encoder(replace(CONFIG, **changes))
    lengths = [23, 60, 1, 151, 61]
    ids, is_padding, segments = batch(lengths)
    is_global = torch.rand(ids.shape, generator=generator()) < 0.1
    together = model(ids, is_padding, segments, is_global_BT=is_global)
    for i, length in enumerate(lengths):
        part = slice(i, i + 1), slice(0, length)
        alone = model(ids[part], is_padding[part], segments[part], is_global_BT=is_global[part])
        torch.testing.assert_close(together[part], alone, atol=2e-5, rtol=2e-5)


@torch.no_grad()
def test_a_patch_is_global_if_one_of_its_tokens_is():
    """One token changes: only the window of its patch, unless it is global, sees it in one layer."""
    config = replace(
        CONFIG, patch_tokens=4, positions="rotary", norm_first=True, num_layers=1,
        longformer=LongformerConfig(2),
    )  # fmt: skip
    model = encoder(config)
    ids, is_padding, _ = batch([100])
    other = ids.clone()
    other[0, 50] = 5 + (ids[0, 50] - 4) % 45
    is_global = torch.zeros_like(is_padding)
    changed = []
    for position in (90, 49):  # patch 12 has tokens 48 to 51
        is_global[:] = False
        is_global[0, position] = True
        pair = [model(x, is_padding, is_global_BT=is_global) for x in (ids, other)]
        changed.append((pair[0] != pair[1]).any(-1)[0].unflatten(0, (25, 4)).any(1))
    assert changed[0].nonzero().flatten().tolist() == [10, 11, 12, 13, 14, 22]
    assert changed[1].all()


@torch.no_grad()
def test_rotary_positions_depend_on_distances_alone():
    """Both projections turn queries and keys: states do not change if all positions move on."""
    config = replace(CONFIG, positions="rotary", num_segments=0)
    model = encoder(config)
    core = model.layers[0].attention
    x = torch.randn(1, 40, 16, generator=generator())
    moved = torch.cat([torch.zeros(1, 24, 16), x], dim=1)

    def out(states, first):
        is_padding = (torch.arange(states.shape[1]) < first)[None]
        is_global = (torch.arange(states.shape[1]) == first + 5)[None]
        return core(states, LongformerLayout(is_padding, is_global))[:, first:]

    torch.testing.assert_close(out(moved, 24), out(x, 0), atol=1e-5, rtol=1e-5)
    core.rotary_base = None
    plain = out(x, 0)
    core.rotary_base = 10000.0
    changed = (out(x, 0) - plain).abs().amax(-1)[0]
    assert changed[5] > 0.01, "a global token has turned queries and keys"
    assert changed[20] > 0.01


@pytest.mark.parametrize("changes", [*OTHERS, LATER], ids=str)
def test_every_weight_learns_and_checkpointing_changes_nothing(changes):
    gradients = []
    for is_recomputed in (False, True):
        config = replace(CONFIG, gradient_checkpointing=is_recomputed, **changes)
        model = encoder(config).train()
        states = model(*batch([140, 33]))
        weights = torch.randn(states.shape, generator=generator())
        (states * weights).sum().backward()
        gradients.append({name: p.grad for name, p in model.named_parameters()})
        still = [n for n, g in gradients[-1].items() if g is None or not g.abs().max() > 0]
        assert still == []
    for name, gradient in gradients[0].items():
        torch.testing.assert_close(gradient, gradients[1][name])


@torch.no_grad()
def test_backends_agree_and_others_are_refused():
    model = encoder()
    inputs = batch([180, 97])
    states = []
    for name in ("auto", "dense"):
        model.set_backend(name)
        states.append(model(*inputs))
    torch.testing.assert_close(*states, atol=1e-5, rtol=1e-5)
    with pytest.raises(
        InputError, match=r"'native' computes block patterns.*longformer has auto and dense"
    ):
        model.set_backend("native")
    with pytest.raises(ValueError, match="backend must be one of auto"):
        model.set_backend("blocked")
    assert model.without_native() is None


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"longformer": {"windows": [3]}}, "windows has 1 numbers: expected one per layer, 2"),
        (
            {"longformer": {"dilations": [1, 2, 3]}},
            "dilations has 3 numbers: expected one per layer",
        ),
        ({"longformer": {"dilations": [1, 0]}}, "dilations 0"),
        ({"longformer": {"windows": [1, 2.5]}}, "windows is 2.5"),
        ({"longformer": {"window_tokens": 0}}, "window_tokens 0"),
        ({"longformer": {"dilations": [1, 2], "dilated_heads": 3}}, "dilated_heads 3 is more than"),
        (
            {"attention": "full", "longformer": OWN},
            "is read with --model.attention longformer only",
        ),
    ],
    ids=str,
)
def test_settings_that_contradict_each_other(changes, message):
    with pytest.raises(ValueError, match=message):
        EncoderConfig(**{"attention": "longformer", "num_layers": 2, "num_heads": 2} | changes)


def test_windows_and_dilations_of_layers():
    assert longformer_pattern(CONFIG, 0) == LongformerPattern(3, (1, 1))
    assert longformer_pattern(CONFIG, 1) == LongformerPattern(7, (1, 2))
    plain = replace(CONFIG, longformer=LongformerConfig(5))
    assert longformer_pattern(plain, 1) == LongformerPattern(5)


def test_global_tokens_are_for_this_attention_only():
    model = Encoder(replace(CONFIG, attention="full", longformer=LongformerConfig()))
    ids, is_padding, _ = batch([20])
    with pytest.raises(
        ValueError, match="is_global is for attention longformer; this encoder has full"
    ):
        model(ids, is_padding, is_global_BT=is_padding)
    with pytest.raises(ValueError, match=r"is_global is \(1, 5\), token_ids \(1, 20\)"):
        encoder()(ids, is_padding, is_global_BT=is_padding[:, :5])


@torch.no_grad()
@pytest.mark.parametrize("changes", [{}, LATER], ids=str)
def test_weights_of_full_attention_with_a_wide_window_give_its_states(changes):
    """Moved there and back; global projections begin as copies, so they change nothing."""
    full = encoder(replace(CONFIG, attention="full", longformer=LongformerConfig(), **changes))
    wide = Encoder(replace(CONFIG, longformer=LongformerConfig(200), **changes))
    copy_weights(full, wide)
    inputs = batch([150, 70])
    torch.testing.assert_close(wide.eval()(*inputs), full(*inputs), atol=2e-5, rtol=2e-5)
    spread_out(wide)
    back = Encoder(full.config)
    copy_weights(wide, back)
    for name, value in back.state_dict().items():
        assert torch.equal(value, wide.state_dict()[name])
    trained, again = wide.state_dict(), Encoder(wide.config)
    copy_weights(wide, again)
    name = "layers.1.attention.global_qkv.weight"
    assert not torch.equal(trained[name], trained[name.replace("global_", "")])
    assert torch.equal(again.state_dict()[name], trained[name])


@torch.no_grad()
def test_longer_sequences_need_a_rule():
    model = encoder()
    longer = extend_positions(model, 400, "tile")
    inputs = batch([160])
    torch.testing.assert_close(longer(*inputs), model(*inputs))
    assert longer(*batch([390])).shape == (1, 390, 16)


def test_lora_adapts_global_projections():
    model = encoder()
    before = model(*batch([40]))
    adapt(model, LoraConfig(rank=2, targets=["query", "value", "output", "ffn"]), torch.Generator())
    torch.testing.assert_close(model(*batch([40])), before)
    adapted = {
        n.split(".parametrizations")[0] for n, p in model.named_parameters() if p.requires_grad
    }
    assert adapted == {n for n, m in model.named_modules() if isinstance(m, nn.Linear)}


@pytest.mark.parametrize("length", [1, 7, 50])
def test_pairs_are_those_of_the_pattern(length):
    is_padding = torch.zeros(1, length, dtype=torch.bool)
    is_global = (torch.arange(length) == 0)[None]
    for layer in range(2):
        expected = sum(
            int(is_read(CONFIG, layer, h, is_global, is_padding).sum()) for h in range(2)
        )
        assert longformer_pairs(CONFIG, layer, length) == expected


@pytest.mark.parametrize("changes", [OTHERS[1], OTHERS[2], LATER], ids=str)
def test_operations_are_those_that_torch_counts(changes):
    """Where the window is the whole sequence; `dense` computes global rows once more."""
    wide = LongformerConfig(64, separate_global=changes.get("longformer", OWN).separate_global)
    model = PretrainingModel(replace(CONFIG, **changes | {"longformer": wide}))
    inputs = pretraining_inputs(2, 64, 3)
    of_global_rows = 2 * 2 * 4 * 16 * 64  # sequences, layers; E, T
    assert forward_flops(model, [64, 64], 3) + of_global_rows == counted(model, inputs)


def test_one_global_token_reads_states():
    """6 E² for its query and output, and 4 E for each head and token, in place of three projections."""
    E, H, T = 16, 2, 50
    shared = replace(CONFIG, longformer=replace(OWN, separate_global=False))
    more = encoder_flops(Encoder(CONFIG), T) - encoder_flops(Encoder(shared), T)
    assert more == 2 * (6 * E * E + 4 * H * E * T - 4 * E * T)
