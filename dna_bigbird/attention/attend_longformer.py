"""One call for either softmax of Longformer and every way to compute it (Beltagy et al. 2020, §3.1).

An ordinary token has one softmax over its window and all global tokens, by the ordinary projections; a
global token in its window counts once. A global token has one over all tokens, by the global
projections. If the pattern is causal, neither reads a later token.
"""

# B batch, H heads, T tokens, G global tokens, D head dimension

import torch
from torch import Tensor

from dna_bigbird.attention.backends.longformer_dense import dense_longformer_global, dense_windows
from dna_bigbird.attention.backends.longformer_windows import blocked, blocked_global
from dna_bigbird.attention.patterns.longformer import LongformerPattern
from dna_bigbird.attention.patterns.longformer_layout import LongformerLayout

LONGFORMER_BACKENDS = {
    "dense": (dense_windows, dense_longformer_global),
    "blocked": (blocked, blocked_global),
}
DENSE_UP_TO = 64
"""Tokens up to which 'auto' takes 'dense' (docs/attention.md: cost)."""


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
