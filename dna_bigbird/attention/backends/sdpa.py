"""What the sparse backends share: whole blocks, and PyTorch's fused attention."""

import torch
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


def whole_blocks(
    q: Tensor, k: Tensor, v: Tensor, hidden_BT: Tensor | None, num_tokens: int
) -> tuple[Tensor, Tensor, Tensor, Tensor | None]:
    """Return q, k, v (batch, heads, tokens, head_dim) and padding, lengthened by hidden tokens."""
    B, _, T, _ = q.shape
    missing = num_tokens - T
    if not missing:
        return q, k, v, hidden_BT
    if hidden_BT is None:
        hidden_BT = torch.zeros(B, T, dtype=torch.bool, device=q.device)
    q, k, v = (F.pad(x, (0, 0, 0, missing)) for x in (q, k, v))
    return q, k, v, F.pad(hidden_BT, (0, missing), value=True)
