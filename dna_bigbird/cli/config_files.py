"""The YAML files of `--config`."""

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

import yaml

from dna_bigbird.errors import InputError
from dna_bigbird.files import read_text

OPTION = "--config"


def config_first(argv: list[str], aliases: Mapping[str, str] = MappingProxyType({})) -> list[str]:
    """Return arguments with every `--config FILE` before all other options: the command line wins.

    A file with old names of options is replaced by its text with the new ones.

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
        values = _read(file)
        if not aliases.keys().isdisjoint(values):
            values = {aliases.get(key, key): value for key, value in values.items()}
            file = yaml.safe_dump(values)
        files += [OPTION, file]
    return files + others


def _read(file: str) -> dict:
    """Return the options in a file, or raise InputError with a short message."""
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
