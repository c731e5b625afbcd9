"""Longformer attention with its two sets of projections."""

from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from dna_bigbird.attention.backends.dense import dense_longformer_global, dense_windows
from dna_bigbird.attention.backends.longformer_windows import blocked, blocked_global
from dna_bigbird.attention.backends.sdpa import sdpa
from dna_bigbird.attention.cores.projected import ProjectedAttention
from dna_bigbird.attention.packing import Packing
from dna_bigbird.attention.patterns.longformer import LongformerPattern
from dna_bigbird.attention.patterns.longformer_layout import LongformerLayout

# One call for either softmax of Longformer and every way to compute it (Beltagy et al. 2020, §3.1).
#
# An ordinary token has one softmax over its window and all global tokens, by the ordinary projections; a
# global token in its window counts once. A global token has one over all tokens, by the global
# projections. If the pattern is causal, neither reads a later token.

# B batch, H heads, T tokens, G global tokens, D head dimension


LONGFORMER_BACKENDS = {
    "dense": (dense_windows, dense_longformer_global),
    "blocked": (blocked, blocked_global),
}
DENSE_UP_TO = 64
"""Tokens up to which 'auto' takes 'dense' (docs/results/longformer-and-performer-cost.md)."""


def attend_windows(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    pattern: LongformerPattern,
    layout: LongformerLayout,
    dropout_p: float = 0.0,
    backend: str = "auto",
) -> Tensor:
    """Attend from ordinary tokens: one softmax over the window and the global tokens.

    Padding reads nothing and is not read. A query that reads nothing gives exactly zero, and gradients
    stay finite. Backend 'blocked' is linear in the length, 'dense' is not.

    Returns:
        As q (batch, heads, tokens, head dimension), exactly zero for global tokens and padding
        (`LongformerLayout.with_global` adds the former). Under autocast in the type of autocast.

    Raises:
        ValueError: If shapes do not fit each other, or a name or number is out of range.
    """
    pattern.check_heads(q.shape[1])
    expected = (len(layout.is_padding), q.shape[1], layout.is_padding.shape[1], q.shape[-1])
    _check_shapes({"q": q, "k": k, "v": v}, dict.fromkeys("qkv", expected))
    return _attend(0, (q, k, v), pattern, layout, dropout_p, backend)


def attend_global(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    pattern: LongformerPattern,
    layout: LongformerLayout,
    dropout_p: float = 0.0,
    backend: str = "auto",
) -> Tensor:
    """Attend from global tokens (`LongformerLayout.gathered`): one softmax over all tokens."""
    # Unused entries of the layout give any number.
    B, T = layout.is_padding.shape
    keys = (B, q.shape[1], T, q.shape[-1])
    queries = (*keys[:2], layout.num_global, keys[3])
    names = ("q_global", "k_global", "v_global")
    tensors, shapes = (q, k, v), (queries, keys, keys)
    _check_shapes(dict(zip(names, tensors, strict=True)), dict(zip(names, shapes, strict=True)))
    return _attend(1, tensors, pattern, layout, dropout_p, backend)


@torch.compiler.disable
def _attend(
    softmax: int,
    tensors: tuple[Tensor, ...],
    pattern: LongformerPattern,
    layout: LongformerLayout,
    dropout_p: float,
    backend: str,
) -> Tensor:
    if not 0 <= dropout_p < 1:
        raise ValueError(f"dropout_p must be at least 0 and below 1, got {dropout_p}")
    if backend != "auto" and backend not in LONGFORMER_BACKENDS:
        names = ", ".join(LONGFORMER_BACKENDS)
        raise ValueError(f"backend must be one of auto, {names}; got {backend!r}")
    device = tensors[0].device.type
    if torch.is_autocast_enabled(device):
        dtype = torch.get_autocast_dtype(device)
        tensors = tuple(x.to(dtype) for x in tensors)
    if backend == "auto":
        backend = "dense" if layout.is_padding.shape[1] <= DENSE_UP_TO else "blocked"
    with torch.autocast(device, enabled=False):
        tensors = _without_padding(softmax, tensors, layout)
        return LONGFORMER_BACKENDS[backend][softmax](*tensors, pattern, layout, dropout_p)


def _without_padding(
    softmax: int, tensors: tuple[Tensor, ...], layout: LongformerLayout
) -> tuple[Tensor, ...]:
    """Set the heads of padding and unused entries to zero, so that no value, NaN included, has influence."""
    q, *keys = tensors
    if layout.has_padding:
        hidden = layout.is_padding[:, None, :, None]
        q, *keys = (x if softmax and x is q else x.masked_fill(hidden, 0.0) for x in tensors)
    if softmax:
        q = q.masked_fill(layout.is_unused[:, None, :, None], 0.0)
    return q, *keys


def _check_shapes(tensors: dict[str, Tensor], expected: dict[str, tuple[int, ...]]) -> None:
    for name, x in tensors.items():
        if tuple(x.shape) != expected[name]:
            raise ValueError(
                f"{name} must be {expected[name]} for this layout, got {tuple(x.shape)}"
            )


# Few global queries of Longformer without keys and values of all tokens.
#
# The score of a query q and the key W x of a state x is (Wᵀ q) · x, and a weighted sum of values V x is V
# times the weighted sum of states. So with a few global tokens nobody has to project all tokens: their
# queries are projected back, attend to the states, and the sums of states are projected. With G global
# tokens and H heads this costs G H E per token and product instead of E²: a 64th for one of 12 heads of
# 64. The function is the same.

# B batch, T tokens, G global tokens, E hidden size, H heads, D head size


@torch.compiler.disable
def attend_states(
    q_BHGD: Tensor,
    x_BTE: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    pattern: LongformerPattern,
    layout: LongformerLayout,
    dropout_p: float = 0.0,
) -> Tensor:
    """Return the output of global tokens (B, H, G, D), linear in the length.

    States `x_BTE` are finite, also those of padding. `weight` and `bias` are of keys and values;
    the bias of keys adds the same number to all scores of a query, which changes nothing.
    """
    B, H, G, D = q_BHGD.shape
    E, dtype = x_BTE.shape[-1], q_BHGD.dtype
    device = q_BHGD.device.type
    with torch.autocast(device, enabled=False):
        of_key, of_value = (w.view(H, D, E) for w in weight.to(dtype).chunk(2))
        states = x_BTE.to(dtype)[:, None]
        queries = (q_BHGD * (E / D) ** 0.5) @ of_key  # the softmax divides by √E
        hidden = None
        if pattern.is_causal or layout.has_padding:
            hidden = layout.hidden_from_global(pattern.is_causal)
            hidden = hidden.repeat(1, H, 1)[:, None] if pattern.is_causal else hidden[:, None]
        # A further state of one shows how much of the weights dropout has left.
        values = F.pad(states, (0, 1), value=1.0) if dropout_p else states
        sums = sdpa(queries.flatten(1, 2)[:, None], states, values, hidden, dropout_p)
        sums = sums.view(B, H, G, -1)
        out = sums[..., :E] @ of_value.mT
        if bias is None:
            return out
        of_bias = bias.to(dtype)[E:].view(H, 1, D)
        return out + (of_bias * sums[..., E:] if dropout_p else of_bias)


# B batch, T tokens, P packed tokens, G global tokens, E hidden size, H heads, D head size
# ruff: noqa: N815 - fields carry their shape as a capital suffix, as variables do


STATES_UP_TO = 0.5
"""Global tokens, as a share of the head size, up to which they read states. At 1 both ways have about as
many products; states compute some again in the backward pass (docs/results/longformer-and-performer-cost.md)."""


class LongformerBatch(NamedTuple):
    """What all layers share of a packed batch."""

    layouts: list[LongformerLayout]
    """Padding and global tokens, for each group of sequences of one length."""
    turns_P1F2: Tensor | None
    """Of rotary positions."""


class Longformer(ProjectedAttention):
    """Multi-head attention over a window, with global tokens (Beltagy et al. 2020, §3.1).

    `qkv` and `output` mean the same as in the other cores, so weights move. `global_qkv` has the
    queries of global tokens, and the keys and values that they read; everything else uses `qkv`, also
    other tokens that read a global one. It starts as a copy of `qkv`. Rotary positions and norms, if any,
    are applied to the queries and keys of both; both have the same gains.

    Args:
        pattern: Window, dilations and causality of this layer; may be replaced later.
        separate_global: Whether global tokens have projections of their own. Without them they use
            `qkv`; the character models of the paper, which have no global token, have none.
        dropout_p: Dropout of the attention weights in training; the public code applies 0.1.
        backend: See `attend_windows`. It may be changed at any time.
        projections: Further settings of `ProjectedAttention`.

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
        dropout_p: float = 0.1,
        backend: str = "auto",
        **projections: Any,
    ) -> None:
        super().__init__(hidden_size, num_heads, **projections)
        pattern.check_heads(num_heads)
        self.pattern, self.dropout_p, self.backend = pattern, dropout_p, backend
        self.global_qkv = None
        if separate_global:
            has_bias = self.qkv.bias is not None
            self.global_qkv = nn.Linear(hidden_size, 3 * hidden_size, bias=has_bias)
            self.copy_to_global()

    @torch.no_grad()
    def copy_to_global(self) -> None:
        """Set the global projections to the ordinary ones."""
        # To be repeated after weights were copied into `qkv`, and after pretraining without global tokens,
        # which does not train the global projections.
        if self.global_qkv is not None:
            self.global_qkv.load_state_dict(self.qkv.state_dict())

    def forward(self, x_BTE: Tensor, layout: LongformerLayout | None = None) -> Tensor:
        """Return the attention output (batch, tokens, hidden) of sequences of one length.

        Padding gets the bias of the output projection. Without a `layout` there is neither padding
        nor a global token; a layout for other tokens is a ValueError.
        """
        B, T, E = x_BTE.shape
        if layout is None:
            layout = LongformerLayout.without_padding(B, T, x_BTE.device)
        if tuple(layout.is_padding.shape) != (B, T):
            raise ValueError(
                f"the layout is for (batch, tokens) = {tuple(layout.is_padding.shape)}, got {(B, T)}"
            )
        packing = Packing.of_one_length(B, T, layout.is_padding, x_BTE.device)
        shared = LongformerBatch([layout], self.turns(packing, x_BTE.dtype))
        return self.packed(x_BTE.reshape(B * T, E), packing, shared).view(B, T, E)

    @torch.compiler.disable
    def shared(
        self, packing: Packing, dtype: torch.dtype, is_global_P: Tensor | None = None
    ) -> LongformerBatch:
        """Return the layouts and turns of a packed batch, for all layers."""
        layouts = []
        for group in packing.groups():
            shape = (group.num_sequences, group.num_tokens)
            if group.has_padding:
                is_padding = packing.is_padding_P[group.tokens].view(shape)
            else:
                is_padding = torch.zeros(shape, dtype=torch.bool, device=packing.positions_P.device)
            is_global = None if is_global_P is None else is_global_P[group.tokens].view(shape)
            layouts.append(LongformerLayout(is_padding, is_global))
        return LongformerBatch(layouts, self.turns(packing, dtype))

    def packed(
        self,
        x_PE: Tensor,
        packing: Packing,
        shared: LongformerBatch | None = None,
        first_PE: Tensor | None = None,
    ) -> Tensor:
        """Return the attention output (packed tokens, hidden); see `ProjectedAttention.packed`."""
        if shared is None:
            shared = self.shared(packing, x_PE.dtype)
        return self.projected(self._mix_groups(x_PE, packing, shared, first_PE), x_PE)

    @torch.compiler.disable
    def _mix_groups(
        self, x_PE: Tensor, packing: Packing, shared: LongformerBatch, first_PE: Tensor | None
    ) -> Tensor:
        """Attend group by group; torch.compile leaves this as it is."""
        mixed = []
        for group, layout in zip(packing.groups(), shared.layouts, strict=True):
            shape = (group.num_sequences, group.num_tokens)
            turns = shared.turns_P1F2
            turns = None if turns is None else turns[group.tokens].unflatten(0, shape)
            first = None if first_PE is None else first_PE[group.tokens].unflatten(0, shape)
            out = self._mix(x_PE[group.tokens].unflatten(0, shape), layout, turns, first)
            mixed.append(out.transpose(1, 2).flatten(2).flatten(0, 1))
        return mixed[0] if len(mixed) == 1 else torch.cat(mixed)

    def _mix(
        self,
        x_BTE: Tensor,
        layout: LongformerLayout,
        turns: Tensor | None,
        first_BTE: Tensor | None,
    ) -> Tensor:
        """Return the output of all tokens before the last projection, (B, H, T, D)."""
        if layout.has_padding:  # not even not-a-number has influence
            x_BTE = x_BTE.masked_fill(layout.is_padding[..., None], 0.0)
            if first_BTE is not None:
                first_BTE = first_BTE.masked_fill(layout.is_padding[..., None], 0.0)
        settings = (self.pattern, layout, self.dropout_p if self.training else 0.0)
        q, k, v = (x.transpose(1, 2) for x in self.heads(x_BTE, turns, first_BTE))
        mixed = attend_windows(q, k, v, *settings, self.backend)
        if not layout.num_global:
            return mixed
        if self.global_qkv is None:
            of_global = attend_global(layout.gathered(q), k, v, *settings, self.backend)
        else:
            of_global = self._from_global(x_BTE, turns, first_BTE, *settings)
        return layout.with_global(mixed, of_global)

    def _from_global(
        self, x_BTE: Tensor, turns: Tensor | None, first_BTE: Tensor | None, *settings: object
    ) -> Tensor:
        """Return the output of global tokens (B, H, G, D) by their own projections."""
        _, layout, _ = settings
        E, weight, bias = x_BTE.shape[-1], self.global_qkv.weight, self.global_qkv.bias
        of_query, of_key = (None, None) if bias is None else (bias[:E], bias[E:])
        q = F.linear(layout.gathered(x_BTE), weight[:E], of_query)
        q = q.unflatten(-1, (self.num_heads, self.head_dim))
        own_turns = turns
        if turns is not None:
            own_turns = layout.gathered(turns.flatten(2)).unflatten(2, turns.shape[2:])
        q = self.positioned(q, self.query_norm, own_turns).transpose(1, 2)
        is_plain = turns is None and self.key_norm is None and self.first_value is None
        few = layout.num_global <= STATES_UP_TO * self.head_dim
        if is_plain and few and self.backend != "dense":
            return attend_states(q, x_BTE, weight[E:], of_key, *settings)
        kv = F.linear(x_BTE, weight[E:], of_key).unflatten(-1, (2, self.num_heads, -1))
        k, v = kv.unbind(-3)
        k = self.positioned(k, self.key_norm, turns)
        v = self.with_first(v, x_BTE if first_BTE is None else first_BTE)
        return attend_global(q, k.transpose(1, 2), v.transpose(1, 2), *settings, self.backend)
