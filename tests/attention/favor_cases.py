"""Random problems of the Performer's attention, the oracle's answer and the tolerance."""

from dataclasses import dataclass
from unittest.mock import patch

import numpy as np
import torch
from torch import Tensor

from dna_bigbird.attention.backends import favor
from dna_bigbird.attention.cores.performer import attend_favor, draw_projection
from dna_bigbird.attention.favor_features import Favor


@dataclass(frozen=True)
class FavorCase:
    """One problem: inputs in float64 that are exact in `dtype`."""

    qkv: tuple[Tensor, Tensor, Tensor]
    weight: Tensor
    """Gradient that arrives at the output."""
    projection: Tensor
    favor: Favor
    is_padding: Tensor | None
    causal: bool
    dtype: torch.dtype
    piece: int
    """Tokens of a piece; a chunk has `pieces` of them."""
    pieces: int
    what: str

    @property
    def hidden(self) -> Tensor:
        """Padding as (batch, 1, length, 1)."""
        if self.is_padding is None:
            return torch.zeros(self.qkv[0].shape[0], 1, self.qkv[0].shape[2], 1, dtype=torch.bool)
        return self.is_padding[:, None, :, None]


def random_padding(rng: np.random.Generator, batch: int, length: int) -> Tensor | None:
    """Return no mask, padding on the right, holes, or one row of nothing else."""
    way = rng.choice(["none", "right", "holes", "all of one"], p=[0.3, 0.3, 0.3, 0.1])
    if way == "none":
        return None
    is_padding = torch.from_numpy(rng.random((batch, length)) < 0.3)
    if way == "right":
        is_padding = torch.arange(length) >= torch.from_numpy(
            rng.integers(1, length + 1, (batch, 1))
        )
    is_padding[-1] |= way == "all of one"
    return is_padding


def random_favor(rng: np.random.Generator) -> Favor:
    """Return a kernel with an ε and a stabiliser."""
    if rng.random() < 0.4:
        return Favor("relu", rng.choice([None, 1e-2]))
    return Favor(
        "softmax", rng.choice([None, 0.0, 1e-6]), str(rng.choice(["projection", "exponent"]))
    )


def random_case(seed: int, *, causal: bool) -> FavorCase:
    """Return the problem of a seed: shapes, features, padding, size of the vectors, type."""
    rng = np.random.default_rng([seed, causal])
    batch, num_heads = int(rng.integers(1, 3)), int(rng.integers(1, 4))
    length = int(rng.integers(1, 12) if rng.random() < 0.3 else rng.integers(12, 60))
    dim, num_features = int(rng.choice([1, 2, 5, 8, 16])), int(rng.integers(1, 24))
    favor, scale = random_favor(rng), float(rng.choice([0.3, 1.0, 2.0]))
    dtype = torch.float32 if rng.random() < 0.6 else torch.bfloat16
    is_padding = random_padding(rng, batch, length)
    generator = torch.Generator().manual_seed(seed)
    shape = (batch, num_heads, length, dim)
    q, k, v, weight = (
        (torch.randn(shape, generator=generator, dtype=torch.float64) * size).to(dtype).double()
        for size in (scale, scale, 1.0, 1.0)
    )
    projection = draw_projection(num_features, dim, seed=seed, draw=0)
    what = f"seed {seed}, {shape}, {num_features} features, {favor}, scale {scale}, {dtype}"
    sizes = (int(rng.integers(1, 9)), int(rng.integers(1, 4)))
    inputs = ((q, k, v), weight, projection, favor, is_padding)
    return FavorCase(*inputs, causal, dtype, *sizes, what)


def answers(case: FavorCase, backend: str, dtype: torch.dtype) -> list[Tensor]:
    """Return the output and the gradients of q, k, v, in float64."""
    qkv = [x.to(dtype).requires_grad_() for x in case.qkv]
    with (
        patch.object(favor, "PIECE", case.piece),
        patch.object(favor, "CHUNK_TOKENS", case.piece * case.pieces),
        patch.dict(favor.MOST_FEATURES, cpu=200 * case.piece),
    ):
        out = attend_favor(*qkv, case.projection, case.favor, case.is_padding, case.causal, backend)
        gradients = torch.autograd.grad(out, qkv, case.weight.to(dtype))
    assert out.dtype == dtype
    return [x.detach().double() for x in (out, *gradients)]


def truth(case: FavorCase) -> list[Tensor]:
    """Return what the oracle gives in float64."""
    return answers(case, "dense", torch.float64)


def excess(
    case: FavorCase, exact: list[Tensor], dense: list[Tensor], tested: list[Tensor]
) -> float:
    """Return the largest error over the largest allowed; at most 1 is good.

    Allowed is eight times the error of the oracle in the same type, and six epsilons of the largest
    value of results and inputs, projection included, both against the oracle in float64 (as for
    Longformer, where two suffice; the largest error seen is 4.2, on a processor with AMX).
    """
    largest = max(x.abs().max() for x in (*exact, *case.qkv, case.weight, case.projection))
    worst = 0.0
    for right, plain, value in zip(exact, dense, tested, strict=True):
        assert value.isfinite().all(), case.what
        allowed = 8 * (plain - right).abs().max() + 6 * torch.finfo(case.dtype).eps * largest
        worst = max(worst, ((value - right).abs().max() / allowed).item())
    return worst
