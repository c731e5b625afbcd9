"""The oracle: the whole score matrix."""

# B batch, H heads, Q query tokens, K key tokens, D head dimension

import functools
import math

import torch
from torch import Tensor

from dna_bigbird.attention.patterns import BlockPattern


def dense_attention(
    q_BHQD: Tensor, k_BHKD: Tensor, v_BHKD: Tensor, times_BHQK: Tensor, dropout_p: float = 0.0
) -> Tensor:
    """Attend over the whole score matrix in float32 or better: backends are compared with it.

    `times_BHQK` (broadcastable) is how often each query counts each key: 0 hides it, 2 occurs in
    the published table for 1,024 tokens. A query that counts no key at all gives zero.
    """
    scores_BHQK = q_BHQD @ k_BHKD.mT / math.sqrt(q_BHQD.shape[-1])
    scores_BHQK = scores_BHQK.to(torch.promote_types(scores_BHQK.dtype, torch.float32))
    # Finite, or the gradients of a query without keys are NaN.
    log_times = times_BHQK.to(scores_BHQK.dtype).log().clamp(min=-1e30)
    weights_BHQK = (scores_BHQK + log_times).softmax(dim=-1) * (times_BHQK > 0)
    if dropout_p:
        weights_BHQK = torch.dropout(weights_BHQK, dropout_p, train=True)
    return weights_BHQK.to(v_BHKD.dtype) @ v_BHKD


@functools.lru_cache(maxsize=8)
@torch.inference_mode(False)  # kept for training too, also if inference asks first
def token_times(pattern: BlockPattern, length: int, device: torch.device) -> Tensor:
    """Return how often each query token counts each key token: (heads, length, length)."""
    times = torch.from_numpy(pattern.times()).to(device)
    b = pattern.block_size
    return times.repeat_interleave(b, 1).repeat_interleave(b, 2)[:, :length, :length]


def dense(
    q_BHTD: Tensor,
    k_BHTD: Tensor,
    v_BHTD: Tensor,
    pattern: BlockPattern,
    key_padding_mask_BT: Tensor | None,
    dropout_p: float,
) -> Tensor:
    """Backend `dense`; see `attend` for the arguments."""
    times_BHTT = token_times(pattern, q_BHTD.shape[2], q_BHTD.device)[None]
    if key_padding_mask_BT is not None:
        times_BHTT = times_BHTT * ~key_padding_mask_BT[:, None, None, :]
    return dense_attention(q_BHTD, k_BHTD, v_BHTD, times_BHTT, dropout_p)
