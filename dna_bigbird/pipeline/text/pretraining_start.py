"""What `text pretrain` starts from: a vocabulary and fresh weights, or another model."""

from dataclasses import fields, replace
from pathlib import Path

from dna_bigbird.errors import InputError, checked_settings
from dna_bigbird.models.config import PATTERN, EncoderConfig

FREE = (*PATTERN, "dropout", "attention_dropout", "gradient_checkpointing")
"""Settings that no weight depends on: a recipe may change them."""


def start(tokenizer: Path | None, initial: Path | None, model: EncoderConfig, seed: int):
    """Return the vocabulary, the model and where its weights come from.

    Raises:
        InputError: If not exactly one of `tokenizer` and `initial` is given, or one is unusable.
    """
    from dna_bigbird.bundles.bundle import load_bundle
    from dna_bigbird.corpus.tokenizer_paths import read_text_tokenizer
    from dna_bigbird.models.pretraining_model import PretrainingModel

    if (tokenizer is None) == (initial is None):
        raise InputError("text pretrain: give either --tokenizer or --initial")
    if tokenizer is not None:
        bpe = read_text_tokenizer(tokenizer)
        encoder = replace(model, vocab_size=bpe.vocab_size)
        return bpe, PretrainingModel(encoder, seed=seed, heads=("mlm",)), "random"
    bundle = load_bundle(initial)
    bundle.check_reads_text()
    if "mlm" not in getattr(bundle.model, "heads", ()):
        raise InputError(
            f"{initial}: it has no head for masked tokens; expected a pretrained model"
        )
    encoder = settings_of(bundle.model.encoder.config, model, initial)
    network = PretrainingModel(encoder, heads=("mlm",))
    network.encoder.load_state_dict(bundle.model.encoder.state_dict())
    network.mlm.load_state_dict(bundle.model.mlm.state_dict())
    return bundle.tokenizer, network, bundle.config.initial_weights or "a bundle"


def settings_of(own: EncoderConfig, given: EncoderConfig, initial: Path) -> EncoderConfig:
    """Return the settings of a model to go on from, with those of a recipe that it can take over.

    A setting at its default counts as not given; the size of the vocabulary is never taken.

    Args:
        own: Of the model.
        given: Of the recipe.
        initial: The model's bundle, for the message.

    Raises:
        InputError: If the recipe wants other weights than the model has, or a contradiction.

    Example:
        >>> recipe = EncoderConfig(hidden_size=1024, num_heads=16, random_plan="original")
        >>> own = EncoderConfig(hidden_size=1024, num_heads=16, activation="gelu")
        >>> found = settings_of(own, recipe, Path("warm"))
        >>> found.random_plan, found.activation
        ('original', 'gelu')
    """
    changes = {}
    for field in fields(EncoderConfig):
        value = getattr(given, field.name)
        if field.name == "vocab_size" or value in (field.default, getattr(own, field.name)):
            continue
        if field.name not in FREE:
            raise InputError(
                f"--model.{field.name} {value}: the model of --initial {initial} has "
                f"{getattr(own, field.name)}, which its weights fix; leave the option out"
            )
        changes[field.name] = value
    with checked_settings():
        return replace(own, **changes)
