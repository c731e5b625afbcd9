"""What the two softmaxes of Longformer read."""

# B batch, H heads, T tokens, G global tokens, D head dimension

from typing import NamedTuple

from torch import Tensor


class LongformerHeads(NamedTuple):
    """Projected queries, keys and values, not scaled.

    Attributes:
        q, k, v: (B, H, T, D), by the ordinary projections: for windows, and for global tokens as keys.
        q_global: (B, H, G, D), by the global ones, of global tokens (`LongformerLayout.gathered`).
        k_global, v_global: (B, H, T, D), by the global ones, of all tokens: for global queries.
    """

    q: Tensor
    k: Tensor
    v: Tensor
    q_global: Tensor
    k_global: Tensor
    v_global: Tensor
