"""What one softmax of BigBird-ETC reads, and the part of its scores that labels give."""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

# Q queries, K keys; … stands for any dimensions of chunks


def add_cross_labels(scores: Tensor, of_label: Tensor, belongs: Tensor) -> None:
    """Add the scores of labels to (…, Q, K), in place; `belongs` is 1 for what belongs together."""
    # `of_label` (…, Q, 2) has the score where it does not belong, and where it does.
    outside, inside = of_label.split(1, dim=-1)
    scores.add_(outside).addcmul_(belongs, inside - outside)


def cross_label_gradient(of_scores: Tensor, belongs: Tensor) -> Tensor:
    """Return the gradient of `of_label`: (…, Q, 2)."""
    inside = (of_scores * belongs).sum(-1, keepdim=True)
    return torch.cat([of_scores.sum(-1, keepdim=True) - inside, inside], dim=-1)


# B batch, H heads, Q queries, L long tokens, G global tokens, D head dimension, V labels


class EtcHeads(NamedTuple):
    """Projected queries of one stream, keys and values of both, and the label table."""

    q: Tensor  # (B, H, Q, D), not scaled
    k_long: Tensor  # (B, H, L, D)
    v_long: Tensor
    k_global: Tensor  # (B, H, G, D)
    v_global: Tensor
    label_embeddings: Tensor  # (V, H, D)
    label_biases: Tensor  # (V, H)


def wide(dtype: torch.dtype) -> torch.dtype:
    """Return the type of scores and weights: float32 or better."""
    return torch.promote_types(dtype, torch.float32)


def label_scores(heads: EtcHeads, labels: Sequence[int] | slice = slice(None)) -> Tensor:
    """Return (q · embedding + bias) / √D of each query and label, in float32: (B, H, Q, V)."""
    # This is all that the labels need: the score of a pair is the value of its label.
    dtype = wide(heads.q.dtype)
    embeddings = heads.label_embeddings[labels].to(dtype)
    biases = heads.label_biases[labels].to(dtype)
    products = heads.q.to(dtype) @ embeddings.permute(1, 2, 0)
    return (products + biases.T[:, None]) * heads.q.shape[-1] ** -0.5
