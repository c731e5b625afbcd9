"""PyTorch's fused attention, with queries that see no key defined as zero."""

import torch.nn.functional as F
from torch import Tensor


def fused(q: Tensor, k: Tensor, v: Tensor, hidden: Tensor | None, dropout_p: float) -> Tensor:
    """Scaled dot-product attention in which a query without keys gives zero.

    Args:
        q, k, v: (…, queries or keys, head_dim).
        hidden: True = hidden; broadcasts to (…, queries, keys) and is the same for all queries.
    """
    if hidden is None:
        return F.scaled_dot_product_attention(q, k, v, dropout_p=dropout_p)
    nothing_seen = hidden.all(dim=-1, keepdim=True)
    # Such a query reads everything and its result is dropped: no NaN forward or backward.
    visible = ~hidden | nothing_seen
    out = F.scaled_dot_product_attention(q, k, v, attn_mask=visible, dropout_p=dropout_p)
    return out.masked_fill(nothing_seen, 0.0)
