"""Softmax in pieces, for backends that never have all scores: masks, log-sum-exp, dropout."""

import math

import torch
from torch import Tensor

from dna_bigbird.attention.backends.workers import workspace

# Attention over lists of keys that also gives the log-sum-exp, and its gradients; CPU.
#
# By PyTorch's own kernel, called below the public name, which keeps the log-sum-exp to itself, or by
# matrix products, which are faster where the scores stay in the cache. The kernel is private:
# `tests/attention/test_cpu_chunks.py` guards what is expected of it.

# X, Y any, L queries, K keys, D head dimension


_forward = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu
_backward = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu_backward


def flash(q: Tensor, k: Tensor, v: Tensor, bias: Tensor | None) -> tuple[Tensor, Tensor]:
    """Return the output (X, Y, L, D) and the log-sum-exp (X, Y, L, 1); `bias` is (X, Y, 1, K)."""
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
    """Return the same by five matrix products: faster, while the scores stay in the cache."""
    # What is returned is valid until this thread calls again.
    # With weights P = exp(S - lse): dV = Pᵀ dO, dS = P * (dO Vᵀ - rowsum(dO * O)), dQ = dS K, dK = dSᵀ Q. The row
    # sum equals that of P * dP, and needs no scores (FlashAttention, Dao et al. 2022, appendix B).
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


# B batch, H heads, Q queries, K keys; … stands for any dimensions of chunks


HIDDEN = -1e30
"""Score of a hidden key. Finite: minus infinity gives NaN where all keys are hidden."""
LEAST = HIDDEN / 2
"""Scores below it are of hidden keys."""
LOWEST_EXPONENT = -80.0
"""exp of it vanishes next to 1 in every type, and is not so small that exp is four times slower."""


def hide(scores: Tensor, visible: Tensor) -> None:
    """Make the scores of hidden keys about -1e30, in place; `visible` is 1 for the others."""
    # Such a mask, of the scores' type, is several times faster on a CPU than filling by a boolean one.
    scores.add_((1 - visible) * HIDDEN)


def exponentials(scores: Tensor, subtracted: Tensor, visible: Tensor) -> Tensor:
    """Turn scores into exp(score - subtracted), exactly 0 for hidden keys, in place."""
    return scores.sub_(subtracted).clamp_(min=LOWEST_EXPONENT).exp_().mul_(visible)


def finished(total: Tensor, top: Tensor, out: Tensor) -> tuple[Tensor, Tensor]:
    """Return the output and log-sum-exp from sums weighted by exp(score - top)."""
    # Where everything is hidden, the output is zero, and the log-sum-exp infinite, so that every weight
    # computed from it is zero.
    is_empty = total == 0
    total = total.masked_fill(is_empty, 1.0)
    lse = (top + total.log()).masked_fill_(is_empty, torch.inf)
    return out / total, lse


class Dropout:
    """Masks of attention weights that can be drawn again: the same seed gives the same masks."""

    def __init__(self, p: float, seed: int, device: torch.device) -> None:
        self.p = p
        if p:
            self._generator = torch.Generator(device).manual_seed(seed)

    def factors(self, like: Tensor) -> Tensor | None:
        """Return the next factors of weights, 0 or 1 / (1 - p); None without dropout."""
        if not self.p:
            return None
        drawn = torch.empty_like(like, memory_format=torch.contiguous_format)
        drawn.bernoulli_(1 - self.p, generator=self._generator)
        return drawn.div_(1 - self.p)


def dropped(weights: Tensor, factors: Tensor | None) -> Tensor:
    """Return weights, or their gradient, times the factors."""
    return weights if factors is None else weights * factors


def new_seed(dropout_p: float) -> int:
    """Return a seed from PyTorch's generator, which so decides the masks; 0 without dropout."""
    return int(torch.randint(2**62, ())) if dropout_p else 0
