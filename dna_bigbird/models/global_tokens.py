"""The global stream of a batch: which global tokens there are, and what belongs to them."""

# B batch, L long tokens, G global tokens
# ruff: noqa: N815 - fields carry their shape as a capital suffix, as variables do

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import torch
from torch import Tensor

from dna_bigbird.attention.patterns.etc_layout import EtcLayout
from dna_bigbird.models.etc_config import SENTENCE

NO_SENTENCE = -1
"""Number of the sentence of a token that belongs to none, as [CLS]."""


@dataclass(frozen=True, eq=False)
class GlobalTokens:
    """The global tokens of a batch.

    A global token has no word: its type says what it stands for.

    Attributes:
        types_BG: int64, numbers of `global_types`; anything at padding.
        layout: Padding of both streams, and which long tokens belong to which global token.
    """

    types_BG: Tensor
    layout: EtcLayout

    @classmethod
    def of_sentences(cls, sentences_BL: Tensor, is_padding_BL: Tensor) -> Self:
        """Return one global token for each sentence.

        Args:
            sentences_BL: Number of each token's sentence, int64 from 0 in each sequence, or
                `NO_SENTENCE`.
            is_padding_BL: True = padding.
        """
        sentences_BL = sentences_BL.masked_fill(is_padding_BL, NO_SENTENCE)
        counts_B = (sentences_BL.amax(1) + 1).clamp(min=1)
        G = int(counts_B.max())
        is_padding_BG = torch.arange(G, device=counts_B.device) >= counts_B[:, None]
        types_BG = torch.full_like(is_padding_BG, SENTENCE, dtype=torch.int64)
        owners = sentences_BL[..., None]
        return cls(types_BG, EtcLayout.of_owners(owners, is_padding_BL, is_padding_BG))

    @classmethod
    def of_links(
        cls,
        types_BG: Tensor,
        is_padding_BG: Tensor,
        is_padding_BL: Tensor,
        links: Sequence[Tensor],
        **parts: Tensor,
    ) -> Self:
        """Return global tokens with their types, and what belongs to them.

        Args:
            is_padding_BG, is_padding_BL: True = padding.
            links: Of each sequence (n, 2) int64, a long token and a global token that it belongs to.
            parts: Segments and free tokens; see `EtcLayout`.
        """
        belongs_BLG = torch.zeros(*is_padding_BL.shape, types_BG.shape[1], dtype=torch.bool)
        for belongs_LG, pairs in zip(belongs_BLG, links, strict=True):
            belongs_LG[pairs[:, 0], pairs[:, 1]] = True
        return cls(types_BG, EtcLayout(is_padding_BL, is_padding_BG, belongs_BLG, **parts))

    @classmethod
    def evenly(cls, is_padding_BL: Tensor, tokens: int) -> Self:
        """Return one global token for every so many neighbouring tokens, the last one for the rest.

        It depends on the length of a sequence alone, so a sequence has the same ones next to others.
        """
        at_L = torch.arange(is_padding_BL.shape[1], device=is_padding_BL.device)
        return cls.of_sentences((at_L // tokens).expand(is_padding_BL.shape), is_padding_BL)

    def to(self, device: torch.device | str) -> Self:
        """Return it on a device."""
        return type(self)(self.types_BG.to(device), self.layout.to(device))
