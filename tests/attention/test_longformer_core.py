"""The module of Longformer: both sets of projections, other cores, dropout, types, batches."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from dna_bigbird.attention.cores import BigBirdItc, Full, Longformer
from dna_bigbird.attention.cores import longformer as module
from dna_bigbird.attention.patterns.longformer import LongformerPattern
from dna_bigbird.attention.patterns.longformer_layout import LongformerLayout
from tests.attention.longformer_cases import random_layout, random_pattern
from tests.attention.longformer_loops import LongformerHeads, attend_in_loops

SMALL = LongformerPattern(window=3, dilations=(1, 2))
HIDDEN, HEADS = 8, 2


def core(pattern=SMALL, **settings):
    """Global projections that differ from the ordinary ones."""
    torch.manual_seed(0)
    longformer = Longformer(HIDDEN, HEADS, pattern, **{"dropout_p": 0.0, **settings}).double()
    if longformer.global_qkv is not None:
        longformer.global_qkv.reset_parameters()
    return longformer


def tokens(batch=2, length=30, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(batch, length, HIDDEN, generator=generator, dtype=torch.float64)


def layout(batch=2, length=30, global_tokens=(0, 11), is_padding=None):
    is_global = torch.zeros(batch, length, dtype=torch.bool)
    is_global[:, list(global_tokens)] = True
    return LongformerLayout(
        torch.zeros_like(is_global) if is_padding is None else is_padding, is_global
    )


def with_loops(longformer, x, batch):
    """The definition, with the weights of a module."""
    x = x.masked_fill(batch.is_padding[..., None], 0.0)

    def heads(linear, x):
        return (
            F.linear(x, linear.weight, linear.bias)
            .unflatten(-1, (3, HEADS, -1))
            .permute(2, 0, 3, 1, 4)
        )

    of_global = longformer.global_qkv or longformer.qkv
    queries = heads(of_global, layout_rows(x, batch))[0]
    inputs = LongformerHeads(*heads(longformer.qkv, x), queries, *heads(of_global, x)[1:])
    mixed = attend_in_loops(inputs, longformer.pattern, batch)
    return longformer.output(mixed.transpose(1, 2).flatten(2))


def layout_rows(x, batch):
    """The states of global tokens, zeros in unused entries."""
    rows = x.new_zeros(len(x), batch.num_global, x.shape[-1])
    for b, positions in enumerate(batch.global_positions.tolist()):
        for entry, position in enumerate(positions):
            if position < x.shape[1]:
                rows[b, entry] = x[b, position]
    return rows


@pytest.mark.parametrize("separate_global", [True, False])
@pytest.mark.parametrize("share", [0.0, 100.0], ids=["projected", "states"])
def test_output_and_gradients_of_all_weights(share, separate_global, monkeypatch):
    """Global tokens read projected keys, or states; both are the definition."""
    monkeypatch.setattr(module, "STATES_UP_TO", share)
    with_global = 0
    for seed in range(30):
        rng = np.random.default_rng(seed)
        length = int(rng.integers(1, 40))
        longformer = core(
            random_pattern(rng, HEADS, True), separate_global=separate_global, backend="blocked"
        )
        x, batch = tokens(2, length, seed).requires_grad_(), random_layout(rng, 2, length)
        used = [x, *longformer.parameters()]
        results = []
        for out in (longformer(x, batch), with_loops(longformer, x, batch)):
            weight = tokens(2, length, seed + 1)
            gradients = torch.autograd.grad(
                (out * weight).sum(), used, allow_unused=True, materialize_grads=True
            )
            results.append([out, *gradients])
        for near, right in zip(*results, strict=True):
            torch.testing.assert_close(near, right, rtol=0, atol=1e-11)
        with_global += bool(batch.num_global)
    assert with_global > 15


def test_new_global_projections_are_copies_and_can_be_copied_again():
    longformer = Longformer(HIDDEN, HEADS, SMALL)
    assert torch.equal(longformer.qkv.weight, longformer.global_qkv.weight)
    torch.nn.init.ones_(longformer.qkv.bias)
    longformer.copy_to_global()
    assert (longformer.global_qkv.bias == 1).all()
    assert longformer.global_qkv.weight.data_ptr() != longformer.qkv.weight.data_ptr()


@pytest.mark.parametrize("backend", ["dense", "blocked"])
def test_which_tokens_use_the_global_projections(backend):
    """Only the rows of global tokens change; theirs do not depend on the ordinary projections."""
    longformer, x, batch = core(backend=backend), tokens(), layout()
    before = longformer(x, batch)
    torch.nn.init.normal_(longformer.global_qkv.weight)
    changed = (longformer(x, batch) != before).any(-1)
    assert torch.equal(changed, batch.is_global)
    before = longformer(x, batch)
    torch.nn.init.normal_(longformer.qkv.weight)
    changed = (longformer(x, batch) != before).any(-1)
    assert torch.equal(changed, ~batch.is_global)


@pytest.mark.parametrize("global_tokens", [(), (0, 11), range(30)], ids=["none", "two", "all"])
def test_a_wide_window_with_equal_projections_is_full_attention(global_tokens):
    longformer = core(LongformerPattern(40), backend="blocked")
    longformer.copy_to_global()
    full = Full(HIDDEN, HEADS, block_size=4).double()
    weights = longformer.state_dict()
    full.load_state_dict({n: x for n, x in weights.items() if "global" not in n})
    hidden = torch.arange(30) >= torch.tensor([[30], [17]])
    x, batch = tokens(), layout(global_tokens=global_tokens, is_padding=hidden)
    torch.testing.assert_close(longformer(x, batch)[~hidden], full(x, hidden)[~hidden])


def test_weights_move_from_bigbird():
    itc = BigBirdItc(HIDDEN, HEADS, block_size=4, num_random=1, plan="uniform", seed=0).double()
    longformer = core(separate_global=False)
    longformer.load_state_dict(itc.state_dict())
    assert torch.equal(longformer.qkv.weight, itc.qkv.weight)


@pytest.mark.parametrize("backend", ["dense", "blocked"])
def test_a_causal_module_reads_no_later_token(backend):
    longformer = core(LongformerPattern(3, (1, 2), is_causal=True), backend=backend)
    x, batch = tokens(), layout()
    before = longformer(x, batch)
    for changed_from in (5, 11, 12, 29):
        other = x.clone()
        other[:, changed_from:] += 1
        after = longformer(other, batch)
        assert torch.equal(before[:, :changed_from], after[:, :changed_from])
        assert not torch.equal(before[:, changed_from], after[:, changed_from])


@pytest.mark.parametrize("backend", ["dense", "blocked"])
def test_dropout_keeps_the_mean_and_only_in_training(backend):
    longformer, copies = core(dropout_p=0.4, backend=backend), 800
    x = tokens(batch=1)
    many = longformer.train()(x.expand(copies, -1, -1), layout(copies))
    plain = longformer.eval()(x, layout(1))
    five_sigma = 5 * many.std(dim=0) / copies**0.5
    assert not torch.equal(many[0], many[1])
    assert ((many.mean(dim=0) - plain[0]).abs() < five_sigma + 1e-12).all()
    assert torch.equal(longformer(x, layout(1)), plain)


@pytest.mark.parametrize("backend", ["dense", "blocked"])
def test_under_autocast_the_heads_are_bfloat16(backend):
    longformer, x = core(backend=backend).float(), tokens().float()
    exact = longformer(x, layout())
    with torch.autocast("cpu", torch.bfloat16):
        rounded = longformer(x, layout())
    assert rounded.dtype == torch.bfloat16
    assert 0 < (rounded.float() - exact).abs().max() < 0.05 * exact.abs().max()


def test_a_sequence_gives_the_same_alone_and_in_a_padded_batch():
    longformer, x = core(backend="blocked"), tokens()
    hidden = torch.arange(30) >= torch.tensor([[30], [17]])
    together = longformer(x, layout(is_padding=hidden))
    alone = longformer(x[1:, :17], layout(1, 17))
    torch.testing.assert_close(together[1, :17], alone[0])
    assert torch.equal(together[1, 17:], longformer.output.bias.expand(13, -1))


@pytest.mark.parametrize("backend", ["dense", "blocked"])
def test_padding_of_any_value_leaves_all_gradients_finite(backend):
    longformer, hidden = core(backend=backend), torch.zeros(2, 30, dtype=torch.bool)
    hidden[0, 4:9], hidden[1] = True, True
    x = tokens().masked_fill(hidden[..., None], torch.nan).requires_grad_()
    out = longformer(x, layout(is_padding=hidden))
    gradients = torch.autograd.grad(out.sum(), [x, *longformer.parameters()])
    assert all(g.isfinite().all() for g in (out, *gradients))
    assert (gradients[0][hidden] == 0).all()


def test_settings_that_do_not_fit():
    with pytest.raises(ValueError, match="num_heads 3 does not divide hidden_size 8"):
        Longformer(8, 3, LongformerPattern(3))
    with pytest.raises(ValueError, match="one per head: got 2 for 4 heads"):
        Longformer(8, 4, SMALL)
    with pytest.raises(
        ValueError, match=r"layout is for \(batch, tokens\) = \(2, 30\), got \(2, 29\)"
    ):
        core()(tokens(length=29), layout())
