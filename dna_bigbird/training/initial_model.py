"""A pretraining that starts from another model: its settings and its weights, for DNA and for text."""

from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import torch

from dna_bigbird.bundles.bundle import Bundle, load_bundle
from dna_bigbird.core.errors import InputError, checked_settings, note
from dna_bigbird.models.attention_config import OF_WEIGHTS
from dna_bigbird.models.config import OWN_SETTINGS, PATTERN, EncoderConfig
from dna_bigbird.models.pretraining_model import PretrainingModel
from dna_bigbird.models.weight_transfer import copy_weights, lift_to_etc

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
