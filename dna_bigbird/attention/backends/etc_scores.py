"""Labels between the streams of blocked BigBird-ETC."""

# Q queries, K keys; … stands for any dimensions of chunks

import torch
from torch import Tensor


def add_cross_labels(scores: Tensor, of_label: Tensor, belongs: Tensor) -> None:
    """Add the scores of labels to (…, Q, K), in place.

    Args:
        of_label: (…, Q, 2): score where the long token does not belong, and where it belongs.
        belongs: (…, Q, K) of the scores' type, 1 where it belongs.
    """
    outside, inside = of_label.split(1, dim=-1)
    scores.add_(outside).addcmul_(belongs, inside - outside)


def cross_label_gradient(of_scores: Tensor, belongs: Tensor) -> Tensor:
    """Return the gradient of `of_label`: (…, Q, 2)."""
    inside = (of_scores * belongs).sum(-1, keepdim=True)
    return torch.cat([of_scores.sum(-1, keepdim=True) - inside, inside], dim=-1)
