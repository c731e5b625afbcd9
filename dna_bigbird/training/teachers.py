"""Pretraining that learns from finished models: their probabilities take the place of the hidden tokens."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from dna_bigbird.bundles.bundle import Bundle
from dna_bigbird.bundles.seen_regions import SeenRegions
from dna_bigbird.core.errors import InputError
from dna_bigbird.corpus.batches import PretrainingBatch
from dna_bigbird.corpus.symmetric_vocabulary import FIRST_PIECE_ID
from dna_bigbird.corpus.tokenizer import DnaTokenizer
from dna_bigbird.genome.alphabet import reverse_complement
from dna_bigbird.models.train_config import TrainConfig
from dna_bigbird.training.objective_config import ObjectiveConfig
from dna_bigbird.training.pretraining_start import load_initial
from dna_bigbird.training.pretraining_task import PretrainingTask
from dna_bigbird.training.training_checks import module_sha256

# B batch, T tokens, P predicted positions of the whole batch, V vocabulary


class OnBothStrands(nn.Module):
    """A model that gives each hidden token the mean of its probabilities on the two strands."""

    def __init__(self, model: nn.Module, tokenizer: DnaTokenizer) -> None:
        super().__init__()
        self.model, self.tokenizer = model, tokenizer
        complements = complements_of(tokenizer)
        self.register_buffer("complements_V", torch.tensor(complements), persistent=False)

    def forward(
        self, ids_BT: Tensor, is_padding_BT: Tensor, segments_BT: Tensor, positions_P: Tensor
    ) -> tuple[Tensor, None]:
        """Return the logarithms of the mean probabilities, (P, V)."""
        own_PV = self.model(ids_BT, is_padding_BT, segments_BT, positions_P)[0]
        others = self.other_strand(ids_BT, is_padding_BT, segments_BT, positions_P)
        other_PV = self.model(*others)[0].float().softmax(-1)[:, self.complements_V]
        return ((own_PV.float().softmax(-1) + other_PV) / 2).log(), None

    def other_strand(
        self, ids_BT: Tensor, is_padding_BT: Tensor, segments_BT: Tensor, positions_P: Tensor
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Return `[CLS] A [SEP] B [SEP]` as `[CLS] B' [SEP] A' [SEP]`; the order of the positions stays."""
        lengths_B1, width = (~is_padding_BT).sum(1, keepdim=True), ids_BT.shape[1]
        order_BT = lengths_B1 - 1 - torch.arange(width, device=ids_BT.device)
        other_BT = self.complements_V[ids_BT.gather(1, order_BT.clamp(min=0))]
        other_BT[:, 0] = self.tokenizer.cls_id
        other_BT.scatter_(1, lengths_B1 - 1, self.tokenizer.sep_id)
        other_BT = torch.where(is_padding_BT, ids_BT, other_BT)
        is_sep_BT = other_BT == self.tokenizer.sep_id
        segments_BT = (is_sep_BT.cumsum(1) > is_sep_BT).to(segments_BT)
        rows_P, columns_P = positions_P // width, positions_P % width
        positions_P = rows_P * width + lengths_B1[rows_P, 0] - 1 - columns_P
        return other_BT, is_padding_BT, segments_BT, positions_P


def complements_of(tokenizer: DnaTokenizer) -> list[int]:
    """Return the reverse complement of every token id, or none if the vocabulary is not closed under it."""
    numbers = {piece: number for number, piece in enumerate(tokenizer.pieces)}
    others = [numbers.get(reverse_complement(x)) for x in tokenizer.pieces[FIRST_PIECE_ID:]]
    return [] if None in others else [*range(FIRST_PIECE_ID), *others]


@dataclass(frozen=True)
class Teachers:
    """Models of the same tokens; each is as good as any other."""

    bundles: Sequence[Bundle]

    @property
    def models(self) -> list[nn.Module]:
        """The models as they teach: on both strands where both are cut into the same tokens."""
        return [
            OnBothStrands(x.model, x.tokenizer) if complements_of(x.tokenizer) else x.model
            for x in self.bundles
        ]

    @property
    def seen_regions(self) -> list[list[SeenRegions] | None]:
        """What each has read; None is unknown."""
        return [x.config.regions_read for x in self.bundles]

    @property
    def semi_synthetic(self) -> bool:
        """Whether one of them has read semi-synthetic sequence."""
        return any(x.config.semi_synthetic for x in self.bundles)

    @property
    def stored(self) -> dict[str, int]:
        """How many they are, for a file."""
        return {"teachers": len(self.bundles)} if self.bundles else {}

    @property
    def checksums(self) -> dict[str, list[str]]:
        """What decides the result: the weights."""
        return {"teachers": [module_sha256(x.model) for x in self.bundles]} if self.bundles else {}


def open_teachers(
    folders: Iterable[Path], tokenizer: DnaTokenizer, objective: ObjectiveConfig
) -> Teachers:
    """Load the bundles to learn from, or raise InputError where one cannot teach."""
    bundles = [load_initial(folder) for folder in folders]
    if bundles and objective.cpc is not None:
        raise InputError("--teachers: hidden sentences (CPC) have none; give --cpc.weight 0")
    for bundle in bundles:
        if bundle.tokenizer.files != tokenizer.files:
            raise InputError(
                f"--teachers {bundle.folder}: its tokenizer is not that of this training; its probabilities "
                "would be of other tokens"
            )
        if bundle.config.copies is not None:
            raise InputError(
                f"--teachers {bundle.folder}: it copies from its training text, and a teacher reads the "
                "example alone; take a model without --counts"
            )
    return Teachers(bundles)


class TaughtTask(PretrainingTask):
    """Learns the probabilities that teachers give hidden tokens; no figure but the loss is theirs.

    Examples have one teacher each, in turn: a step costs one forward pass more, however many there are.
    """

    def __init__(
        self,
        model: nn.Module,
        config: TrainConfig,
        piece_bp: np.ndarray,
        nsp_weight: float,
        teachers: Sequence[nn.Module],
    ) -> None:
        super().__init__(model, config, piece_bp, nsp_weight)
        # In a list: no checkpoint has them, and no optimizer.
        self.teachers = [teacher.eval() for teacher in teachers]

    def on_fit_start(self) -> None:
        """Move the teachers to the device of the model."""
        for teacher in self.teachers:
            teacher.to(self.device)

    def costs_of(self, batch: PretrainingBatch, nll_P: Tensor, mlm_logits_PV: Tensor) -> Tensor:
        """Return the cross-entropy with the teacher of each example, (P,), in nats; in validation with the tokens."""
        if not self.training:
            return nll_P
        inputs = (batch.token_ids_BT, batch.is_padding_BT, batch.segment_ids_BT)
        width = batch.token_ids_BT.shape[1]
        rows_P, columns_P = batch.positions_P // width, batch.positions_P % width
        teachers_B = batch.examples_B % len(self.teachers)
        taught_PV = torch.empty_like(mlm_logits_PV, dtype=torch.float32)
        for number, teacher in enumerate(self.teachers):
            is_own_B = teachers_B == number
            is_own_P = is_own_B[rows_P]
            if is_own_P.any():
                places_P = (is_own_B.cumsum(0) - 1)[rows_P] * width + columns_P
                own = (*(x[is_own_B] for x in inputs), places_P[is_own_P])
                with torch.no_grad():
                    taught_PV[is_own_P] = teacher(*own)[0].float().softmax(-1)
        return nn.functional.cross_entropy(mlm_logits_PV.float(), taught_PV, reduction="none")
