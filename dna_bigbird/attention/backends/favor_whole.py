"""Attention by features in linear time, every query reads every key."""

# G sequences times heads, T tokens, M features, D head dimension

import torch
from torch import Tensor

from dna_bigbird.attention.backends.favor_chunks import (
    divided,
    gradient_of_sums,
    head_groups,
    read_keys,
    read_queries,
    token_chunks,
    wide,
)
from dna_bigbird.attention.favor_features import LEAST, Favor


def _state(k, v, keep, w_MD: Tensor, favor: Favor) -> tuple[Tensor, Tensor]:
    """Return the sum of φ(k) [v, 1] over the keys (G, M, D + 1), and their stabiliser (G, 1)."""
    G, T, D = k.shape
    state = w_MD.new_zeros(G, len(w_MD), D + 1)
    plain = w_MD.new_zeros(G, 1, D + 1)
    c = w_MD.new_full((G, 1), LEAST if favor.kernel == "softmax" else 0.0)
    for tokens, _ in token_chunks(T):
        part = None if keep is None else keep[:, tokens]
        keys = read_keys(k[:, tokens], v[:, tokens], part, w_MD, favor, c)
        state *= (c - keys.c).exp()[..., None]
        state.baddbmm_(keys.f.mT, keys.v1)
        plain += keys.v1.sum(1, keepdim=True)
        c = keys.c
    return state.add_(plain, alpha=favor.added), c


class FavorWhole(torch.autograd.Function):
    """Output (G, T, D) of queries, keys, values; features are computed again in backward."""

    @staticmethod
    def forward(ctx, q, k, v, keep: Tensor | None, w_MD: Tensor, favor: Favor) -> Tensor:
        out, kept = torch.empty_like(q), []
        for heads in head_groups(len(q), len(w_MD), q.device):
            keep_of = None if keep is None else keep[heads]
            state, c = _state(k[heads], v[heads], keep_of, w_MD, favor)
            for tokens, _ in token_chunks(q.shape[1]):
                _, f = read_queries(q[heads, tokens], w_MD, favor)
                out[heads, tokens] = divided(f.add_(favor.added) @ state).to(out.dtype)
            kept.append((state, c))
        states, stabilisers = (torch.cat(x) for x in zip(*kept, strict=True))
        ctx.save_for_backward(q, k, v, keep, w_MD, states, stabilisers)
        ctx.favor = favor
        return out

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, grad):
        q, k, v, keep, w_MD, states, stabilisers = ctx.saved_tensors
        favor, inputs = ctx.favor, (q, k, v)
        gradients = [torch.empty_like(x) for x in inputs]
        for heads in head_groups(len(q), len(w_MD), q.device):
            state, c = states[heads], stabilisers[heads]
            of_state = torch.zeros_like(state)
            for tokens, _ in token_chunks(q.shape[1]):
                wide_q, f = read_queries(q[heads, tokens], w_MD, favor)
                features = f + favor.added
                sums = features @ state
                of_sums = gradient_of_sums(sums, divided(sums), wide(grad[heads, tokens]))
                of_state.baddbmm_(features.mT, of_sums)
                dq = favor.gradient(of_sums @ state.mT, f, wide_q, w_MD)
                gradients[0][heads, tokens] = dq.to(q.dtype)
            for tokens, _ in token_chunks(q.shape[1]):
                part = None if keep is None else keep[heads, tokens]
                keys = read_keys(k[heads, tokens], v[heads, tokens], part, w_MD, favor, c)
                dk = favor.gradient(keys.v1 @ of_state.mT, keys.f, keys.k, w_MD)
                gradients[1][heads, tokens] = dk.to(k.dtype)
                dv = keys.f.add_(favor.added) @ of_state[..., :-1]
                gradients[2][heads, tokens] = dv.to(v.dtype)
        return *gradients, None, None, None
