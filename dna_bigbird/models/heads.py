"""Heads (specification §1.6)."""

# B batch, T tokens, E hidden size, P predicted positions, V vocabulary, L labels, R parts,
# K queries, D knots

import math

import torch
from torch import Tensor, nn

from dna_bigbird.models.activations import activated, activation
from dna_bigbird.models.config import BIN, EVERY_BIN, EncoderConfig, HeadConfig

KNOTS = 32
"""Values of a learned profile over distances."""
OUTSIDE = -4.0
"""Value of a fresh profile outside its band: a token there has 1/55 of the weight."""
LOWEST = -1e30


class MlmHead(nn.Module):
    """Dense, activation, LayerNorm, then the word-embedding table (tied) or an own one, and a free bias."""

    def __init__(self, config: EncoderConfig) -> None:
        super().__init__()
        self.dense = nn.Linear(config.hidden_size, config.hidden_size)
        self.activation = activation(config.activation)
        self.norm = nn.LayerNorm(config.hidden_size, eps=config.norm_eps)
        self.bias = nn.Parameter(torch.zeros(config.vocab_size))
        self.table = None
        if config.untied_head:
            self.table = nn.Embedding(config.vocab_size, config.hidden_size)
        self.cap = config.logit_cap

    def forward(self, hidden_PE: Tensor, table_VE: Tensor) -> Tensor:
        """Return logits (positions, vocabulary); `table_VE` are the word embeddings."""
        states_PE = self.norm(activated(self.dense, self.activation, hidden_PE))
        table_VE = table_VE if self.table is None else self.table.weight
        logits_PV = nn.functional.linear(states_PE, table_VE, self.bias)
        return self.cap * torch.tanh(logits_PV / self.cap) if self.cap else logits_PV


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


class OneState(nn.Module):
    """The only state: of a global token that stands for what is read."""

    def forward(self, hidden_B1E: Tensor, is_padding_BT: Tensor) -> Tensor:
        """Return one vector per sequence (batch, hidden)."""
        return hidden_B1E[:, 0]


class EveryState(nn.Module):
    """All states as they are: one for each bin."""

    def forward(self, hidden_BPE: Tensor, is_padding_BT: Tensor) -> Tensor:
        """Return one vector per bin (batch, bins, hidden)."""
        return hidden_BPE


def numbers_and_middle(is_padding_BT: Tensor) -> tuple[Tensor, Tensor]:
    """Return the number of each real token, from 1, and that of the middle (batch, 1), maybe a half."""
    real_BT = ~is_padding_BT
    return real_BT.cumsum(dim=1), (real_BT.sum(dim=1, keepdim=True) + 1) / 2


class CentrePooler(nn.Module):
    """The mean over about `tokens` real tokens (one more, if that is symmetric) in the middle."""

    # The middle of the tokens is that of the window to within a few tokens, as bases per token vary.

    def __init__(self, tokens: int) -> None:
        super().__init__()
        self.tokens = tokens

    def forward(self, hidden_BTE: Tensor, is_padding_BT: Tensor) -> Tensor:
        """Return one vector per sequence (batch, hidden)."""
        number_BT, middle_B1 = numbers_and_middle(is_padding_BT)
        is_read_BT = ~is_padding_BT & ((number_BT - middle_B1).abs() <= self.tokens / 2)
        share_BT = is_read_BT / is_read_BT.sum(dim=1, keepdim=True).clamp(min=1)
        return torch.einsum("bt,bte->be", share_BT.to(hidden_BTE.dtype), hidden_BTE)


class PartsPooler(nn.Module):
    """The means or maxima over equal parts of the window: a head that reads positions.

    A mean over all tokens loses where they are. Here the label layer has weights of its own for each
    part, as convolutional networks of promoters have (CNNProm, DeePromoter). Real token number i of n
    (from 0) is in part i * parts // n; a part without tokens is 0. Divided by the root of the number
    of parts, so that a step of the optimizer changes the logits about as much as with one part.
    """

    def __init__(self, parts: int, value: str = "mean") -> None:
        super().__init__()
        self.parts, self.value = parts, value

    def forward(self, hidden_BTE: Tensor, is_padding_BT: Tensor) -> Tensor:
        """Return one vector per sequence (batch, parts * hidden)."""
        real_BT = ~is_padding_BT
        index_BT = (real_BT.cumsum(dim=1) - 1) * self.parts
        index_BT = index_BT.div(
            real_BT.sum(dim=1, keepdim=True).clamp(min=1), rounding_mode="floor"
        )
        of_part = self._largest if self.value == "max" else self._means
        return of_part(hidden_BTE, index_BT, real_BT).flatten(1) / math.sqrt(self.parts)

    def _means(self, hidden_BTE: Tensor, index_BT: Tensor, real_BT: Tensor) -> Tensor:
        numbers_R = torch.arange(self.parts, device=hidden_BTE.device)
        is_in_BTR = (index_BT[..., None] == numbers_R) & real_BT[..., None]
        share_BTR = is_in_BTR / is_in_BTR.sum(dim=1, keepdim=True).clamp(min=1)
        return torch.einsum("btr,bte->bre", share_BTR.to(hidden_BTE.dtype), hidden_BTE)

    def _largest(self, hidden_BTE: Tensor, index_BT: Tensor, real_BT: Tensor) -> Tensor:
        batch, _, size = hidden_BTE.shape
        index_BT = index_BT.where(real_BT, self.parts)  # padding has a part of its own
        lowest_BRE = hidden_BTE.new_full((batch, self.parts + 1, size), -math.inf)
        index_BTE = index_BT[..., None].expand(-1, -1, size)
        parts_BRE = lowest_BRE.scatter_reduce(1, index_BTE, hidden_BTE, "amax")[:, : self.parts]
        return parts_BRE.where(parts_BRE != -math.inf, 0)


class AttentionPooler(nn.Module):
    """The mean of the middle, and what queries built from it read from all tokens.

    Query k of a window with centre mean c reads the tokens t with the weights softmax over t of
    (W_k c + b_k) · h_t / sqrt(E) + p_k(d_t), where d_t is the distance of t from the middle and p_k a
    learned profile over distances, linear between `KNOTS` values. Attention with learned queries as
    in Lee et al. 2019 (Set Transformer, PMA); a learned term of the distance as in Enformer (Avsec et
    al. 2021). p_k begins as a band, the k-th of `queries` equal parts of `reach_tokens`: from the first
    step each part of the window has numbers of its own in the vector.
    """

    def __init__(
        self, hidden_size: int, centre_tokens: int, queries: int, reach_tokens: int
    ) -> None:
        super().__init__()
        self.centre = CentrePooler(centre_tokens)
        self.query = nn.Linear(hidden_size, queries * hidden_size)
        self.reach_tokens = reach_tokens
        self.profiles_KD = nn.Parameter(bands(queries, KNOTS))

    def forward(self, hidden_BTE: Tensor, is_padding_BT: Tensor) -> Tensor:
        """Return one vector per sequence (batch, (1 + queries) * hidden)."""
        centre_BE = self.centre(hidden_BTE, is_padding_BT)
        query_BKE = self.query(centre_BE).unflatten(1, (len(self.profiles_KD), -1))
        content_BKT = query_BKE @ hidden_BTE.mT / math.sqrt(hidden_BTE.shape[-1])
        scores_BKT = content_BKT.float() + self._profiles(is_padding_BT)
        scores_BKT = scores_BKT.masked_fill(is_padding_BT[:, None], LOWEST)
        read_BKE = scores_BKT.softmax(dim=-1).to(hidden_BTE.dtype) @ hidden_BTE
        return torch.cat([centre_BE[:, None], read_BKE], dim=1).flatten(1)

    def _profiles(self, is_padding_BT: Tensor) -> Tensor:
        """Return the profiles at the distances of the tokens (batch, queries, tokens)."""
        number_BT, middle_B1 = numbers_and_middle(is_padding_BT)
        last = self.profiles_KD.shape[1] - 1
        at_BT = (
            (number_BT - middle_B1).abs().clamp(max=self.reach_tokens) / self.reach_tokens * last
        )
        below_BT = at_BT.long().clamp(max=last - 1)
        share_BT = at_BT - below_BT
        lower_KBT, upper_KBT = self.profiles_KD[:, below_BT], self.profiles_KD[:, below_BT + 1]
        return (lower_KBT + share_BT * (upper_KBT - lower_KBT)).transpose(0, 1)


def bands(queries: int, knots: int) -> Tensor:
    """Return one profile per query (queries, knots): 0 in its part of the knots, else `OUTSIDE`."""
    part_D = torch.arange(knots) * queries // knots
    return torch.where(part_D == torch.arange(queries)[:, None], 0.0, OUTSIDE)


def pooler(config: HeadConfig, hidden_size: int) -> nn.Module:
    """Return how the hidden states of a sequence become one vector."""
    if config.pooling == "cls":
        return Pooler(hidden_size, config.activation)
    if config.pooling == "parts":
        return PartsPooler(config.parts, config.part_value)
    if config.pooling == BIN:
        return OneState()
    if config.pooling == EVERY_BIN:
        return EveryState()
    if config.pooling == "attention":
        return AttentionPooler(
            hidden_size, config.centre_tokens, config.queries, config.reach_tokens
        )
    return MeanPooler() if config.pooling == "mean" else CentrePooler(config.centre_tokens)


class LabelHead(nn.Module):
    """Pooler, dropout, dense to one logit per label; with `label_rank` through so many numbers."""

    def __init__(self, hidden_size: int, num_labels: int, config: HeadConfig) -> None:
        super().__init__()
        self.pooler = pooler(config, hidden_size)
        self.dropout = nn.Dropout(config.dropout)
        vectors = {"parts": config.parts, "attention": 1 + config.queries}.get(config.pooling, 1)
        size = vectors * hidden_size
        self.pooler_size = size
        self.few = nn.Linear(size, config.label_rank, bias=False) if config.label_rank else None
        self.dense = nn.Linear(config.label_rank or size, num_labels)

    def pooled(self, hidden_BTE: Tensor, is_padding_BT: Tensor) -> Tensor:
        """Return what the last layers read of each sequence, (batch, `size`)."""
        return self.pooler(hidden_BTE, is_padding_BT)

    def forward(self, hidden_BTE: Tensor, is_padding_BT: Tensor) -> Tensor:
        """Return logits (batch, labels); (batch, bins, labels) with pooling 'bins'."""
        pooled = self.dropout(self.pooled(hidden_BTE, is_padding_BT))
        return self.dense(pooled if self.few is None else self.few(pooled))
