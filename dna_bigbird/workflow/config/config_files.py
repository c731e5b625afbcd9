"""The files that a config is merged from: which one, and which line, a setting comes from."""

import operator
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from pathlib import Path

from dna_bigbird.core.errors import InputError
from dna_bigbird.core.yaml_files import KeyPath, YamlFile, read_yaml
from dna_bigbird.genome.sources.specs import find_spec


def is_path(source: str) -> bool:
    """Return True if a source is a path; a name that data_specs/ describes is none: write `./NAME`.

    Example:
        >>> [is_path(x) for x in ("peaks/a.bed", "~", "./grch37_genome", "grch37_genome")]
        [True, True, True, False]
    """
    if "/" in source or source.startswith("~"):
        return True
    return os.path.exists(source) and not _is_described(source)


def plain_path(path: str) -> str:
    """Return a path as rules name it: the home folder written out, without `./` and `//`.

    Example:
        >>> [plain_path(x) for x in ("./a.fa", "././b//c", "../d", "/e", "./")]
        ['a.fa', 'b/c', '../d', '/e', '.']
    """
    path = re.sub("/+", "/", os.path.expanduser(path))
    return re.sub(r"^(\./)+", "", path) or "."


def check_source(source: str) -> None:
    """Raise InputError for a path without a file, and for a name that data_specs/ does not describe."""
    if is_path(source):
        if not Path(plain_path(source)).exists():
            raise InputError(f"{source}: no such file{_near_file(source)}")
        return
    try:
        find_spec(source)
    except InputError as error:
        raise InputError(f"no file {source!r} in {Path.cwd()}, and {error}") from None


def _is_described(name: str) -> bool:
    try:
        return find_spec(name).is_file()
    except InputError:
        return False


def _near_file(source: str) -> str:
    """Return where a relative path was looked for."""
    path = plain_path(source)
    return "" if os.path.isabs(path) else f" (looked for in {Path.cwd()}, where the command runs)"


COMMAND_LINE = "--config"


@dataclass(frozen=True)
class ConfigFiles:
    """Files of settings, later ones over earlier ones, and settings of the command line over all."""

    files: Sequence[YamlFile]
    overrides: Mapping[str, object] = field(default_factory=dict)
    """Settings of `--config`."""
    section: KeyPath = ()
    """Keys of the section that has the settings; none if they are whole files."""
    name: str = COMMAND_LINE
    """What to call the source of the settings if there is no file."""

    def values(self) -> dict:
        """Return the merged settings, as Snakemake merges them."""
        merged: dict = {}
        for values in (*(file.values() for file in self.files), self.overrides):
            _update(merged, values)
        return reduce(operator.getitem, self.section, merged)

    def location(self, path: KeyPath) -> tuple[int, int]:
        """Return number of the file and line of a setting, to sort by; files come first to last."""
        return self._location((*self.section, *path))

    def where(self, path: KeyPath) -> str:
        """Return `FILE:LINE` of a setting, or of the nearest section above it that is there."""
        whole = (*self.section, *path)
        for length in range(len(whole), 0, -1):
            if _has(self.overrides, whole[:length]):
                return COMMAND_LINE
            number, line = self._location(whole[:length])
            if line:
                return f"{self.files[number].name}:{line}"
        return self.files[-1].name if self.files else self.name

    def error(self, path: KeyPath, text: str) -> InputError:
        """Return the error for a setting: `FILE:LINE: section.key: text`."""
        name = option_name((*self.section, *path))
        return InputError(": ".join(filter(None, (self.where(path), name, text))))

    def _location(self, whole: KeyPath) -> tuple[int, int]:
        for number in range(len(self.files) - 1, -1, -1):
            if line := self.files[number].line(whole):
                return number, line
        return len(self.files), 0


def option_name(path: KeyPath) -> str:
    """Return the name of a setting for messages.

    Example:
        >>> option_name(("inputs", "genome", 0))
        'inputs.genome[0]'
    """
    steps = (f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
    return "".join(steps).removeprefix(".")


def read_config_files(
    paths: Sequence[Path], overrides: Mapping[str, object] | None = None, section: KeyPath = ()
) -> ConfigFiles:
    """Read the files of a config; `section` are the keys of the part that has the settings."""
    files = [read_yaml(path, _shown(path)) for path in paths]
    return ConfigFiles(files, overrides or {}, section)


def _shown(path: Path) -> str:
    """Return a path relative to the working folder, if it is below it."""
    path = Path(path)
    below = path.is_absolute() and path.is_relative_to(Path.cwd())
    return str(path.relative_to(Path.cwd()) if below else path)


def _update(values: dict, changes: Mapping) -> None:
    for key, change in changes.items():
        if isinstance(change, Mapping) and isinstance(values.get(key), dict):
            _update(values[key], change)
        else:
            values[key] = dict(change) if isinstance(change, Mapping) else change


def _has(values: object, path: KeyPath) -> bool:
    for step in path:
        if not isinstance(values, Mapping) or step not in values:
            return False
        values = values[step]
    return True


def results_folder(run: Mapping) -> Path:
    """Return the folder of the results of a run.

    Example:
        >>> [str(results_folder({"name": name})) for name in ("demo", "mine")]
        ['results', 'results/mine']
    """
    name = run["name"]
    return Path(run.get("results") or ("results" if name == "demo" else f"results/{name}"))
