"""Random problems of BigBird-ETC, the oracle's answer and the tolerance."""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from dna_bigbird.attention.etc_heads import EtcHeads
from dna_bigbird.attention.patterns.etc import EtcPattern
from dna_bigbird.attention.patterns.etc_layout import GLOBAL, LONG, EtcLayout
from tests.attention.etc_loops import attend_in_loops


@dataclass(frozen=True)
class EtcCase:
    """One problem: inputs in float64 that are exact in `dtype`."""

    heads: EtcHeads
    stream: int
    weight: Tensor
    """Gradient that arrives at the output."""
    pattern: EtcPattern
    layout: EtcLayout
    dtype: torch.dtype
    what: str


def random_pattern(rng: np.random.Generator) -> EtcPattern:
    """Any settings; labels of the base and of the large model."""
    mode = str(rng.choice(["exact", "exact", "three_blocks"]))
    k = int(rng.choice([12, 24]))
    radius = int(rng.integers(k, k + 6)) if mode == "three_blocks" else int(rng.integers(1, 30))
    hard_g2l, hard_l2g, cuts = (bool(x) for x in rng.random(3) < (0.5, 0.3, 0.7))
    return EtcPattern(radius, mode, k, hard_g2l, hard_l2g, cuts)


def padding(rng: np.random.Generator, batch: int, length: int) -> Tensor:
    """None, on the right, with holes, or one row of nothing else."""
    way = rng.choice(["none", "right", "holes", "all of one"], p=[0.3, 0.3, 0.3, 0.1])
    if way == "right":
        return torch.arange(length) >= torch.from_numpy(rng.integers(1, length + 1, (batch, 1)))
    mask = torch.from_numpy(rng.random((batch, length)) < 0.3) & (way != "none")
    mask[-1] |= way == "all of one"
    return mask


def segments(rng: np.random.Generator, batch: int, length: int) -> Tensor | None:
    """Paragraphs from left to right, or none."""
    if rng.random() < 0.3:
        return None
    return torch.from_numpy((rng.random((batch, length)) < 0.15).cumsum(1))


def random_layout(rng: np.random.Generator, batch: int, num_long: int, num_global: int):
    """Every long token belongs to up to three global tokens; some tokens are free."""

    def free(length: int) -> Tensor | None:
        return torch.from_numpy(rng.random((batch, length)) < 0.3) if rng.random() < 0.5 else None

    owners = torch.from_numpy(rng.integers(-1, num_global, (batch, num_long, 3)))
    return EtcLayout.of_owners(
        owners,
        padding(rng, batch, num_long),
        padding(rng, batch, num_global),
        long_segments=segments(rng, batch, num_long),
        global_segments=segments(rng, batch, num_global),
        free_global=free(num_global),
        free_long=free(num_long),
    )


def random_case(seed: int) -> EtcCase:
    """Return the problem of a seed; every second one is of the global stream."""
    rng = np.random.default_rng(seed)
    stream = (LONG, GLOBAL)[seed % 2]
    pattern = random_pattern(rng)
    batch, num_heads = int(rng.integers(1, 3)), int(rng.integers(1, 3))
    num_long, num_global = int(rng.integers(1, 56)), int(rng.integers(1, 9))
    dim = int(rng.choice([2, 5, 8, 16]))
    layout = random_layout(rng, batch, num_long, num_global)
    generator = torch.Generator().manual_seed(seed)
    dtype = torch.float32 if rng.random() < 0.6 else torch.bfloat16

    def normal(*shape: int) -> Tensor:
        drawn = torch.randn(shape, generator=generator, dtype=torch.float64)
        return drawn.to(dtype).double()

    queries = (num_long, num_global)[stream]
    lengths = (queries, num_long, num_long, num_global, num_global)
    tables = (normal(pattern.num_labels, num_heads, dim), normal(pattern.num_labels, num_heads))
    heads = EtcHeads(*(normal(batch, num_heads, n, dim) for n in lengths), *tables)
    weight = normal(batch, num_heads, queries, dim)
    what = f"seed {seed}, {num_long} long, {num_global} global, {num_heads} heads of {dim}, {dtype}"
    return EtcCase(heads, stream, weight, pattern, layout, dtype, f"{what}, {pattern}")


def answers(case: EtcCase, attend, dtype: torch.dtype) -> list[Tensor]:
    """Return the output and the gradients of all seven tensors, in float64."""
    heads = EtcHeads(*(x.to(dtype).requires_grad_() for x in case.heads))
    out = attend(heads, case.pattern, case.layout)
    assert out.dtype == dtype
    # A query of padding gives zero by definition: then nothing depends on the inputs.
    gradients = torch.autograd.grad(
        (out * case.weight.to(dtype)).sum() + 0 * sum(x.sum() for x in heads), tuple(heads)
    )
    return [x.detach().double() for x in (out, *gradients)]


def truth(case: EtcCase) -> list[Tensor]:
    """Return what the loops give in float64."""
    return answers(case, lambda *a: attend_in_loops(*a, case.stream), torch.float64)


def excess(exact: list[Tensor], dense: list[Tensor], other: list[Tensor], case: EtcCase) -> float:
    """Return the largest error over the largest allowed; at most 1 is good.

    Allowed is eight times the error of the dense form in the same type, and two epsilons of the
    largest value, both against the loops in float64 (as in `tests.attention.cases`). The largest
    value is that of all results and inputs: a query that reads one key alone has gradients of
    exactly zero, as differences of products of the inputs.
    """
    largest = max(x.abs().max() for x in (*exact, *case.heads, case.weight))
    worst = 0.0
    for right, plain, tested in zip(exact, dense, other, strict=True):
        assert tested.isfinite().all(), case.what
        allowed = 8 * (plain - right).abs().max() + 2 * torch.finfo(case.dtype).eps * largest
        error = (tested - right).abs().max()
        worst = max(worst, (error / allowed).item() if error else 0.0)
    return worst
