"""`dna-bigbird models`: bundles that have a name, in a folder of the user."""

import os
import re
import shutil
from dataclasses import dataclass
from pathlib import Path

from dna_bigbird.bundles.bundled import NAMES, models_folder
from dna_bigbird.bundles.config_file import read_config
from dna_bigbird.core.choices import checked, near
from dna_bigbird.core.errors import InputError, note
from dna_bigbird.core.paths import InputPath
from dna_bigbird.core.result_folders import MODEL, RECORD
from dna_bigbird.core.results import Result, Rows
from dna_bigbird.core.tables import Table
from dna_bigbird.corpus.tokenizer_files import load_tokenizer

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
OWN_LICENCE = "Apache-2.0"
"""Of the models of the package: bundles/data/PROVENANCE.md."""


@dataclass(frozen=True)
class ModelList(Rows):
    """The models that have a name."""

    rows: list[dict]
    """One per model."""

    def summary(self) -> str:
        """Return the rows as tab-separated text."""
        return Table(self.rows).to_tsv()


@dataclass(frozen=True)
class NamedModel(Result):
    """A model that was added, or removed."""

    name: str
    folder: Path
    text: str

    def summary(self) -> str:
        """Return what was done."""
        return f"{self.name}: {self.text}"


@checked()
def models_list() -> ModelList:
    """List the models that have a name: those of the package, and those of `models add`.

    A name is taken by every option that takes a bundle (`--model NAME`, `--pretrained NAME`) and by
    `load("NAME")`, unless there is a path of that name.

    Examples:
        dna-bigbird models list
    """
    current = {folder: name for name, folder in reversed(NAMES.items())}  # the first of two names
    rows = []
    for name in (*reversed(current.values()), *_added()):
        try:
            rows.append(_row(name))
        except InputError as error:
            note(f"{name} is not listed: {error}")
    return ModelList(rows)


@checked()
def models_add(alias: str, original: InputPath, license: str | None = None) -> NamedModel:
    """Give a copy of a bundle a name.

    The bundle is read and checked first. Copies are in the folder DNA_BIGBIRD_MODELS, by default
    dna-bigbird/models in the user's data folder (XDG_DATA_HOME).

    Examples:
        dna-bigbird models add ctcf results/models/chromatin
        dna-bigbird models add ctcf results/models/chromatin --license cc-by-4.0

    Args:
        alias: Name of the model: letters, digits, '.', '_' and '-'.
        original: Model to copy: a folder of `dna-bigbird finetune`, `pretrain` or others.
        license: Licence of the model: for the list.

    Raises:
        InputError: If the name is taken or has other characters, or the bundle is damaged.
    """
    from dna_bigbird.bundles.bundle import load_bundle
    from dna_bigbird.bundles.save import copy_bundle

    if not _NAME.fullmatch(alias):
        raise InputError(f"name {alias!r}: expected letters, digits, '.', '_' and '-'")
    target = models_folder() / alias
    if alias in NAMES:
        raise InputError(f"name {alias}: a model of the package has it; choose another one")
    if os.path.lexists(target):
        raise InputError(
            f"name {alias}: there is such a model; remove it first (dna-bigbird models remove {alias})"
        )
    source = load_bundle(original)
    config = source.config if license is None else source.config.with_values(license=license)
    target.parent.mkdir(parents=True, exist_ok=True)
    copy_bundle(source.folder, target, {"config.json": config.to_json()})
    return NamedModel(alias, target, f"a copy of {original} in {target}")


@checked()
def models_remove(alias: str) -> NamedModel:
    """Remove a model that `models add` made.

    Examples:
        dna-bigbird models remove ctcf

    Args:
        alias: Name of the model: as `models list` has it.

    Raises:
        InputError: If there is no such model, it is one of the package, or its folder holds anything else.
    """
    folder = models_folder() / alias
    if alias not in (known := _added()):
        raise InputError(f"name {alias}: no model was added under it{near(alias, known)}")
    if folder.is_symlink() or not (folder / RECORD).is_file():
        raise InputError(f"{folder}: `models add` did not make it; remove it yourself")
    MODEL.check_replaceable(folder, "remove that first")
    shutil.rmtree(folder)
    return NamedModel(alias, folder, f"removed from {folder.parent}")


def _added() -> list[str]:
    """Return the names of the models in the user's folder."""
    return sorted(path.parent.name for path in models_folder().glob("*/config.json"))


def _row(name: str) -> dict[str, object]:
    """Return what the list says of a model."""
    folder = NAMES[name]() if name in NAMES else models_folder() / name
    config = read_config(folder / "config.json")
    tokenizer = load_tokenizer(folder)
    is_of_bases = max(getattr(tokenizer, "piece_bp", (0,))) == 1
    read = config.regions_read
    licence = OWN_LICENCE if name in NAMES else config.license or "unknown"
    return {
        "name": name,
        "task": config.task,
        "tokens": "single bases" if is_of_bases else f"{tokenizer.vocab_size:,} pieces",
        "window": config.window_bp or f"{config.encoder.max_tokens:,} tokens",
        "labels": ",".join(config.label_names[:3]) + (",…" if len(config.label_names) > 3 else ""),
        "licence": licence,
        "read": "unknown" if read is None else "; ".join(x.sentence() for x in read),
        "folder": str(folder),
    }
