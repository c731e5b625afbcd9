"""What `pretrain` starts from: a tokenizer and fresh weights, or another model."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dna_bigbird.bundles.bundle import Bundle
from dna_bigbird.bundles.seen_regions import SeenRegions
from dna_bigbird.core.errors import InputError, note
from dna_bigbird.corpus.batches import collate_pretraining
from dna_bigbird.corpus.tokenizer import DnaTokenizer
from dna_bigbird.models.config import EncoderConfig
from dna_bigbird.models.pretraining_model import PretrainingModel
from dna_bigbird.models.train_config import TrainConfig
from dna_bigbird.training.data_modules import pretraining_data
from dna_bigbird.training.fit import FitResult, fit
from dna_bigbird.training.initial_model import load_initial, settings_of, take_weights
from dna_bigbird.training.processes import is_first_on_node
from dna_bigbird.training.training_checks import (
    check_compiles,
    check_no_dropout,
    module_sha256,
    set_training_backend,
)

if TYPE_CHECKING:
    from dna_bigbird.training.objective import Objective


def run_pretraining(
    task: Objective,
    examples: Mapping[str, Any],
    training: TrainConfig,
    *,
    validation_examples: int,
    checkpoints: Path,
    seed: int,
    settings: dict,
    collate: Callable = collate_pretraining,
) -> FitResult:
    """Train on `examples["train"]`; choose the step by some of `examples["validation"]`."""
    data = pretraining_data(
        examples["train"],
        examples["validation"],
        batch_size=training.batch_size,
        validation_examples=validation_examples,
        accumulate=training.accumulate,
        workers=training.workers,
        collate=collate,
    )
    set_training_backend(task.model.encoder, training.attention_backend)
    check_compiles(training)
    check_no_dropout(training)
    return fit(task, data, training, checkpoints=checkpoints, seed=seed, settings=settings)


SEGMENTS = 2
"""Segments of an example: the documents of NSP."""


@dataclass(frozen=True)
class DnaStart:
    """Settings, tokenizer and, with `--initial`, the bundle whose weights are taken."""

    encoder: EncoderConfig
    tokenizer: DnaTokenizer
    tokenizer_file: Path
    """For messages."""
    bundle: Bundle | None = None

    def network(self, heads: Sequence[str], seed: int) -> PretrainingModel:
        """Return the model; what no bundle has is drawn fresh, with a note if that is a head."""
        model = PretrainingModel(self.encoder, seed=seed, heads=heads)
        if self.bundle is not None:
            take_weights(model, self.bundle.model, seed)
            fresh = [name for name in heads if name not in self.bundle.model.heads]
            if fresh and is_first_on_node():
                note(f"{self.bundle.folder} has no {' and '.join(fresh)}: drawn fresh")
        return model

    @property
    def checksums(self) -> dict[str, str]:
        """What decides the result apart from settings and stores: the weights."""
        return {} if self.bundle is None else {"weights": module_sha256(self.bundle.model)}

    @property
    def semi_synthetic(self) -> bool:
        """Whether the bundle has read semi-synthetic sequence."""
        return self.bundle is not None and self.bundle.config.semi_synthetic

    @property
    def described(self) -> dict:
        """What the bundle's config says of the weights at the start."""
        return {} if self.bundle is None else {"initial_weights": "pretrained"}

    @property
    def seen_regions(self) -> list[SeenRegions] | None:
        """What the weights have read before; None is unknown."""
        return [] if self.bundle is None else self.bundle.config.regions_read


def choose_start(tokenizer: Path | None, initial: Path | None, model: EncoderConfig) -> DnaStart:
    """Return the settings of a fresh model for a tokenizer, or those of a bundle with changes."""
    if (tokenizer is None) == (initial is None):
        raise InputError("pretrain: give either --tokenizer or --initial")
    if tokenizer is not None:
        vocabulary = DnaTokenizer.from_file(tokenizer)
        encoder = replace(model, vocab_size=vocabulary.vocab_size)
        start = DnaStart(encoder, vocabulary, tokenizer)
    else:
        bundle = load_initial(initial)
        bundle.check_reads_dna()
        encoder = settings_of(bundle.config.encoder, model, initial)
        file = bundle.folder / next(iter(bundle.tokenizer.files))
        start = DnaStart(encoder, bundle.tokenizer, file, bundle)
    if encoder.num_segments < SEGMENTS:
        whose = "--model.num_segments" if initial is None else f"{initial}: num_segments"
        raise InputError(f"{whose} {encoder.num_segments}: pairs of segments need {SEGMENTS}")
    return start
