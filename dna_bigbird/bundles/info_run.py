"""Steps of `info`: what a model bundle, a character model, a labelled set or a token store contains."""

from collections import Counter
from dataclasses import asdict
from pathlib import Path

from dna_bigbird.bundles.bundle import WEIGHTS, Bundle
from dna_bigbird.bundles.card import own_settings
from dna_bigbird.bundles.config import PRETRAINING
from dna_bigbird.bundles.config_file import read_bundle_json
from dna_bigbird.core.tables import as_columns, in_words, without_markdown
from dna_bigbird.corpus.token_store import TokenStore
from dna_bigbird.labelled.labelled_set import LabelledSet
from dna_bigbird.labelled.splits import SPLITS
from dna_bigbird.models.config import EncoderConfig
from dna_bigbird.models.label_types import RECORDED, REGRESSION

MOST_LABELS = 10
"""Labels that are named; of more only the first."""
SET_FACTS = ("task", "assembly", "negatives", "window_bp", "bin_bp")


def bundle_text(bundle: Bundle) -> str:
    """Return a bundle's facts, then its card, as text for a terminal."""
    config, weights = bundle.config, bundle.folder / WEIGHTS
    names, groups = config.label_names, config.label_groups
    facts = {"bundle": str(bundle.folder), "task": config.task}
    if config.set_name not in (None, config.task):
        facts["set"] = config.set_name
    if names:
        facts["labels"] = f"{len(names):,}: {', '.join(_first(names))}"
    elif config.task == PRETRAINING:
        facts["labels"] = "none: pretrained only"
    if len(names) > MOST_LABELS:
        facts["groups"] = in_words(dict(Counter(groups)))
    if config.window_bp:
        facts["window"] = f"{config.window_bp:,} bp"
    facts |= {
        "context": _context(config.encoder),
        "size": f"{_parameters(bundle):,} parameters, {weights.stat().st_size / 1e6:.1f} MB",
        "tokenizer": f"{next(iter(bundle.tokenizer.files))}, {bundle.tokenizer.vocab_size:,} pieces",
    }
    return f"{as_columns(facts)}\n\n{_card_of(bundle.folder)}"


def describe_bundle(bundle: Bundle) -> dict:
    """Return settings and scores of a bundle; of many labels only the first."""
    settings = dict(bundle.config.stored)
    labels = bundle.config.label_names
    if len(labels) > MOST_LABELS:
        settings["label_names"] = _first(labels)
        settings.pop("label_groups", None)
    if bundle.config.regions_read:
        read: dict[str, str] = {}
        for record in bundle.config.regions_read:
            before = f"{read[record.training]}; " if record.training in read else ""
            read[record.training] = f"{before}{record.summary()} of {record.assembly}"
        settings["regions_read"] = read
    return {"parameters": _parameters(bundle), "config": settings, "metrics": bundle.metrics.stored}


def _context(encoder: EncoderConfig) -> str:
    tokens = f"{encoder.max_tokens:,} tokens"
    longer = " in training; it reads longer sequences" if encoder.reads_any_length else ""
    settings = "".join(f"; {setting}" for setting in own_settings(encoder))
    return tokens + longer + settings


def _parameters(bundle: Bundle) -> int:
    return sum(p.numel() for p in bundle.model.parameters())


def _first(names: list[str]) -> list[str]:
    more = len(names) - MOST_LABELS
    return [*names[:MOST_LABELS], f"… {more:,} more"] if more > 0 else names


def describe_characters(folder: Path) -> tuple[dict, str]:
    """Return settings and scores of a character model, and as text for a terminal with its card."""
    from dna_bigbird.bundles.character_model import load_character_model

    model, description = load_character_model(folder)
    parameters = sum(p.numel() for p in model.parameters())
    size = (folder / WEIGHTS).stat().st_size
    facts = {
        "character model": str(folder),
        "reads": f"{description.source}, {len(description.alphabet)} characters",
        "windows": " ".join(map(str, description.model.causal_windows)),
        "size": f"{parameters:,} parameters, {size / 1e6:.1f} MB",
    }
    text = as_columns(facts) + "\n\n" + _card_of(folder)
    metrics = read_bundle_json(folder / "metrics.json")
    return {"parameters": parameters, "config": asdict(description), "metrics": metrics}, text


def _card_of(folder: Path) -> str:
    return without_markdown((folder / "README.md").read_text(errors="replace"))


def describe_labelled(path: Path) -> dict:
    """Return what a labelled set contains; of many labels only the first."""
    labelled = LabelledSet(path)
    is_typed = labelled.label_type in RECORDED
    return {
        **{name: getattr(labelled, name) for name in SET_FACTS},
        **({"label_type": labelled.label_type} if is_typed else {}),
        "rows": {split: len(labelled.rows(split)) for split in SPLITS},
        "labels": len(labelled.label_names),
        "labels_by_group": dict(Counter(labelled.label_groups)),
        "first_labels": _first_labels(labelled),
        "counts": labelled.counts,
        "command": labelled.command,
        "inputs_sha256": labelled.inputs,
        "file_bytes": path.stat().st_size,
    }


def _first_labels(labelled: LabelledSet) -> list[dict]:
    """Return name, group and positives of the first labels; of targets mean and standard deviation."""
    names = list(zip(labelled.label_names, labelled.label_groups, strict=True))[:MOST_LABELS]
    if labelled.label_type == REGRESSION:
        means, stds = (labelled.labels.mean(axis=0), labelled.labels.std(axis=0))
        return [
            {"name": name, "group": group, "mean": float(means[i]), "std": float(stds[i])}
            for i, (name, group) in enumerate(names)
        ]
    positives = labelled.packed_labels.positives().tolist()
    return [
        {"name": name, "group": group, "positives": positives[i]}
        for i, (name, group) in enumerate(names)
    ]


def describe_store(path: Path, verify: bool) -> dict:
    """Return the size and the attributes of a token store, compared with its checksums if asked."""
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
