"""Several independently trained classifiers that answer as one (paper, App. F.3: two)."""

# M members, B batch, T tokens, L labels

import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn.functional import logsigmoid

from dna_bigbird.models.label_types import MULTI_CLASS, MULTI_LABEL, REGRESSION


class EnsembleClassifier(nn.Module):
    """The mean of the members' predictions, called as models.classifier.SequenceClassifier.

    Args:
        members: Classifiers with the same labels that read the same tokens.
        label_type: One of `label_types.LABEL_TYPES`.

    Raises:
        ValueError: If there are fewer than two.
    """

    def __init__(self, members: Sequence[nn.Module], label_type: str = MULTI_LABEL) -> None:
        super().__init__()
        if len(members) < 2:
            raise ValueError(f"an ensemble needs at least two members, got {len(members)}")
        self.members = nn.ModuleList(members)
        self.label_type = label_type

    def forward(self, token_ids_BT: Tensor, is_padding_BT: Tensor) -> Tensor:
        """Return the logits of the mean probabilities, or mean targets, (B, L) in float32."""
        logits_MBL = torch.stack([m(token_ids_BT, is_padding_BT).float() for m in self.members])
        if self.label_type == REGRESSION:
            return logits_MBL.mean(dim=0)
        if self.label_type == MULTI_CLASS:  # the softmax of these logarithms is the mean
            return logits_MBL.log_softmax(dim=-1).logsumexp(dim=0) - math.log(len(logits_MBL))
        return logit_of_mean(logits_MBL)


def one_against_rest(logits_BK: Tensor) -> Tensor:
    """Return the log-odds of each class against all others, (B, K), from logits of a softmax.

    The sigmoid of the result is the softmax, so what reads independent labels reads classes too.

    Example:
        >>> one_against_rest(torch.log(torch.tensor([[0.2, 0.3, 0.5]]))).sigmoid()
        tensor([[0.2000, 0.3000, 0.5000]])
    """
    classes = logits_BK.shape[-1]
    itself = torch.eye(classes, dtype=torch.bool, device=logits_BK.device)
    others_BKK = logits_BK[..., None, :].expand(*logits_BK.shape, classes)
    return logits_BK - others_BKK.masked_fill(itself, -math.inf).logsumexp(dim=-1)


def logit_of_mean(logits_MBL: Tensor) -> Tensor:
    """Return the logit of the mean of probabilities that are given as logits, (B, L).

    Computed with logarithms, so that probabilities next to 0 or 1 keep their size.

    Example:
        >>> logit_of_mean(torch.tensor([[[0.0]], [[-200.0]]])).sigmoid()
        tensor([[0.2500]])
    """
    many = math.log(len(logits_MBL))
    log_yes = logsigmoid(logits_MBL).logsumexp(dim=0) - many
    log_no = logsigmoid(-logits_MBL).logsumexp(dim=0) - many
    return log_yes - log_no
