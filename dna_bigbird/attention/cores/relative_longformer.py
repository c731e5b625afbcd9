"""Longformer's causal windows with relative positions, for character models."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from dna_bigbird.attention.backends.longformer_band import Cut, Positions
from dna_bigbird.attention.backends.longformer_windows import blocked
from dna_bigbird.attention.patterns.longformer import LongformerPattern
from dna_bigbird.attention.patterns.longformer_layout import LongformerLayout

# Causal windows with relative positions: the attention of Longformer's character models.
#
# Token i reads key j of its window with the score ((q_i + u) · k_j + (q_i + v) · p_{i-j}) / √D, where p
# projects a sinusoidal encoding of the distance (Dai et al. 2019, Transformer-XL, §3.3; Beltagy et al.
# 2020, §4.1). There are neither global tokens nor padding: a causal model needs none on its right.

# B batch, H heads, T tokens, D head dimension, R keys of a window, E features


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
        content_bias, position_bias: (H, D), the paper's u and v.
        table: (H, R, D): row m of head h is p of the distance m · dilation(h). At least `window_rows`
            rows; more are not read.

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
    """Return how many keys a window has at most in a sequence: rows of the table."""
    return min(pattern.window, -(-num_tokens // min(pattern.dilations)) - 1) + 1


def sinusoids(distances: Tensor, num_features: int, dtype: torch.dtype) -> Tensor:
    """Return sines, then cosines, of the distances times 10,000^(-2 i / E): (…, E)."""
    # Angles are taken in float64, so that those of large distances are as exact as those of small ones.
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


# B batch, T tokens, E hidden size, H heads, D head size, R keys of a window


class RelativeLongformer(nn.Module):
    """Multi-head attention over a causal window, with relative positions (see `attend_relative`).

    `qkv` and `output` mean the same as in the other cores. `position` projects the sinusoids of a
    distance, in tokens also for a dilated head. `content_bias` and `position_bias` are u and v of
    Transformer-XL, of all heads in one vector. They start at 0.

    Args:
        pattern: Window and dilations of this layer; causal; may be replaced later.
        qkv_bias, output_bias: Whether the projections have a bias; in Transformer-XL none has.
        dropout_p: Dropout of the attention weights in training.

    Raises:
        ValueError: If the heads do not divide the hidden size or do not fit the dilations, or the
            hidden size is odd.
    """

    def __init__(
        self,
        hidden_size: int,
        num_heads: int,
        pattern: LongformerPattern,
        *,
        qkv_bias: bool = False,
        output_bias: bool = False,
        dropout_p: float = 0.0,
    ) -> None:
        super().__init__()
        if hidden_size % num_heads or hidden_size % 2:
            raise ValueError(
                f"hidden_size must be even and a multiple of num_heads {num_heads}, got {hidden_size}"
            )
        pattern.check_heads(num_heads)
        self.num_heads, self.head_dim = num_heads, hidden_size // num_heads
        self.pattern, self.dropout_p = pattern, dropout_p
        self.qkv = nn.Linear(hidden_size, 3 * hidden_size, bias=qkv_bias)
        self.position = nn.Linear(hidden_size, hidden_size, bias=False)
        self.content_bias = nn.Parameter(torch.zeros(hidden_size))
        self.position_bias = nn.Parameter(torch.zeros(hidden_size))
        self.output = nn.Linear(hidden_size, hidden_size, bias=output_bias)

    def forward(self, x_BTE: Tensor) -> Tensor:
        """Return the attention output (batch, tokens, hidden) of whole sequences."""
        heads = self.qkv(x_BTE).unflatten(-1, (3, self.num_heads, self.head_dim))
        q, k, v = (x.transpose(1, 2) for x in heads.unbind(2))
        mixed = attend_relative(
            q,
            k,
            v,
            *(x.unflatten(0, (-1, self.head_dim)) for x in (self.content_bias, self.position_bias)),
            self.table(x_BTE.shape[1]),
            self.pattern,
            self.dropout_p if self.training else 0.0,
        )
        return self.output(mixed.transpose(1, 2).flatten(2))

    def table(self, num_tokens: int) -> Tensor:
        """Return the projected distances of the keys of each head's window: (H, R, D)."""
        rows, weight_HDE = window_rows(self.pattern, num_tokens), self._position_of_heads()
        steps = torch.arange(rows, device=weight_HDE.device)
        groups = self.pattern.heads_by_dilation(self.num_heads)
        parts = []
        for dilation, heads in groups.items():
            features_RE = sinusoids(steps * dilation, weight_HDE.shape[-1], weight_HDE.dtype)
            projected = F.linear(features_RE, weight_HDE[heads].flatten(0, 1))
            parts.append(projected.unflatten(-1, (len(heads), -1)).transpose(0, 1))
        order = torch.tensor([h for heads in groups.values() for h in heads])
        return torch.cat(parts)[order.argsort().to(weight_HDE.device)]

    def _position_of_heads(self) -> Tensor:
        return self.position.weight.unflatten(0, (self.num_heads, self.head_dim))
