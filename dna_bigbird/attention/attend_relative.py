"""Causal windows with relative positions: the attention of Longformer's character models.

Token i reads key j of its window with the score ((q_i + u) · k_j + (q_i + v) · p_{i-j}) / √D, where p
projects a sinusoidal encoding of the distance (Dai et al. 2019, Transformer-XL, §3.3; Beltagy et al.
2020, §4.1). There are neither global tokens nor padding: a causal model needs none on its right.
"""

# B batch, H heads, T tokens, D head dimension, R keys of a window, E features

import torch
from torch import Tensor

from dna_bigbird.attention.backends.longformer_band import Cut
from dna_bigbird.attention.backends.longformer_dilated import blocked
from dna_bigbird.attention.backends.longformer_positions import Positions
from dna_bigbird.attention.patterns.longformer import LongformerPattern
from dna_bigbird.attention.patterns.longformer_layout import LongformerLayout


def attend_relative(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    content_bias: Tensor,
    position_bias: Tensor,
    table: Tensor,
    pattern: LongformerPattern,
    dropout_p: float = 0.0,
    cut: Cut | None = None,
) -> Tensor:
    """Return the output (B, H, T, D); linear in the length, forward and backward.

    Args:
        q, k, v: (B, H, T, D), not scaled.
        content_bias, position_bias: (H, D), the paper's u and v.
        table: (H, R, D): row m of head h is p of the distance m · dilation(h). At least `window_rows`
            rows; more are not read.
        pattern: Causal.
        dropout_p: Dropout of the attention weights; the caller passes 0 in evaluation.
        cut: How the work is cut; by default as the device computes well.

    Raises:
        ValueError: If the pattern is not causal, shapes do not fit each other, or the table is short.
    """
    if not pattern.is_causal:
        raise ValueError("relative positions need a causal pattern, got is_causal=False")
    pattern.check_heads(q.shape[1])
    _check_shapes(q, k, v, content_bias, position_bias, table, window_rows(pattern, q.shape[2]))
    if not 0 <= dropout_p < 1:
        raise ValueError(f"dropout_p must be at least 0 and below 1, got {dropout_p}")
    return _attend(q, k, v, content_bias, position_bias, table, pattern, dropout_p, cut)


@torch.compiler.disable
def _attend(q, k, v, content_bias, position_bias, table, pattern, dropout_p, cut) -> Tensor:
    device = q.device.type
    dtype = torch.get_autocast_dtype(device) if torch.is_autocast_enabled(device) else q.dtype
    with torch.autocast(device, enabled=False):
        q_content, q_position = (
            (q + bias[:, None]).to(dtype) for bias in (content_bias, position_bias)
        )
        k, v, table = (x.to(dtype) for x in (k, v, table))
        positions = Positions(q_position, table.expand(len(q), -1, -1, -1))
        layout = LongformerLayout.without_padding(len(q), q.shape[2], q.device)
        return blocked(q_content, k, v, pattern, layout, dropout_p, cut, positions)


def window_rows(pattern: LongformerPattern, num_tokens: int) -> int:
    """Return how many keys a window has at most in a sequence: rows of the table.

    Example:
        >>> window_rows(LongformerPattern(window=8, dilations=(1, 2), is_causal=True), num_tokens=6)
        6
    """
    return min(pattern.window, -(-num_tokens // min(pattern.dilations)) - 1) + 1


def sinusoids(distances: Tensor, num_features: int, dtype: torch.dtype) -> Tensor:
    """Return sines, then cosines, of the distances times num_features / 2 frequencies: (…, E).

    The frequencies are 10,000^(-2 i / E). Angles are taken in float64, so that those of large distances
    are as exact as those of small ones.

    Args:
        distances: (…) integers.
        num_features: E, even.
    """
    exponents = torch.arange(0, num_features, 2, dtype=torch.float64, device=distances.device)
    angles = distances[..., None].double() * 10_000.0 ** (-exponents / num_features)
    return torch.cat([angles.sin(), angles.cos()], dim=-1).to(dtype)


def _check_shapes(q, k, v, content_bias, position_bias, table, least: int) -> None:
    H, D = q.shape[1], q.shape[3]
    for name, x, expected in (
        ("k", k, q.shape),
        ("v", v, q.shape),
        ("content_bias", content_bias, (H, D)),
        ("position_bias", position_bias, (H, D)),
        ("table", table, (H, table.shape[1], D)),
    ):
        if tuple(x.shape) != tuple(expected):
            raise ValueError(f"{name} must be {tuple(expected)}, got {tuple(x.shape)}")
    if table.shape[1] < least:
        raise ValueError(f"table must have at least {least} rows, got {table.shape[1]}")
