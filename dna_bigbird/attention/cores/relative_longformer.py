"""Longformer's causal windows with relative positions, for character models."""

# B batch, T tokens, E hidden size, H heads, D head size, R keys of a window

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from dna_bigbird.attention.attend_relative import attend_relative, sinusoids, window_rows
from dna_bigbird.attention.patterns.longformer import LongformerPattern


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
