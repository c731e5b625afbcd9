"""`dna-bigbird info`."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from dna_bigbird.bundles.bundle import Bundle
from dna_bigbird.core.choices import checked
from dna_bigbird.core.dataframes import DataFrame, dataframe
from dna_bigbird.core.errors import InputError
from dna_bigbird.core.paths import InputPath
from dna_bigbird.core.results import Result


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
    from dna_bigbird.bundles import info_run
    from dna_bigbird.bundles.bundle import is_character_model, load_bundle
    from dna_bigbird.bundles.bundled import bundled_model
    from dna_bigbird.bundles.choice import choose_labels
    from dna_bigbird.core.files import check_readable
    from dna_bigbird.core.tables import as_columns
    from dna_bigbird.core.writing import json_text
    from dna_bigbird.labelled.labelled_set import is_labelled_set

    path = bundled_model() if path is None else Path(path)
    if path.is_file():
        check_readable(path)
        if labels is not None:
            raise InputError(f"{path}: --labels is for a model bundle, and this is a file")
        if is_labelled_set(path):
            facts = info_run.describe_labelled(path)
        else:
            facts = info_run.describe_store(path, verify)
        return Description(path, facts, json_text(facts) if format == "json" else as_columns(facts))
    if verify:
        raise InputError(f"{path}: --verify is for a token store, and this is not a file")
    if is_character_model(path):
        if labels is not None:
            raise InputError(f"{path}: --labels is for a model bundle; a character model has none")
        facts, text = info_run.describe_characters(path)
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
    from dna_bigbird.bundles.info_run import bundle_text, describe_bundle

    facts = {str(bundle.folder): describe_bundle(bundle) for bundle in bundles}
    text = "\n\n".join(map(bundle_text, bundles))
    first = bundles[0].folder
    return Description(first, facts if len(bundles) > 1 else facts[str(first)], text)
