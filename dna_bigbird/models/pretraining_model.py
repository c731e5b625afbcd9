"""The pretraining model: masked tokens and next-sentence prediction."""

# B batch, T tokens, E hidden size, P predicted positions, V vocabulary

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from dna_bigbird.attention.packing import Packing
from dna_bigbird.models.config import CPC, PRETRAINING_HEADS, EncoderConfig
from dna_bigbird.models.cpc import CpcHead, HiddenSentences
from dna_bigbird.models.encoder import initialise
from dna_bigbird.models.etc_encoder import build_encoder
from dna_bigbird.models.heads import MlmHead, Pooler


class PretrainingModel(nn.Module):
    """Encoder with the tied MLM head and the NSP head (specification §1.6).

    Args:
        seed: Of the weights. The encoder's depend on nothing else but `config`.
        heads: Those it has. A model of text has ("mlm",); one from elsewhere may lack even that: it
            cannot be called then, but its parts can.

    Raises:
        ValueError: If a head is unknown, or NSP lacks the pooler it reads.
    """

    def __init__(
        self, config: EncoderConfig, seed: int = 0, heads: Sequence[str] = PRETRAINING_HEADS
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
    ) -> tuple[Tensor, Tensor | tuple[Tensor, Tensor] | None]:
        """Return MLM logits (positions, vocabulary) and NSP logits (batch, 2), None without NSP head.

        With hidden sentences, what `CpcHead` returns is in the place of NSP logits.

        Args:
            token_ids_BT, is_padding_BT, segment_ids_BT: As for `Encoder`.
            positions_P: Flat indices into batch × tokens of the tokens to predict: row times T
                plus column. Logits are computed for these only.
            packing: See `Encoder.forward`.
            hidden: Hidden sentences of this batch, for a model with the head cpc.

        NSP logit 0 stands for the true continuation, 1 for a random one.

        Raises:
            ValueError: If the model has no MLM head.
        """
        if self.mlm is None:
            raise ValueError(f"the model has only the heads {', '.join(self.heads) or 'none'}")
        if hidden is not None:
            return self._with_hidden(
                token_ids_BT, is_padding_BT, segment_ids_BT, positions_P, hidden
            )
        hidden_BTE = self.encoder(token_ids_BT, is_padding_BT, segment_ids_BT, packing=packing)
        chosen_PE = hidden_BTE.flatten(0, 1).index_select(0, positions_P)
        logits_PV = self.mlm(chosen_PE, self.encoder.word.weight)
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
