"""The oracle of BigBird-ETC: a loop over every query, in plain integers. For tests."""

import torch
from torch import Tensor

from dna_bigbird.attention.etc_heads import EtcHeads
from dna_bigbird.attention.patterns.etc import EtcPattern
from dna_bigbird.attention.patterns.etc_layout import GLOBAL, LONG, EtcLayout, Example, Key


def attend_in_loops(heads: EtcHeads, pattern: EtcPattern, layout: EtcLayout, stream: int) -> Tensor:
    """Return the output of the long or the global stream: (B, H, Q, D).

    One query of one example at a time; all heads of it together. A query without keys gives zero.

    Args:
        stream: LONG or GLOBAL, where the queries come from.
    """
    rows = []
    for b in range(len(heads.q)):
        example = Example(pattern, layout, b)
        keys_of = example.keys_of_long if stream == LONG else example.keys_of_global
        rows += [_one_query(heads, b, i, list(keys_of(i))) for i in range(heads.q.shape[2])]
    B, H, Q, D = heads.q.shape
    return torch.stack(rows).view(B, Q, H, D).transpose(1, 2)


def _one_query(heads: EtcHeads, b: int, i: int, keys: list[Key]) -> Tensor:
    """Return the output of one query: (H, D)."""
    q_HD = heads.q[b, :, i]
    if not keys:
        return torch.zeros_like(q_HD)
    of_stream = ((heads.k_long, heads.v_long), (heads.k_global, heads.v_global))
    read = [[position for stream, position, _ in keys if stream == s] for s in (LONG, GLOBAL)]
    labels = [label for s in (LONG, GLOBAL) for stream, _, label in keys if stream == s]
    k_HKD = torch.cat([k[b, :, at] for (k, _), at in zip(of_stream, read, strict=True)], dim=1)
    v_HKD = torch.cat([v[b, :, at] for (_, v), at in zip(of_stream, read, strict=True)], dim=1)
    a_KHD, bias_KH = heads.label_embeddings[labels], heads.label_biases[labels]
    scores_HK = (q_HD[:, None] * (k_HKD + a_KHD.transpose(0, 1))).sum(-1) + bias_KH.T
    weights_HK = (scores_HK / q_HD.shape[-1] ** 0.5).softmax(dim=-1)
    return (weights_HK[..., None] * v_HKD).sum(1)
