"""`dna-bigbird info`."""

from pathlib import Path
from typing import Literal

from dna_bigbird.choices import checked
from dna_bigbird.paths import InputPath

SHOWN = 10
"""Labels named where there are many."""


@checked()
def info(
    path: InputPath,
    format: Literal["text", "json"] = "text",
    labels: str | None = None,
    verify: bool = False,
) -> None:
    """Say what a model bundle predicts and how well, or what a token store or a labelled set holds.

    Of a bundle: task, labels, window, size and its card with scores, baselines and limits.

    Args:
        path: Model bundle (a folder), token store or labelled set (HDF5 files); the model that comes
            with the package if not given.
        format: 'json' gives all settings and scores, for programs.
        labels: List the labels of a bundle that a name or shell pattern means, one a line; '*' for all.
        verify: Read a token store from end to end and compare it with its checksums; labelled sets
            always are.

    Examples:
        dna-bigbird info
        dna-bigbird info results/models/chromatin
        dna-bigbird info results/models/chromatin --labels 'GM12878*'
        dna-bigbird info results/models/promoter --format json
    """
    from dna_bigbird.bundles.bundle import load_bundle
    from dna_bigbird.bundles.bundled import bundled_model
    from dna_bigbird.datasets.labelled import is_labelled_set
    from dna_bigbird.errors import InputError
    from dna_bigbird.files import check_readable
    from dna_bigbird.inference.labels import choose_labels
    from dna_bigbird.pipeline.plain_text import rows
    from dna_bigbird.writing import json_text

    path = bundled_model() if path is None else path
    if path.is_file():
        check_readable(path)
        if labels is not None:
            raise InputError(f"{path}: --labels is for a model bundle, and this is a file")
        is_set = is_labelled_set(path)
        told = describe_labelled(path) if is_set else describe_store(path, verify)
        print(json_text(told) if format == "json" else rows(told) + "\n", end="")
    elif verify:
        raise InputError(f"{path}: --verify is for a token store, and this is no file")
    else:
        bundle = load_bundle(path)
        if labels is not None:
            names = bundle.config.label_names
            print(*[names[i] for i in choose_labels(names, labels)], sep="\n")
        elif format == "json":
            print(json_text(describe_bundle(bundle)), end="")
        else:
            print(bundle_text(bundle))


def bundle_text(bundle) -> str:
    """Return what a reader wants to know of a bundle: facts, then its card."""
    from collections import Counter

    from dna_bigbird.bundles.config import PRETRAINING
    from dna_bigbird.pipeline.plain_text import in_words, rows, without_markdown

    config, weights = bundle.config, bundle.folder / "model.safetensors"
    names, groups = config.label_names, config.label_groups
    facts = {"bundle": str(bundle.folder), "task": config.task}
    if config.set_name not in (None, config.task):
        facts["set"] = config.set_name
    if names:
        facts["labels"] = f"{len(names):,}: {', '.join(_some(names))}"
    elif config.task == PRETRAINING:
        facts["labels"] = "none: pretrained only"
    if len(names) > SHOWN:
        facts["groups"] = in_words(dict(Counter(groups)))
    if config.window_bp:
        facts["window"] = f"{config.window_bp:,} bp"
    facts |= {
        "context": f"{config.encoder.max_tokens:,} tokens",
        "size": f"{_parameters(bundle):,} parameters, {weights.stat().st_size / 1e6:.1f} MB",
        "tokenizer": f"{next(iter(bundle.tokenizer.files))}, {bundle.tokenizer.vocab_size:,} pieces",
    }
    card = without_markdown((bundle.folder / "README.md").read_text(errors="replace"))
    return f"{rows(facts)}\n\n{card}"


def describe_bundle(bundle) -> dict:
    """Return what a bundle says of itself; of many labels the first ten."""
    shown = dict(bundle.config.stored)
    labels = bundle.config.label_names
    if len(labels) > SHOWN:
        shown["label_names"] = _some(labels)
        shown.pop("label_groups", None)
    return {"parameters": _parameters(bundle), "config": shown, "metrics": bundle.metrics.stored}


def _parameters(bundle) -> int:
    return sum(p.numel() for p in bundle.model.parameters())


def _some(names: list[str]) -> list[str]:
    more = len(names) - SHOWN
    return [*names[:SHOWN], f"… {more:,} more"] if more > 0 else names


def describe_labelled(path: Path) -> dict:
    """Return what a labelled set holds; of many labels the first ten."""
    from collections import Counter

    from dna_bigbird.datasets.labelled import LabelledSet
    from dna_bigbird.datasets.splits import SPLITS

    made = LabelledSet(path)
    positives = made.packed_labels.positives()
    labels = zip(made.label_names, made.label_groups, positives.tolist(), strict=True)
    return {
        **{
            name: getattr(made, name)
            for name in ("task", "assembly", "negatives", "window_bp", "bin_bp")
        },
        "rows": {split: len(made.rows(split)) for split in SPLITS},
        "labels": len(made.label_names),
        "labels_by_group": dict(Counter(made.label_groups)),
        "first_labels": [
            {"name": name, "group": group, "positives": count}
            for name, group, count in list(labels)[:10]
        ],
        "counts": made.counts,
        "command": made.command,
        "inputs_sha256": made.inputs,
        "file_bytes": path.stat().st_size,
    }


def describe_store(path: Path, verify: bool) -> dict:
    """Return the size and the attributes of a token store.

    Raises:
        InputError: If it is none, or does not match its checksum (with `verify`).
    """
    from dna_bigbird.datasets.token_store import TokenStore

    store = TokenStore(path)
    if verify:
        store.verify()
    return {
        "documents": store.num_documents,
        "sentences": int(store.document_sentence_offsets[-1]),
        "tokens": store.num_tokens,
        "bp": store.num_bp,
        "bp_per_token": round(store.num_bp / store.num_tokens, 6),
        "chromosomes": store.chromosomes,
        "file_bytes": path.stat().st_size,
        "checksum_verified": verify,
        "attributes": {
            name: value if isinstance(value, str) else int(value)
            for name, value in sorted(store.attributes.items())
            if name != "chromosomes"
        },
    }
