"""BigBird-ETC with the whole score matrix: for short long streams, and for tests."""

# B batch, H heads, Q queries, L long tokens, G global tokens, K keys of both streams: L + G,
# D head dimension, V labels

import torch
from torch import Tensor

from dna_bigbird.attention.etc_heads import EtcHeads, label_scores, wide
from dna_bigbird.attention.patterns.etc import EtcPattern
from dna_bigbird.attention.patterns.etc_layout import EtcLayout, offset_labels


def dense_etc_long(
    heads: EtcHeads, pattern: EtcPattern, layout: EtcLayout, dropout_p: float = 0.0
) -> Tensor:
    """Return the output of the long stream (B, H, L, D); quadratic in its length."""
    L = layout.long_padding.shape[1]
    at = torch.arange(L, device=heads.q.device)
    if pattern.local_mode == "exact":
        in_band = (at[:, None] - at).abs() <= pattern.radius
    else:
        block = at // pattern.radius
        in_band = (block[:, None] - block).abs() <= 1
    queries, keys = layout.band_segments(pattern)
    reads_long = in_band & (queries[:, :, None] == keys[:, None])
    reads = torch.cat([reads_long, layout.long_reads_global(pattern, slice(None))], dim=2)
    labels = torch.cat(
        [
            offset_labels(pattern, L, heads.q.device).expand(len(heads.q), -1, -1),
            torch.where(layout.belongs, pattern.label_belongs, pattern.label_outside),
        ],
        dim=2,
    )
    return dense_heads(heads, labels, reads, dropout_p)


def dense_etc_global(
    heads: EtcHeads, pattern: EtcPattern, layout: EtcLayout, dropout_p: float = 0.0
) -> Tensor:
    """Return the output of the global stream (B, H, G, D); every score is in memory."""
    belongs = torch.where(layout.belongs.mT, pattern.label_belongs, pattern.label_outside)
    labels = torch.cat([belongs, layout.global_labels(pattern)], dim=2)
    reads_long = layout.global_reads_long(pattern, slice(None))
    reads = torch.cat([reads_long, layout.global_reads_global()], dim=2)
    return dense_heads(heads, labels, reads, dropout_p)


def dense_heads(heads: EtcHeads, labels_BQK: Tensor, reads_BQK: Tensor, dropout_p: float) -> Tensor:
    """Attend over long, then global keys, with any labels and masks: (B, H, Q, D)."""
    q_BHQD = heads.q
    k_BHKD = torch.cat([heads.k_long, heads.k_global], dim=2)
    v_BHKD = torch.cat([heads.v_long, heads.v_global], dim=2)
    scores_BHQK = ((q_BHQD * q_BHQD.shape[-1] ** -0.5) @ k_BHKD.mT).to(wide(q_BHQD.dtype))
    index_BHQK = labels_BQK[:, None].expand(-1, q_BHQD.shape[1], -1, -1)
    scores_BHQK = scores_BHQK + label_scores(heads).gather(3, index_BHQK)
    reads_B1QK = reads_BQK[:, None]
    # Finite, or the gradients of a query without keys are NaN.
    weights_BHQK = scores_BHQK.masked_fill(~reads_B1QK, -1e30).softmax(dim=-1) * reads_B1QK
    if dropout_p:
        weights_BHQK = torch.dropout(weights_BHQK, dropout_p, train=True)
    return weights_BHQK.to(v_BHKD.dtype) @ v_BHKD
