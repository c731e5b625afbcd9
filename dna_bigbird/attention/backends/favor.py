"""Attention by features in linear time, every query reads every key."""

import math
from collections.abc import Iterator
from typing import NamedTuple

import torch
from torch import Tensor

from dna_bigbird.attention.favor_features import LEAST, Favor

# G sequences times heads, K pieces, S tokens in a piece, M features, D head dimension


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
    """Compute the features of a chunk; `c` (G, 1) is the stabiliser of the keys before it."""
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


# --- Causal attention by features in linear time: sums over earlier pieces, pairs within a piece ---

# G sequences times heads, K pieces of S tokens in a chunk, M features, D head dimension


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
    """Return for each piece (dimension 1) the sum over earlier ones."""
    # Not the cumulative sum minus the piece: the sizes of pieces differ too much to be subtracted.
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
        """Return ε of each query (G, K, S, 1), on the scale of the chunk's features of keys."""
        # A query reads keys up to itself only, and their stabiliser is at most that of the chunk: f has the
        # factor exp(c of the query - c of the chunk), so ε has it too. The factor ends where f would leave
        # the range of the type.
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
        """Return the gradients of q, k, v (G, K, S, D) and of the state before the chunk."""
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


# G sequences times heads, T tokens, M features, D head dimension


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
