"""The three ways of `convert`: from the Hugging Face library, to it, and to a longer context."""

import copy
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, TypeVar

import torch
from torch import Tensor, nn

from dna_bigbird.bundles import text_tasks
from dna_bigbird.bundles.bundle import load_bundle
from dna_bigbird.bundles.card import model_card
from dna_bigbird.bundles.config import BundleConfig
from dna_bigbird.bundles.huggingface import read_huggingface, write_huggingface
from dna_bigbird.bundles.huggingface.converted_card import UNKNOWN, checked_license, converted_card
from dna_bigbird.bundles.save import save_bundle
from dna_bigbird.core.errors import InputError, checked_settings
from dna_bigbird.core.results import ConvertedModel
from dna_bigbird.models.config import stored_encoder
from dna_bigbird.models.encoder import Encoder

# Sequences longer than a model was trained for: more positions by a named rule.

# T positions before, L positions after, E hidden size


RULES = ("tile", "interpolate")
ROTARY, LABELS = "rotary", "labels"
"""What a bundle says instead of a rule: there was no table to extend."""

Model = TypeVar("Model", bound=nn.Module)


def extend_positions(model: Model, max_tokens: int, rule: str | None = None) -> Model:
    """Return a copy of the model that reads up to `max_tokens` tokens; the model stays as it is.

    Everything but the position table (and that of a decoder without a length of its own) is copied.
    'tile' repeats the table as often as needed, as Longformer did; the first positions keep their
    rows. 'interpolate' stretches it linearly; both ends keep theirs. Rotary positions and labels
    (BigBird-ETC) have no table and need no rule.

    With random plan 'uniform' the attention of a sequence depends on its own length alone, so old
    lengths keep theirs, and with 'tile' their states, too. Plan 'huggingface' makes its table for
    the whole position table: as in that library, the random blocks that 1,024, 3,072 and 4,096
    tokens have in training are other ones afterwards. In evaluation nothing changes.

    Raises:
        ValueError: If the rule is unknown, missing or has no meaning, or the model is as long already.
    """
    extended = copy.deepcopy(model)
    encoder: Encoder = extended if isinstance(extended, Encoder) else extended.encoder
    if encoder.position is None and rule is not None:
        raise ValueError(
            f"--positions {rule} is for a table of positions; the model has none: leave the option out"
        )
    if encoder.position is not None and rule not in RULES:
        raise ValueError(
            f"its positions are a learned table; say how it grows: --positions {' or '.join(RULES)}"
        )
    if max_tokens <= encoder.config.max_tokens:
        raise ValueError(
            f"the model reads {encoder.config.max_tokens} tokens already, got max_tokens {max_tokens}"
        )
    decoder = getattr(extended, "decoder", None)
    has_own_length = decoder is not None and extended.head.decoder_positions
    for part in (encoder, None if has_own_length else decoder):
        if part is None or part.position is None:
            continue
        old = part.position.weight
        table_LE = (_tile if rule == "tile" else _interpolate)(old.detach(), max_tokens)
        part.position = nn.Embedding.from_pretrained(table_LE, freeze=not old.requires_grad)
    encoder.config = replace(encoder.config, max_tokens=max_tokens)
    for layer in encoder.layers if encoder.config.keeps_published_padding else ():
        rule = layer.attention.rule
        if rule.plan == "huggingface":
            layer.attention.set_rule(replace(rule, table_tokens=max_tokens))
    return extended


def _tile(table_TE: Tensor, length: int) -> Tensor:
    return table_TE[torch.arange(length, device=table_TE.device) % len(table_TE)]


def _interpolate(table_TE: Tensor, length: int) -> Tensor:
    # In float64: a row is exact where a place falls on an old one.
    places_L = torch.arange(length, dtype=torch.float64, device=table_TE.device)
    places_L = places_L * (len(table_TE) - 1) / (length - 1)
    before_L = places_L.long()
    share_L1 = (places_L - before_L)[:, None]
    after_L = (before_L + 1).clamp(max=len(table_TE) - 1)
    exact_TE = table_TE.double()
    return torch.lerp(exact_TE[before_L], exact_TE[after_L], share_L1).to(table_TE.dtype)


LENGTHS = ("max_tokens", "max_source_tokens", "max_target_tokens")
"""Options of text tasks that a model's longest sequence limits."""


def from_huggingface(folder: Path, output: Path, plan: str | None) -> ConvertedModel:
    """Read a folder of the library and write it as a bundle."""
    model = read_huggingface(folder, plan)
    config = model.config.with_values(**task_settings(model.config, model.search))
    save_bundle(
        output,
        model=model.model,
        config=config,
        tokenizer=model.tokenizer,
        metrics={},
        card=model.card,
    )
    heads = ", ".join(config.heads if config.is_pretrained_only else [config.task]) or "no head"
    return ConvertedModel(output, f"encoder, {heads}; vocabulary of {model.tokenizer.reads}")


def task_settings(config: BundleConfig, search: dict[str, Any] | None) -> dict[str, Any]:
    """Return the options of a fine-tuned model's task, which a folder of the library lacks."""
    if config.is_pretrained_only:
        return {}
    options = text_tasks.describe(config.task).options()
    longest = config.encoder.max_tokens
    with checked_settings():
        options = replace(options, **(search or {}))
    limits = dict.fromkeys(LENGTHS, longest)
    limits["max_target_tokens"] = getattr(config.head, "decoder_positions", 0) or longest
    shorter = {n: min(getattr(options, n), k) for n, k in limits.items() if hasattr(options, n)}
    options = asdict(replace(options, **shorter))
    return {"options": options, "set": options.get("set", config.task)}


def to_huggingface(
    source: Path, output: Path, allow_different_attention: bool, license: str | None = None
) -> ConvertedModel:
    """Write a bundle as a folder of the library."""
    license = checked_license(license or UNKNOWN)
    bundle = load_bundle(source)
    bundle.check_single("convert")
    differences = write_huggingface(
        output,
        model=bundle.model,
        config=bundle.config,
        tokenizer=bundle.tokenizer,
        card=(bundle.folder / "README.md").read_text(encoding="utf-8", errors="replace"),
        source=str(source),
        allow_different_attention=allow_different_attention,
        metrics=bundle.metrics,
        license=license,
    )
    result = "something else" if differences else "the same"
    return ConvertedModel(output, f"written; the library computes {result}", tuple(differences))


def lengthen(source: Path, output: Path, max_tokens: int, rule: str | None) -> ConvertedModel:
    """Write a bundle again with more positions."""
    bundle = load_bundle(source)
    bundle.check_single("convert")
    encoder = bundle.config.encoder
    before = encoder.max_tokens
    try:
        model = extend_positions(bundle.model, max_tokens, rule)
    except ValueError as error:
        raise InputError(f"{source}: {error}") from error
    rule = rule or (LABELS if encoder.attention == "etc" else ROTARY)
    step = {"from_max_tokens": before, "positions": rule}
    config = bundle.config.with_values(
        encoder=stored_encoder(model.encoder.config), lengthened=[*bundle.config.lengthened, step]
    )
    is_converted = config.huggingface is not None
    card = converted_card(config) if is_converted else model_card(config, bundle.metrics)
    title, rest = card.split("\n", 1)
    notice = (
        f"> Lengthened from {before} to {max_tokens} tokens (positions: {rule}) and not trained since; "
        "scores are of the shorter model."
    )
    save_bundle(
        output,
        model=model,
        config=config,
        tokenizer=bundle.tokenizer,
        metrics=bundle.metrics,
        card=f"{title}\n\n{notice}\n{rest}",
        sequences_read=bundle.sequences_read,
    )
    return ConvertedModel(output, f"{before} -> {max_tokens} tokens, positions: {rule}")
