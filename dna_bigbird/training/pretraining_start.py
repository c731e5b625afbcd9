"""What `pretrain` starts from: a tokenizer and fresh weights, or another model."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from dna_bigbird.bundles.bundle import Bundle, load_bundle
from dna_bigbird.bundles.seen_regions import SeenRegions
from dna_bigbird.core.errors import InputError, checked_settings, note
from dna_bigbird.corpus.batches import collate_pretraining
from dna_bigbird.corpus.tokenizer import DnaTokenizer
from dna_bigbird.models.attention_config import OF_WEIGHTS
from dna_bigbird.models.config import OWN_SETTINGS, PATTERN, EncoderConfig
from dna_bigbird.models.pretraining_model import PretrainingModel
from dna_bigbird.models.read_text import CopiesConfig
from dna_bigbird.models.train_config import TrainConfig
from dna_bigbird.models.weight_transfer import copy_weights, lift_to_etc
from dna_bigbird.training.data_modules import pretraining_data
from dna_bigbird.training.fit import FitResult, fit
from dna_bigbird.training.processes import is_first_on_node
from dna_bigbird.training.training_checks import (
    check_compiles,
    check_no_dropout,
    module_sha256,
    set_training_backend,
)

# A pretraining that starts from another model: its settings and its weights, for DNA and for text.

FREE = (*PATTERN, "dropout", "attention_dropout", "gradient_checkpointing")
"""Settings that no weight depends on: a recipe may change them."""
DEFAULTS = EncoderConfig()


def load_initial(initial: Path) -> Bundle:
    """Load the bundle that a pretraining starts from; it must have a head for masked tokens."""
    bundle = load_bundle(initial)
    if "mlm" not in getattr(bundle.model, "heads", ()):
        raise InputError(
            f"{initial}: it has no head for masked tokens; expected a pretrained model"
        )
    return bundle


def take_weights(network: PretrainingModel, source: PretrainingModel, seed: int) -> None:
    """Fill a model with the weights of another: its encoder, and the heads that both have."""
    # A model with attention etc takes those of another attention for both streams; `seed` draws the
    # rest.
    encoder, config = source.encoder, network.encoder.config
    if config.attention == "etc" != encoder.config.attention:
        encoder = lift_to_etc(encoder, config, torch.Generator().manual_seed(seed))
    copy_weights(encoder, network.encoder)
    for name in set(network.heads) & set(source.heads):
        getattr(network, name).load_state_dict(getattr(source, name).state_dict())


def settings_of(own: EncoderConfig, recipe: EncoderConfig, initial: Path) -> EncoderConfig:
    """Return the settings of a model to start from, changed by those of a recipe that may change.

    Example:
        >>> recipe = EncoderConfig(hidden_size=1024, num_heads=16, random_plan="original")
        >>> own = EncoderConfig(hidden_size=1024, num_heads=16, activation="gelu")
        >>> settings = settings_of(own, recipe, Path("warm"))
        >>> settings.random_plan, settings.activation
        ('original', 'gelu')
    """
    changes: dict[str, Any] = {}
    if recipe.attention == "etc" != own.attention:
        changes["positions"] = "learned"  # labels take their place
    if recipe.attention not in (own.attention, DEFAULTS.attention):
        changes |= OWN_SETTINGS
    before = changes.copy()
    for field in fields(EncoderConfig):
        value = getattr(recipe, field.name)
        if field.name == "vocab_size" or value in (field.default, getattr(own, field.name)):
            continue
        if not _may_change(field.name, own, recipe):
            raise InputError(
                f"--model.{field.name} {value}: the model of --initial {initial} has "
                f"{getattr(own, field.name)}, which its weights fix; leave the option out"
            )
        changes[field.name] = value
    for name, default in OWN_SETTINGS.items():
        if changes.get(name, default) != default:
            own_settings = before.get(name, getattr(own, name))
            changes[name] = replace(own_settings, **_not_defaults(recipe, name))
    if recipe.attention == DEFAULTS.attention != own.attention:
        note(
            f"{initial} keeps its attention {own.attention}: --model.attention {recipe.attention}, the "
            "default, counts as not given"
        )
    with checked_settings():
        return replace(own, **changes)


def _may_change(name: str, own: EncoderConfig, recipe: EncoderConfig) -> bool:
    """Return True if a model can have a recipe's value of a setting with its own weights."""
    if name == "attention":
        return own.attention != "etc"
    if name == "max_tokens":
        return own.reads_any_length or recipe.attention == "etc"
    if name == "etc":
        options = _not_defaults(recipe, name).items()
        others = [n for n, value in options if value != getattr(own.etc, n)]
        return own.attention != "etc" or not set(others) & set(OF_WEIGHTS)
    return name in FREE or name in OWN_SETTINGS


def _not_defaults(recipe: EncoderConfig, attention: str) -> dict[str, object]:
    """Return the settings of an attention that are not at their defaults."""
    default, own = OWN_SETTINGS[attention], vars(getattr(recipe, attention))
    return {name: value for name, value in own.items() if value != getattr(default, name)}


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

    def network(
        self, heads: Sequence[str], seed: int, copies: CopiesConfig | None = None
    ) -> PretrainingModel:
        """Return the model; what no bundle has is drawn fresh, with a note if that is a head."""
        model = PretrainingModel(self.encoder, seed=seed, heads=heads, copies=copies)
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
