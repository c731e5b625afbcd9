"""`dna-bigbird info`."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from dna_bigbird.bundles.bundle import WEIGHTS, Bundle
from dna_bigbird.bundles.card import own_settings
from dna_bigbird.bundles.config import PRETRAINING
from dna_bigbird.bundles.config_file import read_bundle_json
from dna_bigbird.core.choices import checked
from dna_bigbird.core.dataframes import DataFrame, dataframe
from dna_bigbird.core.errors import InputError
from dna_bigbird.core.paths import InputPath
from dna_bigbird.core.results import Result
from dna_bigbird.core.tables import as_columns, in_words, without_markdown
from dna_bigbird.models.config import EncoderConfig
from dna_bigbird.models.label_types import NUMBERS, RECORDED

if TYPE_CHECKING:
    from dna_bigbird.labelled.labelled_set import LabelledSet


@dataclass(frozen=True)
class Description(Result):
    """What a model bundle, a character model, a token store or a labelled set contains."""

    path: Path
    facts: dict
    """Settings, scores and counts, as in the JSON form."""
    text: str
    """The facts as the command prints them."""

    def to_dataframe(self) -> DataFrame:
        """Return the facts: name, such as config.encoder.num_layers, and value."""
        facts = dict(_flattened(self.facts))
        return dataframe({"name": list(facts), "value": list(facts.values())})


def _flattened(values: Mapping[str, object], prefix: str = "") -> Iterator[tuple[str, object]]:
    for name, value in values.items():
        if isinstance(value, Mapping):
            yield from _flattened(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value


@checked()
def info(
    path: InputPath | None = None,
    format: Literal["text", "json"] = "text",
    labels: str | None = None,
    verify: bool = False,
) -> Description:
    """Describe a model bundle (what it predicts, how well), a token store or a labelled set.

    Of a bundle: task, labels, window, size and its card with scores, baselines and limits.

    Args:
        path: Model bundle or character model (folders), token store or labelled set (HDF5 files); the bundled
            model if not given.
        format: Format of the output: 'json' gives all settings and scores, for programs.
        labels: Labels by name or shell pattern: those of a bundle are listed, one per line; '*' for
            all.
        verify: Read a whole token store and compare it with its checksums; for labelled sets this
            is always done.

    Examples:
        dna-bigbird info
        dna-bigbird info results/models/chromatin
        dna-bigbird info results/models/chromatin --labels 'GM12878*'
        dna-bigbird info results/models/chromatin --format json
    """
    from dna_bigbird.bundles.bundle import is_character_model, load_bundle
    from dna_bigbird.bundles.bundled import bundled_model
    from dna_bigbird.bundles.choice import choose_labels
    from dna_bigbird.core.files import check_readable
    from dna_bigbird.core.writing import json_text
    from dna_bigbird.labelled.labelled_set import is_labelled_set

    path = bundled_model() if path is None else Path(path)
    if path.is_file():
        check_readable(path)
        if labels is not None:
            raise InputError(f"{path}: --labels is for a model bundle, and this is a file")
        facts = describe_labelled(path) if is_labelled_set(path) else describe_store(path, verify)
        return Description(path, facts, json_text(facts) if format == "json" else as_columns(facts))
    if verify:
        raise InputError(f"{path}: --verify is for a token store, and this is not a file")
    if is_character_model(path):
        if labels is not None:
            raise InputError(f"{path}: --labels is for a model bundle; a character model has none")
        facts, text = describe_characters(path)
        return Description(path, facts, json_text(facts) if format == "json" else text)
    bundle = load_bundle(path)
    description = describe([bundle])
    if labels is not None:
        names = bundle.config.label_names
        return replace(description, text="\n".join(names[i] for i in choose_labels(names, labels)))
    if format == "json":
        return replace(description, text=json_text(description.facts))
    return description


def describe(bundles: Sequence[Bundle]) -> Description:
    """Return settings, scores and card of loaded bundles; the facts of several are by folder."""
    facts = {str(bundle.folder): describe_bundle(bundle) for bundle in bundles}
    text = "\n\n".join(map(bundle_text, bundles))
    first = bundles[0].folder
    return Description(first, facts if len(bundles) > 1 else facts[str(first)], text)


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
    from dna_bigbird.labelled.labelled_set import LabelledSet
    from dna_bigbird.labelled.splits import SPLITS

    labelled = LabelledSet(path)
    is_typed = labelled.label_type in RECORDED
    missing = int((len(labelled) - labelled.packed_labels.measured()).sum())
    return {
        **{name: getattr(labelled, name) for name in SET_FACTS},
        **({"label_type": labelled.label_type} if is_typed else {}),
        "rows": {split: len(labelled.rows(split)) for split in SPLITS},
        "labels": len(labelled.label_names),
        "labels_by_group": dict(Counter(labelled.label_groups)),
        "first_labels": _first_labels(labelled),
        **({"cells_not_measured": missing} if missing else {}),
        "counts": labelled.counts,
        "command": labelled.command,
        "inputs_sha256": labelled.inputs,
        "file_bytes": path.stat().st_size,
    }


def _first_labels(labelled: "LabelledSet") -> list[dict]:
    """Return name, group, positives and measured rows of the first labels; of targets mean and deviation."""
    names = list(zip(labelled.label_names, labelled.label_groups, strict=True))[:MOST_LABELS]
    if labelled.label_type in NUMBERS:
        _, means, stds, _ = labelled.track_training
        if not labelled.num_bins:
            means, stds = (labelled.labels.mean(axis=0), labelled.labels.std(axis=0))
        return [
            {"name": name, "group": group, "mean": float(means[i]), "std": float(stds[i])}
            for i, (name, group) in enumerate(names)
        ]
    labels = labelled.packed_labels
    counts = {"positives": labels.positives().tolist()}
    if labels.missing is not None:
        counts["rows_measured"] = labels.measured().tolist()
    return [
        {"name": name, "group": group, **{key: values[i] for key, values in counts.items()}}
        for i, (name, group) in enumerate(names)
    ]


def describe_store(path: Path, verify: bool) -> dict:
    """Return the size and the attributes of a token store, compared with its checksums if asked."""
    from dna_bigbird.corpus.token_store import TokenStore

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
