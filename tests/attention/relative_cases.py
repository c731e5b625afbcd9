"""Random problems of causal windows with relative positions."""

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from dna_bigbird.attention.backends.longformer_band import Cut
from dna_bigbird.attention.cores.relative_longformer import window_rows
from dna_bigbird.attention.patterns.longformer import LongformerPattern


class RelativeCase(NamedTuple):
    """Inputs in float64 that are exact in `dtype`: q, k, v, u, v and the table of distances."""

    tensors: tuple[Tensor, ...]
    weight: Tensor
    """Gradient that arrives at the output."""
    pattern: LongformerPattern
    cut: Cut
    dtype: torch.dtype
    what: str


def random_case(seed: int) -> RelativeCase:
    """Return the problem of a seed: windows shorter and longer than the sequence, dilations, blocks."""
    rng = np.random.default_rng(seed)
    batch, num_heads = int(rng.integers(1, 3)), int(rng.integers(1, 5))
    length, dim = int(rng.integers(1, 60)), int(rng.choice([2, 5, 8]))
    window = int(rng.integers(1, 20) if rng.random() < 0.8 else rng.integers(20, 80))
    dilations = (1,)
    if rng.random() < 0.6:
        dilations = tuple(int(x) for x in rng.integers(1, 6, rng.choice([1, num_heads])))
    pattern = LongformerPattern(window, dilations, is_causal=True)
    dtype = torch.float32 if rng.random() < 0.7 else torch.bfloat16
    generator = torch.Generator().manual_seed(seed)

    def normal(*shape: int) -> Tensor:
        drawn = torch.randn(shape, generator=generator, dtype=torch.float64)
        return drawn.to(dtype).double()

    heads = [normal(batch, num_heads, length, dim) for _ in range(4)]
    biases = [normal(num_heads, dim) for _ in range(2)]
    rows = window_rows(pattern, length) + int(rng.integers(0, 3))
    table = normal(num_heads, max(rows, pattern.window + 1), dim)
    cut = Cut(int(rng.integers(1, 6)), int(rng.integers(1, 24)))
    what = f"seed {seed}, {batch} x {length} tokens, {num_heads} heads of {dim}, {pattern}, {cut}"
    tensors = (*heads[:3], *biases, table)
    return RelativeCase(tensors, heads[3], pattern, cut, dtype, f"{what}, {dtype}")


def answers(case: RelativeCase, attend, dtype: torch.dtype) -> list[Tensor]:
    """Return the output and the gradients of all six tensors, in float64."""
    tensors = [x.to(dtype).requires_grad_() for x in case.tensors]
    out = attend(*tensors, case.pattern)
    assert out.dtype == dtype
    gradients = torch.autograd.grad((out * case.weight.to(dtype)).sum(), tensors)
    return [x.detach().double() for x in (out, *gradients)]
