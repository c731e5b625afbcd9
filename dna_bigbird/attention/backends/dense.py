"""The whole score matrix, of every attention: the oracle, and for short sequences."""

import functools
import math

import torch
from torch import Tensor

from dna_bigbird.attention.etc_heads import EtcHeads, label_scores, wide
from dna_bigbird.attention.favor_features import LEAST, Favor
from dna_bigbird.attention.patterns import BlockPattern
from dna_bigbird.attention.patterns.etc import EtcPattern
from dna_bigbird.attention.patterns.etc_layout import EtcLayout, offset_labels
from dna_bigbird.attention.patterns.longformer import LongformerPattern
from dna_bigbird.attention.patterns.longformer_layout import LongformerLayout

# B batch, H heads, T tokens, D head dimension, Q queries, K keys, M features of a Performer,
# of BigBird-ETC: L long tokens, G global tokens, K = L + G, V labels


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


def favor_dense(
    q_BHTD: Tensor, k_BHTD: Tensor, v_BHTD: Tensor, w_MD: Tensor, favor: Favor,
    is_padding_BT: Tensor | None, causal: bool,
) -> Tensor:  # fmt: skip
    """Return attention by features in O(T² M), float32 or better; zero for a query without keys."""
    T = q_BHTD.shape[2]
    reads_TT = torch.ones(T, T, dtype=torch.bool, device=q_BHTD.device)
    reads = (reads_TT.tril() if causal else reads_TT)[None, None]
    if is_padding_BT is not None:
        reads = reads & ~is_padding_BT[:, None, None, :]
    of_q, of_k = favor.exponents(q_BHTD, w_MD), favor.exponents(k_BHTD, w_MD)
    c_q, tops = favor.tops(of_q, q_BHTD), favor.tops(of_k, k_BHTD)
    features_q = favor.values(of_q, c_q[..., None]) + favor.added
    c_k = tops[..., None, :].masked_fill(~reads, LEAST).amax(-1)  # of the keys that a query reads
    # A key that is not read may be above c: no infinity, or the gradients are not numbers.
    read_k = of_k[..., None, :, :].masked_fill(~reads[..., None], LEAST)  # for each query
    features_k = favor.values(read_k, c_k[..., None, None]) + favor.added
    features_k = features_k.masked_fill(~reads[..., None], 0.0)
    weights = (features_q[..., None, :] * features_k).sum(-1)
    total = weights.sum(-1, keepdim=True)
    return weights @ v_BHTD / total.masked_fill(total == 0, 1.0)


def dense_attention(
    q_BHQD: Tensor, k_BHKD: Tensor, v_BHKD: Tensor, times_BHQK: Tensor, dropout_p: float = 0.0
) -> Tensor:
    """Attend over the whole score matrix in float32 or better: backends are compared with it.

    `times_BHQK` (broadcastable) is how often each query counts each key: 0 hides it, 2 occurs in
    the published table for 1,024 tokens. A query that counts no key at all gives zero.
    """
    scores_BHQK = q_BHQD @ k_BHKD.mT / math.sqrt(q_BHQD.shape[-1])
    scores_BHQK = scores_BHQK.to(torch.promote_types(scores_BHQK.dtype, torch.float32))
    # Finite, or the gradients of a query without keys are NaN.
    log_times = times_BHQK.to(scores_BHQK.dtype).log().clamp(min=-1e30)
    weights_BHQK = (scores_BHQK + log_times).softmax(dim=-1) * (times_BHQK > 0)
    if dropout_p:
        weights_BHQK = torch.dropout(weights_BHQK, dropout_p, train=True)
    return weights_BHQK.to(v_BHKD.dtype) @ v_BHKD


@functools.lru_cache(maxsize=8)
@torch.inference_mode(False)  # kept for training too, also if inference asks first
def token_times(pattern: BlockPattern, length: int, device: torch.device) -> Tensor:
    """Return how often each query token counts each key token: (heads, length, length)."""
    times = torch.from_numpy(pattern.times()).to(device)
    b = pattern.block_size
    return times.repeat_interleave(b, 1).repeat_interleave(b, 2)[:, :length, :length]


def dense(
    q_BHTD: Tensor,
    k_BHTD: Tensor,
    v_BHTD: Tensor,
    pattern: BlockPattern,
    key_padding_mask_BT: Tensor | None,
    dropout_p: float,
) -> Tensor:
    """Backend `dense`; see `attend` for the arguments."""
    times_BHTT = token_times(pattern, q_BHTD.shape[2], q_BHTD.device)[None]
    if key_padding_mask_BT is not None:
        times_BHTT = times_BHTT * ~key_padding_mask_BT[:, None, None, :]
    return dense_attention(q_BHTD, k_BHTD, v_BHTD, times_BHTT, dropout_p)


def dense_windows(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    pattern: LongformerPattern,
    layout: LongformerLayout,
    dropout_p: float = 0.0,
) -> Tensor:
    """Return the output of ordinary tokens (B, H, T, D), zero for the others; quadratic."""
    H, T = q.shape[1:3]
    at = torch.arange(T, device=q.device)
    dilations = torch.tensor([pattern.dilation(h) for h in range(H)], device=q.device)
    offset = at - at[:, None]
    reach = pattern.window * dilations[:, None, None]
    in_window = (offset % dilations[:, None, None] == 0) & (offset.abs() <= reach)
    is_global = layout.no_window & ~layout.is_padding
    reads = in_window | is_global[:, None, None]
    if pattern.is_causal:
        reads = reads & (offset <= 0)
    reads = reads & ~layout.is_padding[:, None, None] & ~layout.no_window[:, None, :, None]
    return dense_attention(q, k, v, reads, dropout_p)


def dense_longformer_global(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    pattern: LongformerPattern,
    layout: LongformerLayout,
    dropout_p: float = 0.0,
) -> Tensor:
    """Return the output of global tokens (B, H, G, D); every score is in memory."""
    reads = ~layout.hidden_from_global(pattern.is_causal)
    return dense_attention(q, k, v, reads[:, None], dropout_p)
