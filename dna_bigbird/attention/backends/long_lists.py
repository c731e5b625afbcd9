"""Attention of a few queries over very many keys, the rows of global blocks; CPU.

A handful of large matrix products per head, given to oneDNN, which on some processors is twice as
fast as what PyTorch uses for float32 by itself, at the same precision.
"""

# X, Y any, L queries, K keys, D head dimension

import math

import torch
from torch import Tensor

from dna_bigbird.attention.backends.flash import flash, flash_gradients

MOST_SCORES = 1 << 22
"""Scores of one head (16 MB in float32); beyond, the kernel that keeps none is as fast."""


def _product(x: Tensor, y: Tensor) -> Tensor:
    """Return x @ y.mT of two matrices."""
    if x.dtype == torch.float32 and torch.backends.mkldnn.is_available():
        return torch.ops.mkldnn._linear_pointwise(x, y, None, "none", [], "")
    return x @ y.mT


def attend_long(q: Tensor, k: Tensor, v: Tensor, bias: Tensor | None) -> tuple[Tensor, Tensor]:
    """Return the same as `flash`: output (X, Y, L, D) and log-sum-exp (X, Y, L, 1)."""
    if q.shape[2] * k.shape[2] > MOST_SCORES:
        return flash(q, k, v, bias)
    out, lse = torch.empty_like(q), torch.empty_like(q[..., :1])
    scaled = q / math.sqrt(q.shape[-1])
    for at in _matrices(q):
        scores = _product(scaled[at], k[at])
        if bias is not None:
            scores += bias[at]
        largest = scores.amax(dim=-1, keepdim=True)
        weights = torch.softmax(scores, dim=-1, out=scores)
        lse[at] = largest - weights.amax(dim=-1, keepdim=True).log_()
        out[at] = _product(weights, v[at].mT)
    return out, lse


def long_gradients(
    grad: Tensor, q: Tensor, out: Tensor, lse: Tensor, k: Tensor, v: Tensor, bias: Tensor | None
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the gradients of q, k and v."""
    if q.shape[2] * k.shape[2] > MOST_SCORES:
        return flash_gradients(grad, q, out, lse, k, v, bias)
    of_q, of_k, of_v = (torch.empty_like(x) for x in (q, k, v))
    scale = 1 / math.sqrt(q.shape[-1])
    delta = (grad * out).sum(dim=-1, keepdim=True)
    scaled = q * scale
    for at in _matrices(q):
        weights = _product(scaled[at], k[at])
        if bias is not None:
            weights += bias[at]
        weights.sub_(lse[at]).exp_()
        of_scores = _product(grad[at], v[at]).sub_(delta[at]).mul_(weights)
        # The narrow matrix first, and transposed: oneDNN is slow to transpose the wide one.
        of_v[at] = _product(grad[at].mT.contiguous(), weights.mT).mT
        of_k[at] = _product(scaled[at].mT.contiguous(), of_scores.mT).mT
        of_q[at] = _product(of_scores, k[at].mT).mul_(scale)
    return of_q, of_k, of_v


def _matrices(x: Tensor) -> list[tuple[int, int]]:
    return [(i, j) for i in range(x.shape[0]) for j in range(x.shape[1])]
