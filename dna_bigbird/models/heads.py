"""Heads (specification §1.6)."""

# B batch, T tokens, E hidden size, P predicted positions, V vocabulary, L labels

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


def pooler(config: HeadConfig, hidden_size: int) -> nn.Module:
    """Return how the hidden states of a sequence become one vector."""
    if config.pooling == "cls":
        return Pooler(hidden_size, config.activation)
    return MeanPooler() if config.pooling == "mean" else CentrePooler(config.centre_tokens)


class LabelHead(nn.Module):
    """Pooler, dropout, dense to one logit per label."""

    def __init__(self, hidden_size: int, num_labels: int, config: HeadConfig) -> None:
        super().__init__()
        self.pooler = pooler(config, hidden_size)
        self.dropout = nn.Dropout(config.dropout)
        self.dense = nn.Linear(hidden_size, num_labels)

    def forward(self, hidden_BTE: Tensor, is_padding_BT: Tensor) -> Tensor:
        """Return logits (batch, labels)."""
        return self.dense(self.dropout(self.pooler(hidden_BTE, is_padding_BT)))
