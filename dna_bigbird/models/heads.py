"""Heads (specification §1.6)."""

# B batch, T tokens, E hidden size, P predicted positions, V vocabulary, L labels, R parts

import math

import torch
from torch import Tensor, nn

from dna_bigbird.models.activations import activated, activation
from dna_bigbird.models.config import EncoderConfig, HeadConfig


class MlmHead(nn.Module):
    """Dense, activation, LayerNorm, then the word-embedding table (tied) and a free bias."""

    def __init__(self, config: EncoderConfig) -> None:
        super().__init__()
        self.dense = nn.Linear(config.hidden_size, config.hidden_size)
        self.activation = activation(config.activation)
        self.norm = nn.LayerNorm(config.hidden_size, eps=config.norm_eps)
        self.bias = nn.Parameter(torch.zeros(config.vocab_size))

    def forward(self, hidden_PE: Tensor, table_VE: Tensor) -> Tensor:
        """Return logits (positions, vocabulary)."""
        states_PE = self.norm(activated(self.dense, self.activation, hidden_PE))
        return nn.functional.linear(states_PE, table_VE, self.bias)


class Pooler(nn.Module):
    """Dense and an activation (tanh, as published) on the first token."""

    def __init__(self, hidden_size: int, act: str = "tanh") -> None:
        super().__init__()
        self.dense = nn.Linear(hidden_size, hidden_size)
        self.activation = nn.Tanh() if act == "tanh" else activation(act)

    def forward(self, hidden_BTE: Tensor, is_padding_BT: Tensor) -> Tensor:
        """Return one vector per sequence (batch, hidden)."""
        return self.activation(self.dense(hidden_BTE[:, 0]))


class MeanPooler(nn.Module):
    """The mean over real tokens, as it is: a bounded summary would hide few tokens among many."""

    def forward(self, hidden_BTE: Tensor, is_padding_BT: Tensor) -> Tensor:
        """Return one vector per sequence (batch, hidden)."""
        real = (~is_padding_BT)[..., None].to(hidden_BTE.dtype)
        return (hidden_BTE * real).sum(dim=1) / real.sum(dim=1).clamp(min=1)


class CentrePooler(nn.Module):
    """The mean over about `tokens` real tokens (one more, if that is symmetric) in the middle.

    The middle of the tokens is that of the window to within a few tokens, as bases per token vary.
    """

    def __init__(self, tokens: int) -> None:
        super().__init__()
        self.tokens = tokens

    def forward(self, hidden_BTE: Tensor, is_padding_BT: Tensor) -> Tensor:
        """Return one vector per sequence (batch, hidden)."""
        real_BT = ~is_padding_BT
        number_BT = real_BT.cumsum(dim=1)  # of each real token, from 1
        middle_B1 = (real_BT.sum(dim=1, keepdim=True) + 1) / 2
        is_read_BT = real_BT & ((number_BT - middle_B1).abs() <= self.tokens / 2)
        share_BT = is_read_BT / is_read_BT.sum(dim=1, keepdim=True).clamp(min=1)
        return torch.einsum("bt,bte->be", share_BT.to(hidden_BTE.dtype), hidden_BTE)


class PartsPooler(nn.Module):
    """The means over equal parts of the window, one after the other: a head that reads positions.

    A mean over all tokens loses where they are. Here the label layer has weights of its own for each
    part, as convolutional networks of promoters have (CNNProm, DeePromoter). Real token number i of n
    (from 0) is in part i * parts // n; a part without tokens is 0. Divided by the root of the number
    of parts, so that a step of the optimizer changes the logits about as much as with one part.
    """

    def __init__(self, parts: int) -> None:
        super().__init__()
        self.parts = parts

    def forward(self, hidden_BTE: Tensor, is_padding_BT: Tensor) -> Tensor:
        """Return one vector per sequence (batch, parts * hidden)."""
        real_BT = ~is_padding_BT
        index_BT = (real_BT.cumsum(dim=1) - 1) * self.parts
        index_BT = index_BT.div(
            real_BT.sum(dim=1, keepdim=True).clamp(min=1), rounding_mode="floor"
        )
        numbers_R = torch.arange(self.parts, device=hidden_BTE.device)
        is_in_BTR = (index_BT[..., None] == numbers_R) & real_BT[..., None]
        share_BTR = is_in_BTR / is_in_BTR.sum(dim=1, keepdim=True).clamp(min=1)
        parts_BRE = torch.einsum("btr,bte->bre", share_BTR.to(hidden_BTE.dtype), hidden_BTE)
        return parts_BRE.flatten(1) / math.sqrt(self.parts)


def pooler(config: HeadConfig, hidden_size: int) -> nn.Module:
    """Return how the hidden states of a sequence become one vector."""
    if config.pooling == "cls":
        return Pooler(hidden_size, config.activation)
    if config.pooling == "parts":
        return PartsPooler(config.parts)
    return MeanPooler() if config.pooling == "mean" else CentrePooler(config.centre_tokens)


class LabelHead(nn.Module):
    """Pooler, dropout, dense to one logit per label."""

    def __init__(self, hidden_size: int, num_labels: int, config: HeadConfig) -> None:
        super().__init__()
        self.pooler = pooler(config, hidden_size)
        self.dropout = nn.Dropout(config.dropout)
        parts = config.parts if config.pooling == "parts" else 1
        self.dense = nn.Linear(parts * hidden_size, num_labels)

    def forward(self, hidden_BTE: Tensor, is_padding_BT: Tensor) -> Tensor:
        """Return logits (batch, labels)."""
        return self.dense(self.dropout(self.pooler(hidden_BTE, is_padding_BT)))
