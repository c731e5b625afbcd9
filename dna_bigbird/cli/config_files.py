"""The YAML files of `--config`."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import yaml

from dna_bigbird.cli.nearest import like_option
from dna_bigbird.errors import InputError
from dna_bigbird.yaml_files import YamlFile, read_yaml

OPTION = "--config"


def readable(file: str) -> str:
    """Return the name of a file of settings that can be read.

    Raises:
        InputError: As `read_yaml`.
    """
    read_yaml(Path(file))
    return file


def config_first(argv: list[str], prepare: Callable[[str], str] = readable) -> list[str]:
    """Return arguments with every `--config FILE` before all other options: the command line wins.

    Args:
        prepare: Function (file) -> file, or YAML text instead of it.

    Raises:
        InputError: As `prepare`.

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
        files += [OPTION, prepare(file)]
    return files + others


@dataclass
class OptionFiles:
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
        read = read_yaml(Path(file))
        values = read.values()
        changed = self._checked(values, read)
        # The parser cannot take a name that is not UTF-8.
        is_kept = changed == values and file.isprintable()
        return file if is_kept else yaml.safe_dump(changed, sort_keys=False)

    def _checked(self, values: Mapping, file: YamlFile, above: tuple[str, ...] = ()) -> dict:
        """Return options with their current names, and lists where one value stands for a list."""
        result = {}
        for key, value in values.items():
            current = key if above else self.aliases.get(key, key)
            name = ".".join(map(str, (*above, current)))
            location = f"{file.name}:{file.line((*above, key))}"
            if self._is_group(name) and isinstance(value, Mapping):
                value = self._checked(value, file, (*above, key))
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
