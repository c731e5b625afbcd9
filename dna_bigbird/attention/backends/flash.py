"""Fused attention over some of the keys of a softmax, forward and backward; CPU.

PyTorch's own kernels, called below the public name, which keeps the log-sum-exp to itself. They are
private: `tests/attention/test_merged.py` guards what is expected of them.
"""

# C heads, R query blocks, S tokens in a block, K keys, D head dimension

import math
import threading

import torch
from torch import Tensor

_forward = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu
_backward = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu_backward


def flash(
    q_CRSD: Tensor, k: Tensor, v: Tensor, bias: Tensor | None, one_list: bool
) -> tuple[Tensor, Tensor]:
    """Return the output (C, R, S, D) and the log-sum-exp of the scaled scores (C, R, S, 1).

    Args:
        k, v: One list of keys a head (1, C, K, D), or one a query block (C, R, K, D); of any
            strides but the last.
        bias: (…, 1, K), added to the scores of every query.
        one_list: Which of the two.
    """
    out, lse = _forward(_lists(q_CRSD, one_list), k, v, attn_mask=bias)
    return out.reshape(q_CRSD.shape), lse.reshape(*q_CRSD.shape[:3], 1)


def _lists(x_CRSD: Tensor, one_list: bool) -> Tensor:
    """Return queries in the shape of their lists of keys."""
    return x_CRSD.flatten(1, 2)[None] if one_list else x_CRSD


class Fused:
    """Gradients by PyTorch's kernel, given the output and log-sum-exp of the *whole* softmax."""

    def __init__(self, grad: Tensor, q: Tensor, out: Tensor, lse: Tensor) -> None:
        self.queries = grad, q, out, lse
        self.of_q = torch.zeros_like(q, dtype=lse.dtype)

    def keys(self, k: Tensor, v: Tensor, bias: Tensor | None, one_list: bool):
        """Add to the gradient of the queries; return those of k and v, in their shape."""
        grad, q, out, lse = (_lists(x, one_list) for x in self.queries)
        of_q, of_k, of_v = _backward(grad, q, k, v, out, lse[..., 0], 0.0, False, attn_mask=bias)
        self.of_q += of_q.reshape(self.of_q.shape)
        return of_k, of_v


_memory = threading.local()


def _workspace(name: str, shape: tuple[int, ...], like: Tensor) -> Tensor:
    """Return uninitialised memory of this thread, the same for the same name and type.

    It is kept, for fresh memory costs more than filling it: a few megabytes a thread.
    """
    size, key = math.prod(shape), f"{name} {like.dtype}"
    kept = getattr(_memory, key, None)
    if kept is None or kept.numel() < size:
        kept = torch.empty(size, dtype=like.dtype)
        setattr(_memory, key, kept)
    return kept[:size].view(shape)


class Products:
    """The same by five matrix products: faster, while the scores stay in the cache.

    Not for bfloat16, whose products would round the scores. What `keys` returns is valid until it
    is called again in the same thread.
    """

    def __init__(self, grad: Tensor, q: Tensor, out: Tensor, lse: Tensor) -> None:
        self.scale = 1 / math.sqrt(q.shape[-1])
        self.queries = grad, q * self.scale
        self.minus_lse = lse.neg()
        self.minus_delta = (grad * out).sum(dim=-1, keepdim=True).neg_()
        self.scaled_of_q = torch.zeros_like(q)

    def keys(self, k: Tensor, v: Tensor, bias: Tensor | None, one_list: bool):
        """Add to the gradient of the queries; return those of k and v, in their shape."""
        grad, q, minus_lse, minus_delta, of_q = (
            x.flatten(1, 2) if one_list else x.flatten(0, 1)
            for x in (*self.queries, self.minus_lse, self.minus_delta, self.scaled_of_q)
        )
        shape = k.shape
        k, v = (x[0] if one_list else x.flatten(0, 1) for x in (k, v))
        if bias is not None:
            minus_lse = minus_lse + (bias[0] if one_list else bias.flatten(0, 1))
        scores = (*q.shape[:2], k.shape[1])
        weights, of_scores = (_workspace(x, scores, q) for x in ("weights", "scores"))
        of_k, of_v = (_workspace(x, tuple(k.shape), q) for x in ("k", "v"))
        torch.baddbmm(minus_lse, q, k.mT, out=weights).exp_()
        torch.bmm(weights.mT, grad, out=of_v)
        torch.baddbmm(minus_delta, grad, v.mT, out=of_scores).mul_(weights)
        of_q.baddbmm_(of_scores, k)
        torch.bmm(of_scores.mT, q, out=of_k)
        return of_k.view(shape), of_v.view(shape)

    @property
    def of_q(self) -> Tensor:
        """The gradient of the queries, when all keys have been given; to be read once."""
        return self.scaled_of_q.mul_(self.scale)
