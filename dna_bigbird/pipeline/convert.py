"""`dna-bigbird convert`."""

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from dna_bigbird.choices import checked
from dna_bigbird.errors import InputError
from dna_bigbird.paths import InputPath, OutputPath

if TYPE_CHECKING:
    from dna_bigbird.bundles.config import BundleConfig

WAYS = (
    "--from-huggingface DIR --to BUNDLE [--plan …]",
    "--from BUNDLE --to-huggingface DIR [--allow-different-attention true]",
    "--from BUNDLE --to BUNDLE2 --max-tokens N --positions tile|interpolate",
)


@checked()
def convert(
    from_: InputPath | None = None,
    to: OutputPath | None = None,
    from_huggingface: InputPath | None = None,
    to_huggingface: OutputPath | None = None,
    plan: Literal["uniform", "original", "huggingface"] | None = None,
    allow_different_attention: bool = False,
    max_tokens: int | None = None,
    positions: Literal["tile", "interpolate"] | None = None,
) -> None:
    """Read a model of the Hugging Face library, write one for it, or lengthen a model's context.

    Three ways, each with its own options:
    --from-huggingface DIR --to BUNDLE,
    --from BUNDLE --to-huggingface DIR,
    --from BUNDLE --to BUNDLE2 --max-tokens N --positions tile|interpolate.
    No code in the files is run. What is read, written and refused: docs/huggingface.md.

    Args:
        from_: Bundle to read.
        to: Bundle to write.
        from_huggingface: Folder of the Hugging Face library to read: config.json, safetensors or
            pytorch_model.bin, and tokenizer.json or spiece.model.
        to_huggingface: Folder to write for the Hugging Face library.
        plan: Random blocks of a model from that library: 'huggingface' repeats the library (the
            default), 'original' is the published plan, 'uniform' draws from the whole sequence. With
            the last two the model computes something else than in the library.
        allow_different_attention: Write a folder even if the library computes something else with
            these weights; its README.md says what.
        max_tokens: New longest sequence in tokens.
        positions: How new positions get their embeddings: 'tile' repeats the old ones one after the
            other, 'interpolate' stretches them.
    """
    read = from_huggingface if from_ is None else from_
    write = to_huggingface if to is None else to
    chosen = {
        "from": from_,
        "from-huggingface": from_huggingface,
        "to": to,
        "to-huggingface": to_huggingface,
        "plan": plan,
        "allow-different-attention": allow_different_attention or None,
        "max-tokens": max_tokens,
        "positions": positions,
    }
    way = {name for name, value in chosen.items() if value is not None}
    if way - {"plan"} == {"from-huggingface", "to"}:
        _check_target(read, write)
        _read(read, write, plan)
    elif way - {"allow-different-attention"} == {"from", "to-huggingface"}:
        _check_target(read, write)
        _write(read, write, allow_different_attention)
    elif way == {"from", "to", "max-tokens", "positions"}:
        _check_target(read, write)
        _lengthen(read, write, max_tokens, positions)
    else:
        given = " ".join(f"--{name}" for name in chosen if name in way) or "no option"
        raise InputError(f"convert: {given} given; expected one of: {'; '.join(WAYS)}")


def _check_target(read: Path, write: Path) -> None:
    """Refuse to replace the source, or a folder that holds something else than a model."""
    if write.resolve() == read.resolve():
        raise InputError(f"{write}: source and result are the same folder; name another one")
    if write.exists() and not write.is_dir():
        raise InputError(f"{write}: this is a file; expected the name of a folder")
    if write.is_dir() and any(write.iterdir()) and not (write / "config.json").is_file():
        raise InputError(f"{write}: the folder holds something else than a model; name another one")


def _read(folder: Path, bundle: Path, plan: str | None) -> None:
    from dna_bigbird.bundles.save import save_bundle
    from dna_bigbird.interop import read_huggingface

    found = read_huggingface(folder, plan)
    config = found.config.with_values(**_task_settings(found.config, found.search))
    save_bundle(
        bundle,
        model=found.model,
        config=config,
        tokenizer=found.tokenizer,
        metrics={},
        card=found.card,
    )
    heads = config.heads if config.is_pretrained_only else [config.task]
    print(
        f"{bundle}: encoder, {', '.join(heads) or 'no head'}; vocabulary of {found.tokenizer.reads}"
    )


def _task_settings(config: "BundleConfig", search: dict[str, Any] | None) -> dict[str, Any]:
    """Return the options of a fine-tuned model's task, which its folder does not have."""
    from dataclasses import asdict, replace

    if config.is_pretrained_only:
        return {}
    from dna_bigbird.datasets.text import registry
    from dna_bigbird.errors import checked_settings

    options = registry.describe(config.task).options()
    longest = config.encoder.max_tokens
    limits = ("max_tokens", "max_source_tokens", "max_target_tokens")
    with checked_settings():
        options = replace(options, **(search or {}))
    shorter = {n: min(getattr(options, n), longest) for n in limits if hasattr(options, n)}
    options = asdict(replace(options, **shorter))
    return {"options": options, "set": options.get("set", config.task)}


def _write(bundle: Path, folder: Path, allow_different_attention: bool) -> None:
    from dna_bigbird.bundles.bundle import load_bundle
    from dna_bigbird.interop import write_huggingface

    loaded = load_bundle(bundle)
    loaded.check_single("convert")
    different = write_huggingface(
        folder,
        model=loaded.model,
        config=loaded.config,
        tokenizer=loaded.tokenizer,
        card=(bundle / "README.md").read_text(encoding="utf-8", errors="replace"),
        source=str(bundle),
        allow_different_attention=allow_different_attention,
    )
    print(
        f"{folder}: written; the library computes {'something else' if different else 'the same'}"
    )
    for difference in different:
        print(f"  {difference}")


def _lengthen(bundle: Path, longer: Path, max_tokens: int, rule: str) -> None:
    from dna_bigbird.bundles.bundle import load_bundle
    from dna_bigbird.bundles.card import model_card
    from dna_bigbird.bundles.save import save_bundle
    from dna_bigbird.interop.card import converted_card
    from dna_bigbird.models.positions import extend_positions

    loaded = load_bundle(bundle)
    loaded.check_single("convert")
    before = loaded.config.encoder.max_tokens
    try:
        model = extend_positions(loaded.model, max_tokens, rule)
    except ValueError as error:
        raise InputError(f"{bundle}: {error}") from error
    lengthened = {"from_max_tokens": before, "positions": rule}
    config = loaded.config.with_values(
        encoder=model.encoder.config, lengthened=[*loaded.config.lengthened, lengthened]
    )
    is_converted = config.huggingface is not None
    card = converted_card(config) if is_converted else model_card(config, loaded.metrics)
    title, rest = card.split("\n", 1)
    notice = (
        f"> Lengthened from {before} to {max_tokens} tokens (positions: {rule}) and not trained since; "
        "scores are of the shorter model."
    )
    save_bundle(
        longer,
        model=model,
        config=config,
        tokenizer=loaded.tokenizer,
        metrics=loaded.metrics,
        card=f"{title}\n\n{notice}\n{rest}",
    )
    print(f"{longer}: {before} -> {max_tokens} tokens, positions: {rule}")
