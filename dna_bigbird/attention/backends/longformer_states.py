"""Few global queries of Longformer without keys and values of all tokens.

The score of a query q and the key W x of a state x is (Wᵀ q) · x, and a weighted sum of values V x is V
times the weighted sum of states. So with a few global tokens nobody has to project all tokens: their
queries are projected back, attend to the states, and the sums of states are projected. With G global
tokens and H heads this costs G H E per token and product instead of E²: a 64th for one of 12 heads of
64. The function is the same.
"""

# B batch, T tokens, G global tokens, E hidden size, H heads, D head size

import torch
import torch.nn.functional as F
from torch import Tensor

from dna_bigbird.attention.backends.sdpa import fused
from dna_bigbird.attention.patterns.longformer import LongformerPattern
from dna_bigbird.attention.patterns.longformer_layout import LongformerLayout


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

    Args:
        x_BTE: States of all tokens; finite, also those of padding.
        weight, bias: Of the projection to keys and values, (2 E, E) and (2 E). The bias of keys adds the
            same number to all scores of a query, which changes nothing.
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
        sums = fused(queries.flatten(1, 2)[:, None], states, values, hidden, dropout_p)
        sums = sums.view(B, H, G, -1)
        out = sums[..., :E] @ of_value.mT
        if bias is None:
            return out
        of_bias = bias.to(dtype)[E:].view(H, 1, D)
        return out + (of_bias * sums[..., E:] if dropout_p else of_bias)
