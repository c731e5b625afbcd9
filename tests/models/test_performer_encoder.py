"""The Performer encoder against its formula, and its promises on ragged batches and redraws."""

from dataclasses import replace

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from dna_bigbird.attention.cores.performer import draw_projection
from dna_bigbird.bundles.weights import unique_tensors
from dna_bigbird.core.errors import InputError
from dna_bigbird.models.attention_config import PerformerConfig
from dna_bigbird.models.config import EncoderConfig
from dna_bigbird.models.encoder import Encoder
from dna_bigbird.models.flops import encoder_flops
from dna_bigbird.models.lora import freeze
from dna_bigbird.models.summarizer import Summarizer
from dna_bigbird.models.weight_transfer import copy_weights
from tests.models.reference_layers import transformer
from tests.models.test_encoder import batch, generator, spread_out

OWN = PerformerConfig(num_features=24, redraw_interval=3, seed=2)
CONFIG = EncoderConfig(
    vocab_size=50, hidden_size=16, num_layers=2, num_heads=2, ffn_size=24, max_tokens=200,
    block_size=8, dropout=0.0, attention="performer", performer=OWN,
)  # fmt: skip
OTHERS = [
    {},
    {"positions": "rotary", "qk_norm": True, "norm_first": True, "patch_tokens": 2},
    {"performer": PerformerConfig(0, "relu", "independent", redraw_interval=0)},
    {"layer_skips": True, "value_embeddings": True, "head_gates": True, "word_memory": 20},
]


def encoder(config=CONFIG):
    return spread_out(Encoder(config)).eval()


def reference(model: Encoder, ids, is_padding, segments):
    """Features of every query and key as in the paper, a weight for each pair."""
    c, own = model.config, model.state_dict()
    D = c.hidden_size // c.num_heads
    hidden = is_padding[..., None]

    def features(x, w, largest):
        scaled = x * D**-0.25
        projected = scaled @ w.T
        if c.performer.kernel == "relu":
            return projected.relu() + 1e-3
        return (projected - (scaled**2).sum(-1, keepdim=True) / 2 - largest(projected)).exp() + 1e-4

    def attend(i, x, linear):
        name, outs = f"layers.{i}.attention", []
        w = own[f"{name}.projection"]
        q, k, v = linear(x, f"{name}.qkv").chunk(3, -1)
        for head in range(c.num_heads):
            q_h, k_h, v_h = (part[..., head * D : head * D + D] for part in (q, k, v))
            of_q = features(q_h, w, lambda p: p.amax(-1, keepdim=True))
            of_k = features(
                k_h, w, lambda p: p.masked_fill(hidden, -1e30).amax((1, 2), keepdim=True)
            )
            weights = of_q @ of_k.masked_fill(hidden, 0.0).mT
            outs.append(weights / weights.sum(-1, keepdim=True) @ v_h)
        return outs

    return transformer(model, ids, segments, attend)


@torch.no_grad()
@pytest.mark.parametrize("changes", [OTHERS[0], OTHERS[2]], ids=str)
def test_it_is_a_transformer_with_random_features(changes):
    model = encoder(replace(CONFIG, **changes))
    ids, is_padding, segments = batch([150, 70, 9])
    found = model(ids, is_padding, segments)
    expected = reference(model, ids, is_padding, segments)
    torch.testing.assert_close(found[~is_padding], expected[~is_padding], atol=3e-5, rtol=3e-5)
    assert not found[is_padding].any()
    model.set_backend("dense")
    torch.testing.assert_close(model(ids, is_padding, segments), found, atol=3e-5, rtol=3e-5)


@torch.no_grad()
@pytest.mark.parametrize("changes", OTHERS, ids=str)
def test_a_sequence_has_the_same_states_alone_and_next_to_longer_ones(changes):
    model = encoder(replace(CONFIG, **changes))
    lengths = [23, 60, 1, 151, 61]
    ids, is_padding, segments = batch(lengths)
    together = model(ids, is_padding, segments)
    for i, length in enumerate(lengths):
        part = slice(i, i + 1), slice(0, length)
        alone = model(ids[part], is_padding[part], segments[part])
        torch.testing.assert_close(together[part], alone, atol=2e-5, rtol=2e-5)


def projections(model):
    return [layer.attention.projection.clone() for layer in model.layers]


@pytest.mark.parametrize("is_recomputed", [False, True])
def test_every_layer_draws_its_own_projections_and_counts_steps(is_recomputed):
    """Drawn before forward passes 3 and 6 of training; the repeats of checkpointing do not count."""
    model = encoder(replace(CONFIG, gradient_checkpointing=is_recomputed))
    inputs = batch([40, 33])
    seen = []
    for _ in range(7):
        model.train()(*inputs).square().sum().backward()
        model.eval()(*inputs)
        seen.append(projections(model))
    for step, of_step in enumerate(seen):
        for layer, projection in enumerate(of_step):
            drawn = draw_projection(24, 8, seed=2000 + layer, draw=step // 3)
            assert torch.equal(projection, drawn)
    assert not torch.equal(seen[0][0], seen[0][1])


def test_a_continued_training_is_the_same_bit_by_bit_over_a_redraw():
    model, inputs = encoder(), batch([40, 33])

    def trained(some, steps):
        optimizer = torch.optim.SGD(some.parameters(), lr=0.01)
        for _ in range(steps):
            optimizer.zero_grad()
            some.train()(*inputs).square().mean().backward()
            optimizer.step()
        return some

    other = Encoder(CONFIG)
    other.load_state_dict(trained(model, 2).state_dict())
    first, second = (trained(each, 5).eval() for each in (model, other))
    assert torch.equal(first(*inputs), second(*inputs))
    assert torch.equal(projections(second)[0], draw_projection(24, 8, seed=2000, draw=2))
    assert second.layers[0].attention.training_forwards == 7


@pytest.mark.parametrize("changes", OTHERS, ids=str)
def test_checkpointing_changes_nothing_and_every_weight_learns(changes):
    gradients = []
    for is_recomputed in (False, True):
        model = encoder(replace(CONFIG, gradient_checkpointing=is_recomputed, **changes)).train()
        states = model(*batch([140, 33]))
        (states * torch.randn(states.shape, generator=generator())).sum().backward()
        gradients.append({name: p.grad for name, p in model.named_parameters()})
        assert all(g is not None and g.abs().max() > 0 for g in gradients[-1].values())
    for name, gradient in gradients[0].items():
        torch.testing.assert_close(gradient, gradients[1][name])


def test_a_file_of_weights_has_the_projections_and_not_the_count():
    names = set(unique_tensors(encoder()))
    assert {f"layers.{i}.attention.projection" for i in range(2)} <= names
    assert not [name for name in names if "extra_state" in name]


def test_a_frozen_encoder_keeps_its_features():
    model = encoder().train()
    freeze(model)
    before = projections(model)
    for _ in range(5):
        model(*batch([20]))
    assert all(map(torch.equal, before, projections(model)))


@torch.no_grad()
@pytest.mark.parametrize("changes", [OTHERS[0], OTHERS[3]], ids=str)
def test_weights_move_from_and_to_full_attention(changes):
    """With many features the states come closer to those of full attention."""
    full = Encoder(replace(CONFIG, attention="full", performer=PerformerConfig(), **changes)).eval()
    inputs = batch([100, 70])
    errors = []
    for num_features in (4, 64, 2048):
        own = PerformerConfig(num_features)
        performer = Encoder(replace(CONFIG, performer=own, **changes)).eval()
        copy_weights(full, performer)
        errors.append((performer(*inputs) - full(*inputs)).abs().mean())
        back = Encoder(full.config)
        copy_weights(performer, back)
        assert all(torch.equal(x, full.state_dict()[name]) for name, x in back.state_dict().items())
    assert errors[2] < 0.5 * errors[1] < 0.5 * errors[0]


@torch.no_grad()
def test_features_move_between_equal_settings_alone():
    model = Encoder(CONFIG)
    for layer in model.layers:
        layer.attention.projection.mul_(0.5)
        layer.attention.training_forwards = 50
    for changes, is_kept in (
        ({"redraw_interval": 9, "kernel": "relu"}, True), ({"seed": 3}, False), ({"num_features": 25}, False)
    ):  # fmt: skip
        other = Encoder(replace(CONFIG, performer=replace(OWN, **changes)))
        fresh = projections(other)
        copy_weights(model, other)
        expected = projections(model) if is_kept else fresh
        assert all(map(torch.equal, projections(other), expected))
        assert other.layers[0].attention.training_forwards == 0


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"performer": {"num_features": -1}}, "num_features -1"),
        ({"performer": {"kernel": "sine"}}, "kernel='sine'"),
        ({"performer": {"rows": "identity"}}, "identity has 8 features.*num_features 0, got 256"),
        (
            {"performer": {"rows": "independent", "norms": "sqrt_dim"}},
            "sqrt_dim is for performer.rows",
        ),
        (
            {"performer": {"redraw_interval": 2.5}},
            "redraw_interval is 2.5, expected a whole number",
        ),
        ({"attention": "full", "performer": OWN}, "is read with --model.attention performer only"),
        ({"attention_dropout": 0.1}, "performer has no --model.attention_dropout, got 0.1"),
    ],
    ids=str,
)
def test_settings_that_contradict_each_other(changes, message):
    sizes = {"attention": "performer", "hidden_size": 16, "num_heads": 2}
    with pytest.raises(ValueError, match=message):
        EncoderConfig(**sizes | changes)


def test_identity_features_and_a_decoder():
    own = PerformerConfig(0, rows="identity", redraw_interval=0)
    model = Encoder(replace(CONFIG, performer=own))
    assert torch.equal(projections(model)[0], torch.eye(8))
    with pytest.raises(ValueError, match="attention performer: a decoder needs the layers of"):
        Summarizer(CONFIG)
    with pytest.raises(
        InputError, match=r"'cpu_chunks' computes block patterns.*performer has auto and"
    ):
        model.set_backend("cpu_chunks")


@torch.no_grad()
def test_operations_are_those_that_torch_counts():
    """Torch does not count the product of features and values, which is added in place."""
    model, T = encoder(), 64
    with FlopCounterMode(display=False) as counter:
        model(*batch([T]))
    in_place = 2 * 2 * 16 * 24 * T  # layers; E, M
    assert encoder_flops(model, T) == counter.get_total_flops() + in_place
