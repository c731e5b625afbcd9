"""One call for either stream of BigBird-ETC and every way to compute it."""

import torch
from torch import Tensor

from dna_bigbird.attention.backends.etc_dense import dense_etc_global, dense_etc_long
from dna_bigbird.attention.backends.etc_global import blocked_global
from dna_bigbird.attention.backends.etc_long import blocked_long
from dna_bigbird.attention.etc_heads import EtcHeads
from dna_bigbird.attention.patterns.etc import EtcPattern
from dna_bigbird.attention.patterns.etc_layout import EtcLayout

ETC_BACKENDS = {
    "dense": (dense_etc_long, dense_etc_global),
    "blocked": (blocked_long, blocked_global),
}
DENSE_UP_TO = 128
"""Long tokens up to which 'auto' takes 'dense' (docs/attention.md: measurements)."""


def attend_long(
    heads: EtcHeads,
    pattern: EtcPattern,
    layout: EtcLayout,
    dropout_p: float = 0.0,
    backend: str = "auto",
) -> Tensor:
    """Attend from long tokens: one softmax over the band and the global tokens.

    The score of a query and a key with label l is (q · k + q · embedding[l] + bias[l]) / √D
    (Ainslie et al. 2020, §3.2). Padding reads nothing and is not read. A query that reads nothing
    gives exactly zero, and gradients stay finite. Backend 'blocked' is linear in the long stream,
    'dense' is not.

    Returns:
        (batch, heads, long tokens, head dimension). Under autocast in the type of autocast.

    Raises:
        ValueError: If shapes do not fit each other, or a name or number is out of range.
    """
    return _attend(0, heads, pattern, layout, dropout_p, backend)


def attend_global(
    heads: EtcHeads,
    pattern: EtcPattern,
    layout: EtcLayout,
    dropout_p: float = 0.0,
    backend: str = "auto",
) -> Tensor:
    """Attend from global tokens: one softmax over global and long tokens; else as `attend_long`."""
    return _attend(1, heads, pattern, layout, dropout_p, backend)


@torch.compiler.disable
def _attend(
    stream: int,
    heads: EtcHeads,
    pattern: EtcPattern,
    layout: EtcLayout,
    dropout_p: float,
    backend: str,
) -> Tensor:
    device = heads.q.device.type
    if torch.is_autocast_enabled(device):
        dtype = torch.get_autocast_dtype(device)
        heads = EtcHeads(*(x.to(dtype) for x in heads[:5]), *heads[5:])
    _check(stream, heads, pattern, layout, dropout_p, backend)
    if backend == "auto":
        backend = "dense" if heads.k_long.shape[2] <= DENSE_UP_TO else "blocked"
    with torch.autocast(device, enabled=False):
        if layout.has_padding:
            heads = _without_padding(stream, heads, layout)
        return ETC_BACKENDS[backend][stream](heads, pattern, layout, dropout_p)


def _without_padding(stream: int, heads: EtcHeads, layout: EtcLayout) -> EtcHeads:
    """Set the heads of padding to zero, so that no value of theirs, NaN included, has influence."""
    hidden = (layout.long_padding, layout.global_padding)
    masks = (hidden[stream], hidden[0], hidden[0], hidden[1], hidden[1])
    zeroed = (
        x.masked_fill(mask[:, None, :, None], 0.0) for x, mask in zip(heads[:5], masks, strict=True)
    )
    return EtcHeads(*zeroed, *heads[5:])


def _check(
    stream: int,
    heads: EtcHeads,
    pattern: EtcPattern,
    layout: EtcLayout,
    dropout_p: float,
    backend: str,
) -> None:
    B, H, _, D = heads.q.shape
    tokens = (layout.long_padding.shape[1], layout.global_padding.shape[1])
    of_long, of_global = ((B, H, n, D) for n in tokens)
    V = pattern.num_labels
    shapes = ((of_long, of_global)[stream], of_long, of_long, of_global, of_global)
    expected = (*shapes, (V, H, D), (V, H))
    for name, x, shape in zip(heads._fields, heads, expected, strict=True):
        if tuple(x.shape) != shape:
            raise ValueError(
                f"{name} must be {shape} for this layout and pattern, got {tuple(x.shape)}"
            )
    if len(layout.long_padding) != B:
        raise ValueError(f"the layout is for {len(layout.long_padding)} sequences, got {B}")
    if not 0 <= dropout_p < 1:
        raise ValueError(f"dropout_p must be at least 0 and below 1, got {dropout_p}")
    if backend != "auto" and backend not in ETC_BACKENDS:
        raise ValueError(f"backend must be one of auto, {', '.join(ETC_BACKENDS)}; got {backend!r}")
