"""Causal attention by features in linear time: sums over earlier pieces, pairs within a piece."""

# G sequences times heads, K pieces of S tokens in a chunk, M features, D head dimension

import math
from typing import NamedTuple

import torch
from torch import Tensor

from dna_bigbird.attention.backends.favor_chunks import (
    Keys,
    divided,
    gradient_of_sums,
    head_groups,
    read_keys,
    read_queries,
    token_chunks,
    wide,
)
from dna_bigbird.attention.favor_features import LEAST, Favor


class State(NamedTuple):
    """Sums over all keys of earlier chunks."""

    sums: Tensor
    """(G, 1, M, D + 1): of f [v, 1]."""
    plain: Tensor
    """(G, 1, 1, D + 1): of [v, 1], for the part of ε."""
    c: Tensor
    """(G, 1): stabiliser in `sums`."""


def _first_state(num_heads: int, w_MD: Tensor, dim: int, favor: Favor) -> State:
    return State(
        w_MD.new_zeros(num_heads, 1, len(w_MD), dim + 1),
        w_MD.new_zeros(num_heads, 1, 1, dim + 1),
        w_MD.new_full((num_heads, 1), LEAST if favor.kernel == "softmax" else 0.0),
    )


def _sums_before(x: Tensor) -> Tensor:
    """Return for each piece (dimension 1) the sum over earlier ones.

    Not the cumulative sum minus the piece: the sizes of pieces differ too much to be subtracted.
    """
    return torch.cat([torch.zeros_like(x[:, :1]), x[:, :-1].cumsum(1)], dim=1)


class _Chunk:
    """A chunk of queries and keys in pieces, with the sums that each piece of queries reads."""

    def __init__(self, q, k, v, keep, w_MD, favor: Favor, before: State, piece: int) -> None:
        self.favor, self.w_MD = favor, w_MD
        keys = read_keys(k, v, keep, w_MD, favor, before.c)
        q, f = read_queries(q, w_MD, favor)
        self.q, self.fq = (x.unflatten(1, (-1, piece)) for x in (q, f))
        self.k, self.v1, self.fk = (x.unflatten(1, (-1, piece)) for x in keys[:3])
        self.features_q = self.fq + favor.added
        self.epsilon = self._epsilon(keys, piece)
        self.rescale = (before.c - keys.c).exp()[..., None, None]
        of_pieces = self.fk.mT @ self.v1
        self.sums = _sums_before(of_pieces).add_(before.sums * self.rescale)
        plain = self.v1.sum(2, keepdim=True)
        self.plain = _sums_before(plain) + before.plain
        self.after = State(
            self.sums[:, -1:] + of_pieces[:, -1:], self.plain[:, -1:] + plain[:, -1:], keys.c
        )

    def _epsilon(self, keys: Keys, piece: int) -> Tensor:
        """Return ε for each query (G, K, S, 1), on the scale of the features of this chunk's keys.

        A query reads keys up to itself only, and their stabiliser is at most that of the chunk:
        f has the factor exp(c of the query - c of the chunk), so ε has it too. The factor ends
        where f would leave the range of the type.
        """
        least = 0.7 * math.log(torch.finfo(keys.f.dtype).tiny)
        factor = (keys.c_T - keys.c).clamp_(min=least).exp_()
        return factor.mul_(self.favor.added).unflatten(1, (-1, piece))[..., None]

    def outputs(self) -> tuple[Tensor, Tensor, Tensor]:
        """Return the sums that are divided (G, K, S, D + 1), the pairs (G, K, S, S) and ε Σ φ(q)."""
        of_epsilon = self.epsilon * self.features_q.sum(-1, keepdim=True)
        pairs = (self.features_q @ self.fk.mT).add_(of_epsilon).tril_()
        sums = pairs @ self.v1 + self.features_q @ self.sums
        return sums.addcmul_(of_epsilon, self.plain), pairs, of_epsilon

    def gradients(self, grad: Tensor, later: State) -> tuple[Tensor, Tensor, Tensor, State]:
        """Return the gradients of q, k, v (G, K, S, D) and of the state before the chunk.

        Args:
            grad: Of the output.
            later: Gradient of the state after the chunk.
        """
        sums, pairs, of_epsilon = self.outputs()
        of_sums = gradient_of_sums(sums, divided(sums), grad.unflatten(1, self.q.shape[1:3]))
        of_pairs = (of_sums @ self.v1.mT).tril_()
        by_epsilon = of_pairs.sum(-1, keepdim=True) + (of_sums * self.plain).sum(-1, keepdim=True)
        of_q = of_pairs @ self.fk + of_sums @ self.sums.mT
        of_q += self.epsilon * by_epsilon
        of_state, of_plain = self.features_q.mT @ of_sums, (of_epsilon * of_sums).sum(2, True)
        state_after, plain_after = (
            _sums_before(x.flip(1)).flip(1) + y
            for x, y in ((of_state, later.sums), (of_plain, later.plain))
        )
        of_k = of_pairs.mT @ self.features_q + self.v1 @ state_after.mT
        of_v = pairs.mT @ of_sums + self.fk @ state_after + plain_after
        before = State(
            (state_after[:, :1] + of_state[:, :1]) * self.rescale,
            plain_after[:, :1] + of_plain[:, :1],
            later.c,
        )
        dq = self.favor.gradient(of_q, self.fq, self.q, self.w_MD)
        dk = self.favor.gradient(of_k, self.fk, self.k, self.w_MD)
        return dq, dk, of_v[..., :-1], before


def _chunk(
    inputs, keep, heads: slice, tokens: slice, settings, before: State, piece: int
) -> _Chunk:
    part = None if keep is None else keep[heads, tokens]
    return _Chunk(*(x[heads, tokens] for x in inputs), part, *settings, before, piece)


class FavorCausal(torch.autograd.Function):
    """Output (G, T, D); backward starts from the sums at the start of each chunk, which are kept."""

    @staticmethod
    def forward(ctx, q, k, v, keep: Tensor | None, w_MD: Tensor, favor: Favor) -> Tensor:
        out, states, inputs = torch.empty_like(q), [], (q, k, v)
        for heads in head_groups(len(q), len(w_MD), q.device):
            state = _first_state(len(q[heads]), w_MD, q.shape[-1], favor)
            for tokens, piece in token_chunks(q.shape[1]):
                states.append(state)
                chunk = _chunk(inputs, keep, heads, tokens, (w_MD, favor), state, piece)
                sums, *_ = chunk.outputs()
                out[heads, tokens] = divided(sums).flatten(1, 2).to(out.dtype)
                state = chunk.after
        ctx.save_for_backward(*inputs, keep, w_MD, *(x for state in states for x in state))
        ctx.favor = favor
        return out

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, grad):
        *inputs, keep, w_MD = ctx.saved_tensors[:5]
        q, favor = inputs[0], ctx.favor
        kept = iter(ctx.saved_tensors[5:])
        gradients = [torch.empty_like(x) for x in inputs]
        chunks = token_chunks(q.shape[1])
        for heads in head_groups(len(q), len(w_MD), q.device):
            states = [State(next(kept), next(kept), next(kept)) for _ in chunks]
            later = _first_state(len(q[heads]), w_MD, q.shape[-1], favor)
            for (tokens, piece), state in zip(reversed(chunks), reversed(states), strict=True):
                chunk = _chunk(inputs, keep, heads, tokens, (w_MD, favor), state, piece)
                *parts, later = chunk.gradients(wide(grad[heads, tokens]), later)
                for whole, part in zip(gradients, parts, strict=True):
                    whole[heads, tokens] = part.flatten(1, 2).to(whole.dtype)
        return *gradients, None, None, None
