"""The YAML files of options: those of `--config`, and of one group of settings (`--model FILE`)."""

import os
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from dna_bigbird.cli.nearest import like_option
from dna_bigbird.cli.option_types import CommandOption
from dna_bigbird.cli.parser_errors import OptionError
from dna_bigbird.errors import shortened
from dna_bigbird.yaml_files import YamlFile, parse_yaml, read_yaml


class Setting(NamedTuple):
    """The value of an option in a file."""

    option: CommandOption
    value: object
    location: str
    """File and line."""
    key: str = ""
    """The name that the value has in a mapping: `baselines.kmer: FILE`."""


@dataclass(frozen=True)
class OptionFiles:
    """Reads the files of one command."""

    options: Mapping[str, CommandOption]
    """The options by their full names."""
    groups: Collection[str]
    """Names of groups of options: `model`, `model.etc`."""
    aliases: Mapping[str, str] = field(default_factory=dict)
    """Other names of options -> their names."""

    def recipe(self, group: str, word: str, name: str) -> Iterator[Setting]:
        """Yield the options of a group from the name of a file, or from YAML in place of it.

        Args:
            name: What named the file, for messages.

        Raises:
            OptionError, InputError: As `settings`; if there is no such file.
        """
        if word.startswith("{"):
            yield from self.settings(parse_yaml(word, name), group)
        elif os.path.isfile(word):
            yield from self.settings(read_yaml(Path(word)), group)
        else:
            such_as = next(option for option in self.options if option.startswith(f"{group}."))
            expected = f"expected a YAML file of options, such as --{such_as}"
            raise OptionError(f"{name} {shortened(word)}: {expected}")

    def settings(self, file: YamlFile, group: str = "") -> Iterator[Setting]:
        """Yield the options in a file.

        Raises:
            OptionError: Naming file and line, if the command has no such option.
        """
        yield from self._settings(file.values(), file, group, ())

    def _settings(
        self, values: Mapping, file: YamlFile, group: str, path: tuple[str, ...]
    ) -> Iterator[Setting]:
        for key, value in values.items():
            name = f"{group}.{key}" if group else self.aliases.get(key, key)
            location = f"{file.name}:{file.line((*path, key))}"
            mapping, _, inner = name.rpartition(".")
            if name in self.options:
                yield Setting(self.options[name], value, location)
            elif name in self.groups:
                if isinstance(value, Mapping):
                    yield from self._settings(value, file, name, (*path, key))
                elif value is not None:
                    recipe = Path(file.name).parent / str(value)
                    yield from self.recipe(name, str(recipe), f"{location}: {name}")
            elif mapping in self.options and self.options[mapping].is_mapping:
                yield Setting(self.options[mapping], value, location, inner)
            else:
                near = re.sub(r"--([\w.]+)", r"'\1'", like_option(name, self.options))
                raise OptionError(f"{location}: unknown option {name!r}{near}")
