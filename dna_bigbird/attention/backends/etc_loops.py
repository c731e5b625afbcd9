"""The oracle of BigBird-ETC: a loop over every query, in plain integers. For tests."""

from collections.abc import Iterator

import torch
from torch import Tensor

from dna_bigbird.attention.etc_heads import EtcHeads
from dna_bigbird.attention.patterns.etc import EtcPattern
from dna_bigbird.attention.patterns.etc_layout import EtcLayout

LONG, GLOBAL = 0, 1
Key = tuple[int, int, int]
"""Stream, position in it, label."""


class Example:
    """One row of a layout as lists, and who reads whom there."""

    def __init__(self, pattern: EtcPattern, layout: EtcLayout, row: int) -> None:
        def listed(x: Tensor | None, length: int) -> list:
            return [0] * length if x is None else x[row].tolist()

        self.pattern = pattern
        self.long_padding = layout.long_padding[row].tolist()
        self.global_padding = layout.global_padding[row].tolist()
        self.belongs = layout.belongs[row].tolist()
        num_long, num_global = len(self.long_padding), len(self.global_padding)
        self.long_segments = listed(layout.long_segments, num_long)
        self.global_segments = listed(layout.global_segments, num_global)
        self.free_global = listed(layout.free_global, num_global)
        self.free_long = listed(layout.free_long, num_long)

    def keys_of_long(self, query: int) -> Iterator[Key]:
        """Yield what long token `query` reads."""
        pattern = self.pattern
        if self.long_padding[query]:
            return
        for key, is_padding in enumerate(self.long_padding):
            is_cut = pattern.cuts and self.long_segments[key] != self.long_segments[query]
            if pattern.in_band(query, key) and not is_padding and not is_cut:
                yield LONG, key, pattern.offset_label(key - query)
        for key, is_padding in enumerate(self.global_padding):
            belongs = self.belongs[query][key]
            is_hidden = pattern.hard_l2g and not belongs and not self.free_long[query]
            if not is_padding and not is_hidden:
                yield GLOBAL, key, pattern.cross_label(belongs)

    def keys_of_global(self, query: int) -> Iterator[Key]:
        """Yield what global token `query` reads."""
        pattern, segments = self.pattern, self.global_segments
        if self.global_padding[query]:
            return
        for key, is_padding in enumerate(self.global_padding):
            if not is_padding:
                label = pattern.global_label(query, key, segments[query], segments[key])
                yield GLOBAL, key, label
        for key, is_padding in enumerate(self.long_padding):
            belongs = self.belongs[key][query]
            is_hidden = pattern.hard_g2l and not belongs and not self.free_global[query]
            if not is_padding and not is_hidden:
                yield LONG, key, pattern.cross_label(belongs)


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
