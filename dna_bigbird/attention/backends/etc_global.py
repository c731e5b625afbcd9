"""Global queries of BigBird-ETC: one softmax over global and long tokens, some long ones at a time.

The softmax is rescaled from chunk to chunk, so time and memory are linear in the long stream.
"""

# B batch, H heads, G global tokens, L long tokens, K long tokens of a chunk, D head dimension

from collections.abc import Iterator

import torch
from torch import Tensor

from dna_bigbird.attention.backends.softmax_parts import (
    LEAST,
    Dropout,
    dropped,
    exponentials,
    finished,
    hide,
    new_seed,
)
from dna_bigbird.attention.etc_heads import (
    EtcHeads,
    add_cross_labels,
    cross_label_gradient,
    label_scores,
    wide,
)
from dna_bigbird.attention.patterns.etc import EtcPattern
from dna_bigbird.attention.patterns.etc_layout import EtcLayout

MOST_SCORES = {"cpu": 2**20, "cuda": 2**26}
"""Scores of a chunk."""


def blocked_global(
    heads: EtcHeads,
    pattern: EtcPattern,
    layout: EtcLayout,
    dropout_p: float = 0.0,
    keys: int | None = None,
) -> Tensor:
    """Return the output of the global stream (B, H, G, D), from chunks of `keys` long tokens."""
    of_label = label_scores(heads)
    index = layout.global_labels(pattern)[:, None].expand(-1, heads.q.shape[1], -1, -1)
    bias = of_label.gather(3, index)
    cross = of_label[..., pattern.label_outside : pattern.label_belongs + 1]
    tensors = (heads.q, heads.k_long, heads.v_long, heads.k_global, heads.v_global, bias, cross)
    if keys is None:
        B, H, G, _ = heads.q.shape
        most = MOST_SCORES.get(heads.q.device.type, MOST_SCORES["cuda"])
        keys = max(64, most // (B * H * G))
    return _Global.apply(*tensors, pattern, layout, keys, dropout_p, new_seed(dropout_p))


class _Keys:
    """Keys of a chunk of either stream, and the scores of all global queries."""

    def __init__(self, q: Tensor, k: Tensor, v: Tensor, reads: Tensor) -> None:
        self.q, self.k, self.v = q, k.to(q.dtype), v.to(q.dtype)
        self.visible = reads[:, None].to(q.dtype)
        self.scores = q @ self.k.mT
        self.belongs: Tensor | None = None

    def gradients(
        self, lse: Tensor, grad: Tensor, delta: Tensor, dropout: Dropout
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Return the gradients of the queries, keys, values and scores."""
        weights = exponentials(self.scores, lse, self.visible)
        factors = dropout.factors(weights)
        dv = dropped(weights, factors).mT @ grad
        of_scores = dropped(grad @ self.v.mT, factors).sub_(delta).mul_(weights)
        return of_scores @ self.k, of_scores.mT @ self.q, dv, of_scores


def _global_keys(q: Tensor, k: Tensor, v: Tensor, bias: Tensor, layout: EtcLayout) -> _Keys:
    """Return the global tokens as keys, with the scores of their labels (B, H, G, G) added."""
    chunk = _Keys(q, k, v, layout.global_reads_global())
    chunk.scores.add_(bias)
    hide(chunk.scores, chunk.visible)
    return chunk


def _chunks(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    cross: Tensor,
    pattern: EtcPattern,
    layout: EtcLayout,
    keys: int,
) -> Iterator[tuple[slice, _Keys]]:
    """Yield the long tokens, some at a time, with the scores of all global queries."""
    for first in range(0, k.shape[2], keys):
        columns = slice(first, first + keys)
        reads = layout.global_reads_long(pattern, columns)
        chunk = _Keys(q, k[:, :, columns], v[:, :, columns], reads)
        chunk.belongs = layout.belongs[:, columns].mT[:, None].to(q.dtype).contiguous()
        add_cross_labels(chunk.scores, cross, chunk.belongs)
        hide(chunk.scores, chunk.visible)
        yield columns, chunk


class _Global(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx, q, k, v, k_global, v_global, bias, cross, pattern, layout, keys, dropout_p, seed
    ):
        scaled = q.to(wide(q.dtype)) * q.shape[-1] ** -0.5
        dropout = Dropout(dropout_p, seed, q.device)
        chunk = _global_keys(scaled, k_global, v_global, bias, layout)
        state = _added(None, chunk, dropout)
        for _, chunk in _chunks(scaled, k, v, cross, pattern, layout, keys):
            state = _added(state, chunk, dropout)
        out, lse = finished(*state)
        ctx.save_for_backward(q, k, v, k_global, v_global, bias, cross, out, lse)
        ctx.settings, ctx.dropout = (pattern, layout, keys), (dropout_p, seed)
        return out.to(q.dtype)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, grad):
        *inputs, out, lse = ctx.saved_tensors
        q, k, v, k_global, v_global, bias, cross = inputs
        scale = q.shape[-1] ** -0.5
        scaled = q.to(out.dtype) * scale
        dropout = Dropout(*ctx.dropout, q.device)
        grad = grad.to(out.dtype)
        of_query = (lse, grad, (grad * out).sum(-1, keepdim=True), dropout)
        chunk = _global_keys(scaled, k_global, v_global, bias, ctx.settings[1])
        dq, dk_global, dv_global, d_bias = chunk.gradients(*of_query)
        dk, dv, d_cross = torch.empty_like(k), torch.empty_like(v), torch.zeros_like(cross)
        for columns, chunk in _chunks(scaled, k, v, cross, *ctx.settings):
            of_q, dk[:, :, columns], dv[:, :, columns], of_scores = chunk.gradients(*of_query)
            dq += of_q
            d_cross += cross_label_gradient(of_scores, chunk.belongs)
        gradients = (dq * scale, dk, dv, dk_global, dv_global, d_bias, d_cross)
        narrow = (x.to(y.dtype) for x, y in zip(gradients, inputs, strict=True))
        return *narrow, None, None, None, None, None


def _added(
    state: tuple[Tensor, Tensor, Tensor] | None, chunk: _Keys, dropout: Dropout
) -> tuple[Tensor, Tensor, Tensor]:
    """Return sum of weights, largest score and weighted values, with those of a chunk added."""
    top = chunk.scores.amax(-1, keepdim=True).clamp_(min=LEAST)
    if state is not None:
        top = torch.maximum(top, state[1])
    weights = exponentials(chunk.scores, top, chunk.visible)
    total = weights.sum(-1, keepdim=True)
    out = dropped(weights, dropout.factors(weights)) @ chunk.v
    if state is not None:
        rescaled = (state[1] - top).exp_()
        total += state[0] * rescaled
        out += state[2] * rescaled
    return total, top, out
