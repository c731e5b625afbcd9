"""Longformer attention with its two sets of projections."""

# B batch, T tokens, G global tokens, E hidden size, H heads, D head size

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from dna_bigbird.attention.attend_longformer import attend_global, attend_windows
from dna_bigbird.attention.backends.longformer_states import attend_states
from dna_bigbird.attention.patterns.longformer import LongformerPattern
from dna_bigbird.attention.patterns.longformer_layout import LongformerLayout

STATES_UP_TO = 0.5
"""Global tokens, as a share of the head size, up to which they read states. At 1 both ways have about as
many products; states compute some again in the backward pass (docs/attention.md: cost)."""


class Longformer(nn.Module):
    """Multi-head attention over a window, with global tokens (Beltagy et al. 2020, §3.1).

    `qkv` and `output` mean the same as in the other cores, so weights move. `global_qkv` has the
    queries of global tokens, and the keys and values that they read; everything else uses `qkv`, also
    other tokens that read a global one. It starts as a copy of `qkv`.

    Args:
        pattern: Window, dilations and causality of this layer; may be replaced later.
        separate_global: Whether global tokens have projections of their own. Without them they use
            `qkv`; the character models of the paper, which have no global token, have none.
        qkv_bias, output_bias: Whether the projections have a bias.
        dropout_p: Dropout of the attention weights in training; the public code applies 0.1.
        backend: See `attend_windows`. It may be changed at any time.

    Raises:
        ValueError: If the heads do not divide the hidden size, or do not fit the dilations.
    """

    def __init__(
        self,
        hidden_size: int,
        num_heads: int,
        pattern: LongformerPattern,
        *,
        separate_global: bool = True,
        qkv_bias: bool = True,
        output_bias: bool = True,
        dropout_p: float = 0.1,
        backend: str = "auto",
    ) -> None:
        super().__init__()
        if hidden_size % num_heads:
            raise ValueError(f"num_heads {num_heads} does not divide hidden_size {hidden_size}")
        pattern.check_heads(num_heads)
        self.num_heads, self.head_dim = num_heads, hidden_size // num_heads
        self.pattern, self.dropout_p, self.backend = pattern, dropout_p, backend
        self.qkv = nn.Linear(hidden_size, 3 * hidden_size, bias=qkv_bias)
        self.global_qkv = None
        if separate_global:
            self.global_qkv = nn.Linear(hidden_size, 3 * hidden_size, bias=qkv_bias)
            self.copy_to_global()
        self.output = nn.Linear(hidden_size, hidden_size, bias=output_bias)

    @torch.no_grad()
    def copy_to_global(self) -> None:
        """Set the global projections to the ordinary ones.

        To be repeated after weights were copied into `qkv`, and after pretraining without global
        tokens, which does not train the global projections.
        """
        if self.global_qkv is not None:
            self.global_qkv.load_state_dict(self.qkv.state_dict())

    def forward(self, x_BTE: Tensor, layout: LongformerLayout | None = None) -> Tensor:
        """Return the attention output (batch, tokens, hidden).

        Padding gets the bias of the output projection: the encoder sets it to zero if it matters.

        Args:
            layout: Padding and global tokens, of the same batch; None: there are none.

        Raises:
            ValueError: If the layout is for other tokens.
        """
        if layout is None:
            layout = LongformerLayout.without_padding(*x_BTE.shape[:2], x_BTE.device)
        if tuple(layout.is_padding.shape) != tuple(x_BTE.shape[:2]):
            raise ValueError(
                f"the layout is for (batch, tokens) = {tuple(layout.is_padding.shape)}, got "
                f"{tuple(x_BTE.shape[:2])}"
            )
        if layout.has_padding:  # not even not-a-number has influence
            x_BTE = x_BTE.masked_fill(layout.is_padding[..., None], 0.0)
        settings = (self.pattern, layout, self.dropout_p if self.training else 0.0)
        q, k, v = self._as_heads(self.qkv(x_BTE))
        mixed = attend_windows(q, k, v, *settings, self.backend)
        if layout.num_global:
            if self.global_qkv is None:
                of_global = attend_global(layout.gathered(q), k, v, *settings, self.backend)
            else:
                of_global = self._from_global(x_BTE, *settings)
            mixed = layout.with_global(mixed, of_global)
        return self.output(mixed.transpose(1, 2).flatten(2))

    def _from_global(self, x_BTE: Tensor, *settings: object) -> Tensor:
        """Return the output of global tokens (B, H, G, D) by their own projections."""
        _, layout, _ = settings
        E, weight, bias = x_BTE.shape[-1], self.global_qkv.weight, self.global_qkv.bias
        of_query, of_key = (None, None) if bias is None else (bias[:E], bias[E:])
        (q,) = self._as_heads(F.linear(layout.gathered(x_BTE), weight[:E], of_query))
        if self.backend != "dense" and layout.num_global <= STATES_UP_TO * self.head_dim:
            return attend_states(q, x_BTE, weight[E:], of_key, *settings)
        k, v = self._as_heads(F.linear(x_BTE, weight[E:], of_key))
        return attend_global(q, k, v, *settings, self.backend)

    def _as_heads(self, x_BTE: Tensor) -> tuple[Tensor, ...]:
        heads = x_BTE.unflatten(-1, (-1, self.num_heads, self.head_dim))
        return tuple(x.transpose(1, 2) for x in heads.unbind(2))
