"""The loss of summarization: label smoothing (specification §5)."""

# B rows, U tokens, V vocabulary

import math

import torch
from torch import Tensor


def label_smoothed_nll(
    logits_BUV: Tensor,
    target_ids_BU: Tensor,
    is_padding_BU: Tensor,
    *,
    smoothing: float = 0.1,
    count_padding: bool = False,
) -> Tensor:
    """Return the mean cross-entropy over real tokens against smoothed targets, minus its minimum.

    A target has 1 - smoothing at its token and smoothing / (V - 1) everywhere else; the entropy of
    that is taken off, so a perfect model has 0. A batch without a real token gives 0.

    Args:
        target_ids_BU: Padding holds any id of the vocabulary.
        is_padding_BU: True = padding.
        smoothing: At least 0 and below 1.
        count_padding: Sum over padding too, and still divide by the number of real tokens, as the
            published script does [BB summarization/run_summarization.py].
    """
    log_p_BUV = logits_BUV.float().log_softmax(dim=-1)
    rest = smoothing / (logits_BUV.shape[-1] - 1)
    confidence = 1.0 - smoothing
    target_BU = log_p_BUV.gather(-1, target_ids_BU[..., None].long()).squeeze(-1)
    loss_BU = -(confidence - rest) * target_BU - rest * log_p_BUV.sum(dim=-1)
    if smoothing > 0:
        loss_BU = loss_BU + confidence * math.log(confidence) + smoothing * math.log(rest)
    is_real_BU = ~is_padding_BU
    if not count_padding:
        loss_BU = torch.where(is_real_BU, loss_BU, 0.0)
    return loss_BU.sum() / is_real_BU.sum().clamp(min=1)
