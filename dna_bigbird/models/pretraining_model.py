"""The pretraining model: masked tokens and next-sentence prediction."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, Self

import torch
from torch import Tensor, nn

from dna_bigbird.attention.packing import Packing
from dna_bigbird.models.attention_config import HIDDEN_SENTENCE
from dna_bigbird.models.config import CPC, PRETRAINING_HEADS, EncoderConfig
from dna_bigbird.models.copies import Copied, Copies
from dna_bigbird.models.encoder import initialise
from dna_bigbird.models.etc_encoder import EtcEncoder, GlobalTokens, build_encoder
from dna_bigbird.models.heads import MlmHead, Pooler
from dna_bigbird.models.read_text import CopiesConfig

# B batch, T tokens, G global tokens, S hidden sentences, U tokens of a sentence, E hidden size
# ruff: noqa: N815 - fields carry their shape as a capital suffix, as variables do


@dataclass(frozen=True, eq=False)
class HiddenSentences:
    """The sentences of a batch, and which of them are hidden; as `HiddenSentenceBatch` has them."""

    sentences_BT: Tensor
    rows_S: Tensor
    numbers_S: Tensor
    sentence_ids_SU: Tensor
    is_sentence_padding_SU: Tensor
    hidden_ids_BT: Tensor

    @classmethod
    def of(cls, batch: Any) -> Self:
        """Return those of a batch that has these fields."""
        return cls(**{field.name: getattr(batch, field.name) for field in fields(cls)})

    def global_tokens(self, is_padding_BT: Tensor) -> GlobalTokens:
        """Return a global token for each sentence, of another type for hidden ones."""
        tokens = GlobalTokens.of_sentences(self.sentences_BT, is_padding_BT)
        tokens.types_BG[self.rows_S, self.numbers_S] = HIDDEN_SENTENCE
        return tokens


class CpcHead(nn.Module):
    """Two linear layers: of the global token of a hidden sentence, and of it read alone."""

    # Their product is the similarity; the ETC paper does not give its own.

    def __init__(self, hidden_size: int) -> None:
        super().__init__()
        self.context = nn.Linear(hidden_size, hidden_size)
        self.target = nn.Linear(hidden_size, hidden_size)

    def forward(
        self, encoder: EtcEncoder, global_BGE: Tensor, hidden: HiddenSentences
    ) -> tuple[Tensor, Tensor]:
        """Return vectors of hidden sentences in their contexts, and alone: (S, E) twice."""
        # The encoder is also called where nothing is hidden: with FSDP all processes have to call it equally
        # often.
        context_SE = self.context(global_BGE[hidden.rows_S, hidden.numbers_S])
        ids_SU, is_padding_SU = hidden.sentence_ids_SU, hidden.is_sentence_padding_SU
        if not len(ids_SU):  # a token in place of a sentence
            ids_SU = ids_SU.new_zeros(1, 1)
            is_padding_SU = ids_SU < 0
        alone = GlobalTokens.of_sentences(torch.zeros_like(ids_SU), is_padding_SU)
        _, states_S1E = encoder.both(ids_SU, is_padding_SU, global_tokens=alone)
        return context_SE, self.target(states_S1E[:, 0])[: len(context_SE)]


# B batch, T tokens, E hidden size, P predicted positions, V vocabulary


class PretrainingModel(nn.Module):
    """Encoder with the tied MLM head and the NSP head (specification §1.6), or some of `HEADS`."""

    # A model of text has ("mlm",); one from elsewhere may lack even that: it cannot be called then, but
    # its parts can.

    def __init__(
        self,
        config: EncoderConfig,
        seed: int = 0,
        heads: Sequence[str] = PRETRAINING_HEADS,
        copies: CopiesConfig | None = None,
    ) -> None:
        super().__init__()
        known = (*PRETRAINING_HEADS, CPC)
        if not set(heads) <= set(known) or ("nsp" in heads and "pooler" not in heads):
            raise ValueError(f"heads must be some of {', '.join(known)}, got {', '.join(heads)}")
        if CPC in heads and config.attention != "etc":
            raise ValueError(f"the head cpc needs attention etc, got {config.attention}")
        generator = torch.Generator().manual_seed(seed)
        self.encoder = build_encoder(config, generator)
        self.mlm = MlmHead(config) if "mlm" in heads else None
        self.pooler = Pooler(config.hidden_size) if "pooler" in heads else None
        self.nsp = nn.Linear(config.hidden_size, 2) if "nsp" in heads else None
        self.cpc = CpcHead(config.hidden_size) if CPC in heads else None
        for head in (self.mlm, self.pooler, self.nsp, self.cpc):
            if head is not None:
                initialise(head, config.init_std, generator)
        self.copies = Copies(copies, config, generator) if copies else None

    @property
    def heads(self) -> tuple[str, ...]:
        """The heads it has."""
        return tuple(name for name in (*PRETRAINING_HEADS, CPC) if getattr(self, name) is not None)

    def forward(
        self,
        token_ids_BT: Tensor,
        is_padding_BT: Tensor,
        segment_ids_BT: Tensor | None,
        positions_P: Tensor,
        packing: Packing | None = None,
        hidden: HiddenSentences | None = None,
        left_out_BD: Tensor | None = None,
        copied: Copied | None = None,
    ) -> tuple[Tensor, Tensor | tuple[Tensor, Tensor] | None]:
        """Return MLM logits (positions, vocabulary), and NSP logits (batch, 2) or None.

        `positions_P` are flat indices (row times T plus column) of the tokens to predict. NSP logit
        0 stands for the true continuation, 1 for a random one. With hidden sentences, what
        `CpcHead` returns is in the place of NSP logits. A model with copies returns log-probabilities
        instead of MLM logits; `left_out_BD` are documents of its text, by example, that are not copied. In
        training `copied` is given instead of a text.
        """
        if self.mlm is None:
            raise ValueError(f"the model has only the heads {', '.join(self.heads) or 'none'}")
        if hidden is not None:
            return self._with_hidden(
                token_ids_BT, is_padding_BT, segment_ids_BT, positions_P, hidden
            )
        added: dict[str, Tensor] = {}
        if self.copies is not None:
            if copied is None:
                copied = self.copies.copied(token_ids_BT, positions_P, left_out_BD)
            if self.copies.inputs is not None:
                added = {"added_BTE": self.copies.inputs(copied, token_ids_BT, positions_P)}
        hidden_BTE = self.encoder(
            token_ids_BT, is_padding_BT, segment_ids_BT, packing=packing, **added
        )
        chosen_PE = hidden_BTE.flatten(0, 1).index_select(0, positions_P)
        logits_PV = self.mlm(chosen_PE, self.encoder.word.weight)
        if self.copies is not None:
            logits_PV = self.copies(logits_PV, token_ids_BT, positions_P, copied)
        if self.nsp is None:
            return logits_PV, None
        return logits_PV, self.nsp(self.pooler(hidden_BTE, is_padding_BT))

    def _with_hidden(
        self,
        token_ids_BT: Tensor,
        is_padding_BT: Tensor,
        segment_ids_BT: Tensor | None,
        positions_P: Tensor,
        hidden: HiddenSentences,
    ) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        tokens = hidden.global_tokens(is_padding_BT)
        rest = (is_padding_BT, segment_ids_BT)
        if not hidden.hidden_ids_BT.numel():
            long_BTE, global_BGE = self.encoder.both(token_ids_BT, *rest, global_tokens=tokens)
        else:
            long_BTE = self.encoder(token_ids_BT, *rest)
            _, global_BGE = self.encoder.both(hidden.hidden_ids_BT, *rest, global_tokens=tokens)
        chosen_PE = long_BTE.flatten(0, 1).index_select(0, positions_P)
        logits_PV = self.mlm(chosen_PE, self.encoder.word.weight)
        return logits_PV, self.cpc(self.encoder, global_BGE, hidden)
