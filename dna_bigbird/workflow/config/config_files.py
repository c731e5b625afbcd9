"""The files that a config is merged from: which one, and which line, a setting comes from."""

import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from pathlib import Path

from dna_bigbird.core.errors import InputError
from dna_bigbird.core.yaml_files import KeyPath, YamlFile, read_yaml

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
    paths: Sequence[Path],
    overrides: Mapping[str, object] | None = None,
    section: KeyPath = (),
) -> ConfigFiles:
    """Read the files of a config.

    Args:
        section: Keys of the section of them that has the settings.

    Raises:
        InputError: As `read_yaml`.
    """
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
