"""Messages of the parser about wrong options, rewritten for the user."""

import argparse
import re
from collections.abc import Iterable, Mapping
from types import MappingProxyType

import yaml

from dna_bigbird.choices import near
from dna_bigbird.cli.nearest import like_option
from dna_bigbird.cli.option_types import choices_in, expected, is_accepted, long_name
from dna_bigbird.cli.parser_internals import has_type, type_of
from dna_bigbird.errors import shortened
from dna_bigbird.messages import listed_words
from dna_bigbird.yaml_files import load_yaml

_VALUE = re.compile(
    r'Parser key "(?P<key>[^"]+)".*(?:Got|Given) value: (?P<value>.*)', flags=re.DOTALL
)
_REQUIRED = re.compile(r"the following arguments are required: (?P<names>[\w., -]+)")
_NO_VALUE = re.compile(r"argument (?P<name>[\w./-]+): expected one argument")
_GROUP = re.compile(
    r'Parser key "(?P<key>[^"]+)".*Unable to load config ["\'](?P<value>.*)["\']', re.DOTALL
)


def in_words(
    message: str,
    actions: Iterable[argparse.Action],
    locations: Mapping[str, str] = MappingProxyType({}),
) -> str:
    """Return a message of the parser in words, with the name of the option and what it expects.

    Args:
        actions: The command's options.
        locations: File and line of options that a file of --config sets.
    """
    by_name = {action.dest: action for action in actions}
    if (wrong := _VALUE.search(message)) and wrong["key"] in by_name:
        return _wrong_value(by_name[wrong["key"]], wrong["value"].strip(), locations)
    if missing := _REQUIRED.search(message):
        names = [_name(each.strip(), by_name) for each in missing["names"].split(",")]
        return f"{listed_words(names, last='and')} {'is' if len(names) == 1 else 'are'} required"
    if (bare := _NO_VALUE.search(message)) and (action := _of_name(bare["name"], by_name)):
        return f"{long_name(action)}: expected a value: {expected(type_of(action))}"
    if group := _GROUP.search(message):
        key = group["key"]
        options = [name for name in by_name if name.startswith(f"{key}.")]
        such_as = f", such as --{options[0]}" if options else ""
        return f"--{key} {shortened(group['value'])}: expected a YAML file of options{such_as}"
    lines = [re.sub(r"^\s*(- )?", "", line).rstrip() for line in message.splitlines()]
    return "; ".join(filter(None, lines))


def unknown_option(name: str, options: Iterable[str]) -> str:
    """Return a message about an option that the command does not have.

    Example:
        >>> unknown_option("--ouput", {"output", "fasta"})
        'unknown option --ouput; did you mean --output?'
    """
    return f"unknown option {name}{like_option(name.lstrip('-').replace('-', '_'), set(options))}"


def _wrong_value(action: argparse.Action, value: str, locations: Mapping[str, str]) -> str:
    hint = type_of(action)
    location = f"{locations[action.dest]}: " if action.dest in locations else ""
    name = action.dest if location else long_name(action)
    wrong = _wrong_item(value, hint)
    question = near(wrong, tuple(map(str, choices_in(hint))))
    return f"{location}{name}: found {shortened(wrong)!r}, expected {expected(hint)}{question}"


def _wrong_item(value: str, hint: object) -> str:
    """Return the first item of a list that has the wrong type, or the value itself."""
    try:
        items = load_yaml(value)  # `str` of a list
    except yaml.YAMLError:
        return value
    for item in items if isinstance(items, list) else ():
        if not is_accepted(item, hint):
            return str(item)
    return value


def _name(dest: str, by_name: Mapping[str, argparse.Action]) -> str:
    return long_name(by_name[dest]) if dest in by_name else dest


def _of_name(names: str, by_name: Mapping[str, argparse.Action]) -> argparse.Action | None:
    """Return the option that argparse calls `--output/-o`."""
    for action in by_name.values():
        if has_type(action) and set(names.split("/")) & set(action.option_strings):
            return action
    return None
