"""Chunks of tokens whose features are in memory at one time, and sums of keys that go with them."""

# G sequences times heads, K pieces, S tokens in a piece, M features, D head dimension

import math
from collections.abc import Iterator
from typing import NamedTuple

import torch
from torch import Tensor

from dna_bigbird.attention.favor_features import LEAST, Favor

PIECE = 64
"""Tokens within which causal attention computes pairs of queries and keys."""
MOST_FEATURES = {"cpu": 2**20, "cuda": 2**26}
"""Features of a chunk, all its heads together."""
CHUNK_TOKENS = 512
"""Tokens of a chunk, at most."""


def head_groups(num_heads: int, num_features: int, device: torch.device) -> Iterator[slice]:
    """Yield parts of the heads of all sequences; one chunk of each is in memory."""
    most = MOST_FEATURES["cpu" if device.type == "cpu" else "cuda"]
    size = max(1, most // (CHUNK_TOKENS * num_features))
    for first in range(0, num_heads, size):
        yield slice(first, min(first + size, num_heads))


def token_chunks(num_tokens: int) -> list[tuple[slice, int]]:
    """Return the chunks in order, each with the length of its equal pieces."""
    size = max(1, CHUNK_TOKENS // PIECE) * PIECE
    whole = num_tokens - num_tokens % PIECE
    chunks = [(slice(i, min(i + size, whole)), PIECE) for i in range(0, whole, size)]
    if whole < num_tokens:
        chunks.append((slice(whole, num_tokens), num_tokens - whole))
    return chunks


class Keys(NamedTuple):
    """Keys of a chunk; their features are `f` + ε e^(stabiliser differences)."""

    k: Tensor
    """(G, T, D), float32 or better, as all fields."""
    v1: Tensor
    """(G, T, D + 1): value and 1; zero at padding, which so is in neither sum."""
    f: Tensor
    """(G, T, M), with the stabiliser at the end of the chunk."""
    c_T: Tensor  # noqa: N815 - carries its shape, as variables do
    """(G, T): stabiliser of the keys up to each one, of earlier chunks too."""

    @property
    def c(self) -> Tensor:
        """Stabiliser of the keys up to the end of the chunk: (G, 1)."""
        return self.c_T[:, -1:]


def wide(x: Tensor) -> Tensor:
    """Return the tensor as float32 or better."""
    return x.to(torch.promote_types(x.dtype, torch.float32))


def read_keys(
    k: Tensor, v: Tensor, keep: Tensor | None, w_MD: Tensor, favor: Favor, c: Tensor
) -> Keys:
    """Compute the features of a chunk.

    Args:
        keep: (G, T, 1) bool, False = padding; None: no padding.
        c: (G, 1), stabiliser of the keys before.
    """
    k, v = wide(k), wide(v)
    exponents = favor.exponents(k, w_MD)
    tops = favor.tops(exponents, k)
    v1 = torch.cat([v, torch.ones_like(v[..., :1])], dim=-1)
    if keep is not None:
        tops = tops.masked_fill(~keep[..., 0], LEAST)
        exponents.masked_fill_(~keep, -math.inf)
        v1.masked_fill_(~keep, 0.0)
    c_T = torch.maximum(tops.cummax(-1).values, c)
    return Keys(k, v1, favor.values(exponents, c_T[:, -1:, None]), c_T)


def read_queries(q: Tensor, w_MD: Tensor, favor: Favor) -> tuple[Tensor, Tensor]:
    """Return queries in float32 or better and their f, without ε."""
    q = wide(q)
    exponents = favor.exponents(q, w_MD)
    return q, favor.values(exponents, favor.tops(exponents, q)[..., None])


def divided(sums: Tensor) -> Tensor:
    """Return (…, D): the weighted sum of values by the sum of weights; zero for no weights."""
    total = sums[..., -1:]
    return sums[..., :-1] / total.masked_fill(total == 0, 1.0)


def gradient_of_sums(sums: Tensor, out: Tensor, grad: Tensor) -> Tensor:
    """Return the gradient (…, D + 1) of the sums that `divided` divides."""
    of_total = (grad * out).sum(-1, keepdim=True)
    total = sums[..., -1:]
    return torch.cat([grad, -of_total], dim=-1) / total.masked_fill(total == 0, math.inf)
