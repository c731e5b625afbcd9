"""Attention over lists of keys that also gives the log-sum-exp, and its gradients; CPU.

By PyTorch's own kernel, called below the public name, which keeps the log-sum-exp to itself, or by
matrix products, which are faster where the scores stay in the cache. The kernel is private:
`tests/attention/test_merged.py` guards what is expected of it.
"""

# X, Y any, L queries, K keys, D head dimension

import math

import torch
from torch import Tensor

from dna_bigbird.attention.backends.workers import workspace

_forward = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu
_backward = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu_backward


def flash(q: Tensor, k: Tensor, v: Tensor, bias: Tensor | None) -> tuple[Tensor, Tensor]:
    """Return the output (X, Y, L, D) and the log-sum-exp of the scaled scores (X, Y, L, 1).

    Args:
        q: (X, Y, L, D).
        k, v: (X, Y, K, D).
        bias: (X, Y, 1, K), added to the scores of every query.
    """
    out, lse = _forward(q, k, v, attn_mask=bias)
    return out, lse[..., None]


def flash_gradients(
    grad: Tensor, q: Tensor, out: Tensor, lse: Tensor, k: Tensor, v: Tensor, bias: Tensor | None
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the gradients of q, k and v by PyTorch's kernel, which keeps no scores."""
    return _backward(grad, q, k, v, out, lse[..., 0], 0.0, False, attn_mask=bias)


def product_gradients(
    grad: Tensor, q: Tensor, out: Tensor, lse: Tensor, k: Tensor, v: Tensor, bias: Tensor | None
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the same by five matrix products: faster, while the scores stay in the cache.

    What is returned is valid until this thread calls again.
    """
    shape, scale = k.shape, 1 / math.sqrt(q.shape[-1])
    minus_delta = (grad * out).sum(dim=-1, keepdim=True).neg_().flatten(0, 1)
    grad, k, v = (x.flatten(0, 1) for x in (grad, k, v))
    q_shape, q = q.shape, q.mul(scale).flatten(0, 1)
    minus_lse = lse.neg().flatten(0, 1)
    if bias is not None:
        minus_lse = minus_lse + bias.flatten(0, 1)
    like_scores = (len(q), q.shape[1], k.shape[1])
    weights, of_scores = (workspace(x, like_scores, q.dtype) for x in ("weights", "of scores"))
    of_k, of_v = (workspace(x, tuple(k.shape), q.dtype) for x in ("of k", "of v"))
    torch.baddbmm(minus_lse, q, k.mT, out=weights).exp_()
    torch.bmm(weights.mT, grad, out=of_v)
    torch.baddbmm(minus_delta, grad, v.mT, out=of_scores).mul_(weights)
    torch.bmm(of_scores.mT, q, out=of_k)
    of_q = torch.bmm(of_scores, k).mul_(scale)
    return of_q.view(q_shape), of_k.view(shape), of_v.view(shape)
