"""The YAML files of `--config`."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from dna_bigbird.cli.nearest import like_option
from dna_bigbird.errors import InputError
from dna_bigbird.files import read_text

OPTION = "--config"


def config_first(argv: list[str], prepare: Callable[[str], str] | None = None) -> list[str]:
    """Return arguments with every `--config FILE` before all other options: the command line wins.

    Args:
        prepare: Function (file) -> file, or YAML text instead of it.

    Raises:
        InputError: If a file cannot be read, is not UTF-8 or no YAML.

    Example:
        >>> config_first(["--seed", "1", "--config=/dev/null"])
        ['--config', '/dev/null', '--seed', '1']
    """
    files, others, rest = [], [], list(argv)
    while rest:
        argument = rest.pop(0)
        name, equals, value = argument.partition("=")
        if name != OPTION or not (equals or rest):
            others.append(argument)
            continue
        file = value if equals else rest.pop(0)
        options_in(file)
        files += [OPTION, prepare(file) if prepare else file]
    return files + others


def options_in(file: str) -> dict:
    """Return the options in a file.

    Raises:
        InputError: As `config_first`.
    """
    text = read_text(Path(file))
    try:
        values = yaml.safe_load(text)
    except (yaml.YAMLError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        line = f":{mark.line + 1}" if mark else ""
        problem = getattr(error, "problem", None) or "cannot be parsed"
        raise InputError(f"{file}{line}: not valid YAML: {problem}") from error
    if values is not None and not isinstance(values, dict):
        raise InputError(
            f"{file}: expected options as `name: value`, found {type(values).__name__}"
        )
    return values or {}


@dataclass
class ConfigFiles:
    """The files of one command: checks their options and remembers where each is set."""

    options: Mapping[str, bool]
    """Names of the options -> True if the value must be a list."""
    help: str
    """The command that shows the options."""
    aliases: Mapping[str, str] = field(default_factory=dict)
    """Other names of options -> their names."""
    locations: dict[str, str] = field(default_factory=dict)
    """Option -> file and line."""

    def prepare(self, file: str) -> str:
        """Return the file, or its text if names change or a single value becomes a list.

        Raises:
            InputError: If an option is unknown, naming file and line.
        """
        values = options_in(file)
        lines = dict(_lines(yaml.compose(read_text(Path(file)), Loader=yaml.SafeLoader)))
        changed = self._checked(values, file, lines)
        return file if changed == values else yaml.safe_dump(changed, sort_keys=False)

    def _checked(
        self, values: Mapping, file: str, lines: Mapping[str, int], group: str = ""
    ) -> dict:
        """Return options with their current names, and lists where one value stands for a list."""
        result = {}
        for key, value in values.items():
            current = key if group else self.aliases.get(key, key)
            name = f"{group}{current}"
            location = f"{file}:{lines[f'{group}{key}']}" if f"{group}{key}" in lines else file
            if self._is_group(name) and isinstance(value, Mapping):
                value = self._checked(value, file, lines, f"{group}{key}.")
            elif name in self.options:
                self.locations[name] = location
                is_single = value is not None and not isinstance(value, list)
                value = [value] if self.options[name] and is_single else value
            elif not self._is_group(name) and not self._is_in_option(name):
                near = re.sub(r"--([\w.]+)", r"'\1'", like_option(name, self.options))
                end = near or "."
                raise InputError(f"{location}: unknown option {name!r}{end} See: {self.help}")
            result[current] = value
        return result

    def _is_group(self, name: str) -> bool:
        return any(option.startswith(f"{name}.") for option in self.options)

    def _is_in_option(self, name: str) -> bool:
        """Return True for a key of a mapping: `baselines.kmer`."""
        return any(name.startswith(f"{option}.") for option in self.options)


def _lines(node: Any, group: str = "") -> Iterator[tuple[str, int]]:
    """Yield every key of a YAML mapping with its line, those of groups as `training.max_steps`."""
    if not isinstance(node, yaml.MappingNode):
        return
    for key, value in node.value:
        name = f"{group}{key.value}"
        yield name, key.start_mark.line + 1
        yield from _lines(value, f"{name}.")
