"""The oracle of Longformer: a loop over every pair of tokens of every head, in plain integers. For tests."""

# B batch, H heads, T tokens, G global tokens, Q queries, D head dimension

from typing import NamedTuple

import torch
from torch import Tensor

from dna_bigbird.attention.patterns.longformer import LongformerPattern
from dna_bigbird.attention.patterns.longformer_layout import Example, LongformerLayout


class LongformerHeads(NamedTuple):
    """Projected queries, keys and values, not scaled.

    Attributes:
        q, k, v: (B, H, T, D), by the ordinary projections: for windows, and for global tokens as keys.
        q_global: (B, H, G, D), by the global ones, of global tokens (`LongformerLayout.gathered`).
        k_global, v_global: (B, H, T, D), by the global ones, of all tokens: for global queries.
    """

    q: Tensor
    k: Tensor
    v: Tensor
    q_global: Tensor
    k_global: Tensor
    v_global: Tensor


def attend_in_loops(
    heads: LongformerHeads, pattern: LongformerPattern, layout: LongformerLayout
) -> Tensor:
    """Return the output (B, H, T, D). A query without keys gives zero."""
    B, H, T, _ = heads.q.shape
    rows = []
    for b in range(B):
        example = Example(pattern, layout, b)
        for h in range(H):
            keys = [[key for key, _ in example.keys(i, h)] for i in range(T)]
            # Global tokens are numbered from left to right.
            order = [i for i in range(T) if example.is_global[i]]
            of_global = (x[b, h] for x in heads[3:])
            out_GD = _one_head(*of_global, [keys[i] for i in order])
            out_TD = _one_head(*(x[b, h] for x in heads[:3]), keys)
            rows += [out_GD[order.index(i)] if i in order else out_TD[i] for i in range(T)]
    return torch.stack(rows).view(heads.q.shape)


def _one_head(q_QD: Tensor, k_TD: Tensor, v_TD: Tensor, keys: list[list[int]]) -> Tensor:
    """Return the softmax of the scores of the listed keys, times the values: (Q, D)."""
    reads_QT = torch.zeros(len(q_QD), len(k_TD), dtype=torch.bool)
    for query, listed in enumerate(keys):
        reads_QT[query, listed] = True
    scores_QT = q_QD @ k_TD.T / q_QD.shape[-1] ** 0.5
    has_keys_Q1 = reads_QT.any(1, keepdim=True)
    hidden_QT = ~reads_QT & has_keys_Q1
    weights_QT = scores_QT.masked_fill(hidden_QT, -torch.inf).softmax(dim=1) * has_keys_Q1
    return weights_QT @ v_TD
