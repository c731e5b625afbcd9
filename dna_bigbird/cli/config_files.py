"""The YAML files of options: those of `--config`, and of one group of settings (`--model FILE`)."""

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from dna_bigbird.cli.nearest import like_option
from dna_bigbird.cli.option_types import CommandOption, OptionError
from dna_bigbird.cli.parser import Parser
from dna_bigbird.core.errors import shortened
from dna_bigbird.core.yaml_files import YamlFile, parse_yaml, read_yaml


class Setting(NamedTuple):
    """The value of an option."""

    option: CommandOption
    value: object
    location: str
    """File and line; "" for the command line."""
    key: str = ""
    """The name that the value has in a mapping: `baselines.kmer: FILE`."""


def settings_of_group(parser: Parser, group: str, word: str, name: str) -> Iterator[Setting]:
    """Yield the options of a group from the name of a file, or from YAML in place of it.

    Args:
        name: What named the file, for messages.

    Raises:
        OptionError, InputError: As `settings_in`; if there is no such file.
    """
    if word.startswith("{"):
        yield from settings_in(parser, parse_yaml(word, name), group)
    elif os.path.isfile(word):
        yield from settings_in(parser, read_yaml(Path(word)), group)
    else:
        such_as = next(option for option in parser.by_dest if option.startswith(f"{group}."))
        expected = f"expected a YAML file of options, such as --{such_as}"
        raise OptionError(f"{name} {shortened(word)}: {expected}")


def settings_in(parser: Parser, file: YamlFile, group: str = "") -> Iterator[Setting]:
    """Yield the options in a file.

    Raises:
        OptionError: Naming file and line, if the command has no such option.
    """
    yield from _settings(parser, file, file.values(), group, ())


def _settings(
    parser: Parser, file: YamlFile, values: Mapping, group: str, path: tuple[str, ...]
) -> Iterator[Setting]:
    for key, value in values.items():
        name = f"{group}.{key}" if group else parser.aliases.get(key, key)
        location = f"{file.name}:{file.line((*path, key))}"
        mapping, _, inner = name.rpartition(".")
        if name in parser.by_dest:
            yield Setting(parser.by_dest[name], value, location)
        elif name in parser.groups and isinstance(value, Mapping):
            yield from _settings(parser, file, value, name, (*path, key))
        elif name in parser.groups:
            if value is not None:
                recipe = str(Path(file.name).parent / str(value))
                yield from settings_of_group(parser, name, recipe, f"{location}: {name}")
        elif mapping in parser.by_dest and parser.by_dest[mapping].is_mapping:
            yield Setting(parser.by_dest[mapping], value, location, inner)
        else:
            near = re.sub(r"--([\w.]+)", r"'\1'", like_option(name, parser.by_dest))
            raise OptionError(f"{location}: unknown option {name!r}{near}")
