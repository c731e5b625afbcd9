"""The module with relative positions: the formula of Transformer-XL with its weights, types, causality."""

import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from dna_bigbird.attention.cores import RelativeLongformer
from dna_bigbird.attention.cores.relative_longformer import sinusoids
from dna_bigbird.attention.patterns.longformer import LongformerPattern

HIDDEN, HEADS = 8, 2
PATTERN = LongformerPattern(window=3, dilations=(1, 2), is_causal=True)


def core(pattern=PATTERN, **settings):
    """Weights without zeros."""
    torch.manual_seed(0)
    module = RelativeLongformer(HIDDEN, HEADS, pattern, **settings).double()
    for bias in (module.content_bias, module.position_bias):
        torch.nn.init.normal_(bias)
    return module


def tokens(length=30, batch=2, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(batch, length, HIDDEN, generator=generator, dtype=torch.float64)


def encoding(distance):
    """Transformer-XL's encoding of a distance, from its formula."""
    frequencies = [10_000 ** (-2 * i / HIDDEN) for i in range(HIDDEN // 2)]
    sines = [math.sin(distance * f) for f in frequencies]
    return torch.tensor(sines + [math.cos(distance * f) for f in frequencies], dtype=torch.float64)


def with_every_pair(module, x):
    """The definition: each pair has its own distance i - j in tokens, dilation or not."""
    D, T = HIDDEN // HEADS, x.shape[1]
    q, k, v = (y.unflatten(-1, (HEADS, D)) for y in F.linear(x, module.qkv.weight).chunk(3, dim=-1))
    u, w = module.content_bias.view(HEADS, D), module.position_bias.view(HEADS, D)
    rows = []
    for i in range(T):
        of_heads = []
        for h in range(HEADS):
            keys = [j for j in range(T) if module.pattern.in_window(i, j, h)]
            of_distance = torch.stack([module.position.weight @ encoding(i - j) for j in keys])
            of_distance = of_distance[:, h * D : (h + 1) * D]
            scores = torch.einsum("bd,bjd->bj", q[:, i, h] + u[h], k[:, keys, h])
            scores = scores + (q[:, i, h] + w[h]) @ of_distance.T
            weights = (scores / math.sqrt(D)).softmax(-1)
            of_heads.append(torch.einsum("bj,bjd->bd", weights, v[:, keys, h]))
        rows.append(torch.cat(of_heads, dim=-1))
    return F.linear(torch.stack(rows, dim=1), module.output.weight)


@pytest.mark.parametrize("seed", range(12))
def test_output_and_gradients_of_all_weights_are_those_of_the_formula(seed):
    rng = np.random.default_rng(seed)
    dilations = tuple(int(x) for x in rng.integers(1, 4, HEADS))
    module = core(LongformerPattern(int(rng.integers(1, 12)), dilations, is_causal=True))
    x = tokens(int(rng.integers(1, 25)), seed=seed).requires_grad_()
    used = [x, *module.parameters()]
    weight = tokens(x.shape[1], seed=seed + 1)
    results = []
    for out in (module(x), with_every_pair(module, x)):
        results.append([out, *torch.autograd.grad((out * weight).sum(), used)])
    for near, right in zip(*results, strict=True):
        torch.testing.assert_close(near, right, rtol=0, atol=1e-11)


def test_distances_far_away_are_as_exact_as_near_ones():
    """A float32 angle of 32,000 would be off by 0.001."""
    single, double = (
        sinusoids(torch.tensor([31_999]), 64, dtype) for dtype in (torch.float32, torch.float64)
    )
    assert (single.double() - double).abs().max() < 1e-7


def test_a_shifted_sequence_gives_the_same():
    """Scores depend on distances only: tokens whose window is whole have equal outputs."""
    module, x = core(), tokens(40)
    reach = 3 * 2
    torch.testing.assert_close(module(x)[:, 10 + reach :], module(x[:, 10:])[:, reach:])


def test_dropout_keeps_the_mean_and_only_in_training():
    module, copies = core(dropout_p=0.4), 800
    x = tokens(batch=1)
    many = module.train()(x.expand(copies, -1, -1))
    plain = module.eval()(x)
    five_sigma = 5 * many.std(dim=0) / copies**0.5
    assert not torch.equal(many[0], many[1])
    assert ((many.mean(dim=0) - plain[0]).abs() < five_sigma + 1e-12).all()
    assert torch.equal(module(x), plain)


def test_under_autocast_the_heads_are_bfloat16():
    module, x = core().float(), tokens().float()
    exact = module(x)
    with torch.autocast("cpu", torch.bfloat16):
        rounded = module(x)
    assert rounded.dtype == torch.bfloat16
    assert 0 < (rounded.float() - exact).abs().max() < 0.05 * exact.abs().max()


def test_settings_that_do_not_fit():
    with pytest.raises(ValueError, match="a multiple of num_heads 3, got 8"):
        RelativeLongformer(8, 3, PATTERN)
    with pytest.raises(ValueError, match="must be even"):
        RelativeLongformer(9, 3, PATTERN)
    with pytest.raises(ValueError, match="one per head: got 2 for 4 heads"):
        RelativeLongformer(8, 4, PATTERN)
