"""Heads (specification §1.6)."""

# B batch, T tokens, E hidden size, P predicted positions, V vocabulary, L labels

import torch
from torch import Tensor, nn

from dna_bigbird.models.config import HeadConfig
from dna_bigbird.models.encoder import NORM_EPS


class MlmHead(nn.Module):
    """Dense, activation, LayerNorm, then the word-embedding table (tied) and a free bias."""

    def __init__(self, hidden_size: int, vocab_size: int) -> None:
        super().__init__()
        self.dense = nn.Linear(hidden_size, hidden_size)
        self.activation = nn.GELU(approximate="tanh")
        self.norm = nn.LayerNorm(hidden_size, eps=NORM_EPS)
        self.bias = nn.Parameter(torch.zeros(vocab_size))

    def forward(self, hidden_PE: Tensor, table_VE: Tensor) -> Tensor:
        """Return logits (positions, vocabulary)."""
        return nn.functional.linear(
            self.norm(self.activation(self.dense(hidden_PE))), table_VE, self.bias
        )


class Pooler(nn.Module):
    """Dense and tanh on the first token, or on the mean over real tokens."""

    def __init__(self, hidden_size: int, pooling: str = "cls") -> None:
        super().__init__()
        self.pooling = pooling
        self.dense = nn.Linear(hidden_size, hidden_size)

    def forward(self, hidden_BTE: Tensor, is_padding_BT: Tensor) -> Tensor:
        """Return one vector a sequence (batch, hidden)."""
        if self.pooling == "cls":
            pooled = hidden_BTE[:, 0]
        else:
            real = (~is_padding_BT)[..., None].to(hidden_BTE.dtype)
            pooled = (hidden_BTE * real).sum(dim=1) / real.sum(dim=1).clamp(min=1)
        return torch.tanh(self.dense(pooled))


class LabelHead(nn.Module):
    """Pooler, dropout, dense to one logit a label."""

    def __init__(self, hidden_size: int, num_labels: int, config: HeadConfig) -> None:
        super().__init__()
        self.pooler = Pooler(hidden_size, config.pooling)
        self.dropout = nn.Dropout(config.dropout)
        self.dense = nn.Linear(hidden_size, num_labels)

    def forward(self, hidden_BTE: Tensor, is_padding_BT: Tensor) -> Tensor:
        """Return logits (batch, labels)."""
        return self.dense(self.dropout(self.pooler(hidden_BTE, is_padding_BT)))
