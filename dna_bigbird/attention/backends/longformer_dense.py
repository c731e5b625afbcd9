"""Longformer with the whole score matrix: for short sequences, and for tests."""

# B batch, H heads, T tokens, G global tokens, D head dimension

import torch
from torch import Tensor

from dna_bigbird.attention.backends.dense import dense_attention
from dna_bigbird.attention.patterns.longformer import LongformerPattern
from dna_bigbird.attention.patterns.longformer_layout import LongformerLayout


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
