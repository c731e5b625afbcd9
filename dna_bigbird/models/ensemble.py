"""Several independently trained classifiers that answer as one (paper, App. F.3: two)."""

# M members, B batch, T tokens, L labels

import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn.functional import logsigmoid


class EnsembleClassifier(nn.Module):
    """The mean of the members' probabilities, called as models.classifier.SequenceClassifier.

    Args:
        members: Classifiers with the same labels that read the same tokens.

    Raises:
        ValueError: If there are fewer than two.
    """

    def __init__(self, members: Sequence[nn.Module]) -> None:
        super().__init__()
        if len(members) < 2:
            raise ValueError(f"an ensemble needs at least two members, got {len(members)}")
        self.members = nn.ModuleList(members)

    def forward(self, token_ids_BT: Tensor, is_padding_BT: Tensor) -> Tensor:
        """Return the logits of the mean probabilities, (B, L) in float32."""
        logits_MBL = torch.stack([m(token_ids_BT, is_padding_BT).float() for m in self.members])
        return logit_of_mean(logits_MBL)


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
