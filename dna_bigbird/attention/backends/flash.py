"""Fused attention over one list of keys that also gives the log-sum-exp, forward and backward; CPU.

PyTorch's own kernels, called below the public name, which keeps the log-sum-exp to itself. They are
private: `tests/attention/test_merged.py` guards what is expected of them.
"""

# X, Y any, L queries, K keys, D head dimension

import math

import torch
from torch import Tensor

_forward = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu
_backward = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu_backward

MOST_SCORES = 1 << 22
"""Scores that `flash_backward` may keep: beyond, they would leave the cache."""


def flash(q: Tensor, k: Tensor, v: Tensor, bias: Tensor | None) -> tuple[Tensor, Tensor]:
    """Return the output (X, Y, L, D) and the log-sum-exp of the scaled scores (X, Y, L).

    Args:
        q: (X, Y, L, D).
        k, v: (X, Y, K, D), of any strides but the last.
        bias: (X, Y, 1, K), added to the scores of every query.
    """
    return _forward(q, k, v, attn_mask=bias)


def flash_backward(
    grad: Tensor,
    q: Tensor,
    out: Tensor,
    lse: Tensor,
    k: Tensor,
    v: Tensor,
    bias: Tensor | None,
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the gradients of q, k and v, given output and log-sum-exp of the *whole* softmax.

    The keys may be only some of those that `out` and `lse` (X, Y, L, 1) come from.
    """
    scores = lse.numel() * k.shape[2]
    if q.dtype in (torch.float32, torch.float64) and scores <= MOST_SCORES:
        return _by_products(grad, q, k, v, out, lse, bias)
    return _backward(grad, q, k, v, out, lse[..., 0], 0.0, False, attn_mask=bias)


def _by_products(grad, q, k, v, out, lse, bias):
    """Five matrix products with the scores in the cache: faster than the kernel, while they fit.

    Not for bfloat16, whose products would round the scores.
    """
    shape, K, D = q.shape, k.shape[2], q.shape[3]
    scale = 1 / math.sqrt(D)
    grad, q, k, v = (x.flatten(0, 1) for x in (grad, q * scale, k, v))
    minus_lse = lse.reshape(-1, shape[2], 1).neg()
    if bias is not None:
        minus_lse = minus_lse + bias.reshape(-1, 1, K)
    weights = torch.baddbmm(minus_lse, q, k.mT).exp_()
    of_v = torch.bmm(weights.mT, grad)
    minus_delta = (grad * out.flatten(0, 1)).sum(dim=-1, keepdim=True).neg_()
    of_scores = torch.baddbmm(minus_delta, grad, v.mT).mul_(weights)
    of_q = torch.bmm(of_scores, k).mul_(scale)
    of_k = torch.bmm(of_scores.mT, q)
    keys = (*shape[:2], K, D)
    return of_q.view(shape), of_k.view(keys), of_v.view(keys)
