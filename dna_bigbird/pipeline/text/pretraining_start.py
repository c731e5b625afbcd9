"""What `text pretrain` starts from: a vocabulary and fresh weights, or another model."""

from dataclasses import dataclass, fields, replace
from pathlib import Path

import torch

from dna_bigbird.bundles.bundle import load_bundle
from dna_bigbird.corpus.text_tokenizer import TextTokenizer
from dna_bigbird.corpus.tokenizer_paths import read_text_tokenizer
from dna_bigbird.errors import InputError, checked_settings
from dna_bigbird.models.config import CPC, PATTERN, EncoderConfig
from dna_bigbird.models.etc_config import OF_WEIGHTS, PAPER_ETC, EtcConfig
from dna_bigbird.models.lifting import lifted
from dna_bigbird.models.pretraining_model import PretrainingModel
from dna_bigbird.tasks.objective_config import CpcConfig

FREE = (*PATTERN, "dropout", "attention_dropout", "gradient_checkpointing")
"""Settings that no weight depends on: a recipe may change them."""


@dataclass(frozen=True)
class PretrainingStart:
    """A model before pretraining."""

    vocabulary: TextTokenizer
    model: PretrainingModel
    initial_weights: str
    """Where the weights come from, for the bundle."""


def choose_start(
    tokenizer: Path | None,
    initial: Path | None,
    model: EncoderConfig,
    seed: int,
    cpc: CpcConfig = CpcConfig(),  # noqa: B008
) -> PretrainingStart:
    """Return a fresh model for a vocabulary, or the model of a bundle.

    With attention etc it has the head for hidden sentences, unless `cpc` has no weight.

    Raises:
        InputError: If not exactly one of `tokenizer` and `initial` is given, or one is unusable.
    """
    if (tokenizer is None) == (initial is None):
        raise InputError("text pretrain: give either --tokenizer or --initial")
    if tokenizer is not None:
        vocabulary = read_text_tokenizer(tokenizer)
        encoder = replace(model, vocab_size=vocabulary.vocab_size)
        fresh = PretrainingModel(encoder, seed=seed, heads=heads_of(encoder, cpc))
        return PretrainingStart(vocabulary, fresh, "random")
    bundle = load_bundle(initial)
    bundle.check_reads_text()
    if "mlm" not in getattr(bundle.model, "heads", ()):
        raise InputError(
            f"{initial}: it has no head for masked tokens; expected a pretrained model"
        )
    encoder = settings_of(bundle.model.encoder.config, model, initial)
    network = PretrainingModel(encoder, seed=seed, heads=heads_of(encoder, cpc))
    own = bundle.model.encoder
    if encoder.attention == "etc" != own.config.attention:
        own = lifted(own, encoder, torch.Generator().manual_seed(seed))
    network.encoder.load_state_dict(own.state_dict())
    network.mlm.load_state_dict(bundle.model.mlm.state_dict())
    if network.cpc is not None and bundle.model.cpc is not None:
        network.cpc.load_state_dict(bundle.model.cpc.state_dict())
    return PretrainingStart(bundle.tokenizer, network, bundle.config.initial_weights or "a bundle")


def heads_of(encoder: EncoderConfig, cpc: CpcConfig) -> tuple[str, ...]:
    """Return the heads of a model of text.

    Raises:
        InputError: If hidden sentences are set for another attention than etc.
    """
    is_etc = encoder.attention == "etc"
    if not is_etc and cpc != CpcConfig():
        raise InputError("--cpc is read with --model.attention etc only: add that, or leave it out")
    return ("mlm", CPC) if is_etc and cpc.weight else ("mlm",)


def settings_of(own: EncoderConfig, recipe: EncoderConfig, initial: Path) -> EncoderConfig:
    """Return the settings of a model to start from, changed by those of a recipe that may change.

    A setting at its default counts as not given; the size of the vocabulary never changes. With
    attention etc the weights of another attention go to both streams.

    Args:
        own: Of the model.
        initial: The model's bundle, for the message.

    Raises:
        InputError: If the recipe needs other weights than the model has, or settings contradict.

    Example:
        >>> recipe = EncoderConfig(hidden_size=1024, num_heads=16, random_plan="original")
        >>> own = EncoderConfig(hidden_size=1024, num_heads=16, activation="gelu")
        >>> settings = settings_of(own, recipe, Path("warm"))
        >>> settings.random_plan, settings.activation
        ('original', 'gelu')
    """
    is_lifted = recipe.attention == "etc" != own.attention
    changes = {"positions": "learned"} if is_lifted else {}  # labels take their place
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
    if "etc" in changes:
        changes["etc"] = replace(own.etc, **_given(recipe.etc))
    with checked_settings():
        return replace(own, **changes)


def _may_change(name: str, own: EncoderConfig, recipe: EncoderConfig) -> bool:
    """Return True if a model can have a recipe's value of a setting with its own weights."""
    if name == "attention":
        return own.attention != "etc"
    if name == "etc":
        others = [n for n, value in _given(recipe.etc).items() if value != getattr(own.etc, n)]
        return own.attention != "etc" or not set(others) & set(OF_WEIGHTS)
    return name in FREE


def _given(etc: EtcConfig) -> dict[str, object]:
    """Return the settings that are not at their defaults."""
    return {name: value for name, value in vars(etc).items() if value != getattr(PAPER_ETC, name)}
