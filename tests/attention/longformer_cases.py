"""Random problems of Longformer, the oracle's answer and the tolerance."""

from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from dna_bigbird.attention.backends.longformer_windows import Cut
from dna_bigbird.attention.cores.longformer import LONGFORMER_BACKENDS
from dna_bigbird.attention.patterns.longformer import LongformerPattern
from dna_bigbird.attention.patterns.longformer_layout import LongformerLayout
from tests.attention.longformer_loops import LongformerHeads, attend_in_loops


@dataclass(frozen=True)
class LongformerCase:
    """One problem: inputs in float64 that are exact in `dtype`."""

    heads: LongformerHeads
    weight: Tensor
    """Gradient that arrives at the output."""
    pattern: LongformerPattern
    layout: LongformerLayout
    dtype: torch.dtype
    what: str


def random_pattern(rng: np.random.Generator, num_heads: int, dilated: bool) -> LongformerPattern:
    """Windows shorter and longer than a sequence; one dilation or one per head."""
    window = int(rng.integers(1, 20) if rng.random() < 0.8 else rng.integers(20, 70))
    dilations = (1,)
    if dilated:
        dilations = tuple(int(x) for x in rng.integers(1, 6, rng.choice([1, num_heads])))
    return LongformerPattern(window, dilations, bool(rng.random() < 0.4))


def random_layout(rng: np.random.Generator, batch: int, length: int) -> LongformerLayout:
    """Padding: none, on the right, holes, one row of nothing else. Global tokens: none to all."""
    way = rng.choice(["none", "right", "holes", "all of one"], p=[0.3, 0.3, 0.3, 0.1])
    is_padding = torch.from_numpy(rng.random((batch, length)) < 0.3) & (way != "none")
    if way == "right":
        ends = torch.from_numpy(rng.integers(1, length + 1, (batch, 1)))
        is_padding = torch.arange(length) >= ends
    is_padding[-1] |= way == "all of one"
    share = rng.choice([0.0, 0.08, 0.3, 1.0], p=[0.2, 0.45, 0.25, 0.1])
    is_global = torch.from_numpy(rng.random((batch, length)) < share)
    return LongformerLayout(is_padding, is_global if share or rng.random() < 0.5 else None)


def random_case(seed: int, *, dilated: bool) -> LongformerCase:
    """Return the problem of a seed: shapes, pattern, padding, global tokens and type are drawn."""
    rng = np.random.default_rng([seed, dilated])
    batch, num_heads = int(rng.integers(1, 3)), int(rng.integers(1, 4))
    length, dim = int(rng.integers(1, 50)), int(rng.choice([2, 5, 8, 16]))
    pattern = random_pattern(rng, num_heads, dilated)
    layout = random_layout(rng, batch, length)
    dtype = torch.float32 if rng.random() < 0.6 else torch.bfloat16
    generator = torch.Generator().manual_seed(seed)

    def normal(tokens: int) -> Tensor:
        shape = (batch, num_heads, tokens, dim)
        return torch.randn(shape, generator=generator, dtype=torch.float64).to(dtype).double()

    lengths = (length, length, length, layout.num_global, length, length)
    heads = LongformerHeads(*map(normal, lengths))
    weight = normal(length)
    what = f"seed {seed}, {length} tokens, {layout.num_global} global, {num_heads} heads of {dim}"
    return LongformerCase(heads, weight, pattern, layout, dtype, f"{what}, {dtype}, {pattern}")


def small_cut(seed: int) -> Cut:
    """Return units and blocks of sizes that the seed draws."""
    rng = np.random.default_rng(seed + 10**6)
    return Cut(int(rng.integers(1, 5)), int(rng.integers(1, 24)))


def form(name: str, *cut: Cut):
    """Return a form as a function of heads, pattern and layout."""

    def attend(
        heads: LongformerHeads, pattern: LongformerPattern, layout: LongformerLayout
    ) -> Tensor:
        windows, of_global = LONGFORMER_BACKENDS[name]
        out = windows(*heads[:3], pattern, layout, 0.0, *cut)
        if not layout.num_global:
            return out
        return layout.with_global(out, of_global(*heads[3:], pattern, layout))

    return attend


def answers(case: LongformerCase, attend, dtype: torch.dtype) -> list[Tensor]:
    """Return the output and the gradients of all six tensors, in float64."""
    heads = LongformerHeads(*(x.to(dtype).requires_grad_() for x in case.heads))
    out = attend(heads, case.pattern, case.layout)
    assert out.dtype == dtype
    # Without global tokens nothing depends on their tensors.
    gradients = torch.autograd.grad(
        (out * case.weight.to(dtype)).sum() + 0 * sum(x.sum() for x in heads), tuple(heads)
    )
    return [x.detach().double() for x in (out, *gradients)]


def truth(case: LongformerCase) -> list[Tensor]:
    """Return what the loops give in float64."""
    return answers(case, attend_in_loops, torch.float64)


def excess(
    case: LongformerCase, exact: list[Tensor], dense: list[Tensor], other: list[Tensor]
) -> float:
    """Return the largest error over the largest allowed; at most 1 is good.

    Allowed is eight times the error of the dense form in the same type, and two epsilons of the
    largest value, both against the loops in float64 (as in `tests.attention.cases`). The largest
    value is that of all results and inputs: a query that reads one key alone has gradients of
    exactly zero, as differences of products of the inputs.
    """
    largest = max(x.abs().max() for x in (*exact, *case.heads, case.weight) if x.numel())
    worst = 0.0
    for right, plain, tested in zip(exact, dense, other, strict=True):
        assert tested.isfinite().all(), case.what
        if right.numel():
            allowed = 8 * (plain - right).abs().max() + 2 * torch.finfo(case.dtype).eps * largest
            worst = max(worst, ((tested - right).abs().max() / allowed).item())
    return worst


def in_float32(case: LongformerCase) -> LongformerCase:
    """Return the case to be computed in float32."""
    return replace(case, dtype=torch.float32)
