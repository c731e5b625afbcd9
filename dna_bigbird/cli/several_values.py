"""Options of several values: `--inputs a.fa b.fa`, with commas, repeated, or as a JSON list.

The words after such an option become one JSON value before the parser reads them.
"""

import argparse
import json
import os
import re
import typing
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import yaml

from dna_bigbird.choices import alternatives
from dna_bigbird.cli.parser_internals import actions_of, type_of
from dna_bigbird.errors import InputError, shortened

_OPTION = re.compile(r"-[A-Za-z]|--\S")
_NUMBER = r"(?:\d{1,3}(?:,\d{3})+(?!\d)|\d+)"
_ITEM = re.compile(rf"[^,:]+:{_NUMBER}-{_NUMBER}(?=,|$)|[^,]+")
"""Text without commas, or a region whose numbers may contain thousands commas."""


@dataclass
class _Values:
    """An option of several values on the command line."""

    action: argparse.Action
    position: int
    """Where its value comes in the arguments: the last of its positions."""
    words: list[str]


def joined(argv: Sequence[str], parser: argparse.ArgumentParser) -> list[str]:
    """Return arguments in which every option has at most one value, a JSON text if it has several.

    A list option takes all words up to the next option; if it is repeated, the words add up. Other
    arguments stay as they are.

    Raises:
        InputError: If an option of one value is followed by several words, or a word of a mapping
            is not `NAME=VALUE`.
    """
    has_positional = any(not action.option_strings for action in actions_of(parser))
    by_option: dict[str, _Values] = {}
    result: list[list[str]] = []
    for name, words in _options_with_words(argv):
        action = option_named(name.partition("=")[0], parser) if name else None
        if action is None or not (item_type(action) or is_mapping(action)):
            if not has_positional:
                _check_one_value(name, words, action)
            result.append([name, *words] if name else words)
            continue
        first = [name.partition("=")[2]] if "=" in name else []
        option = by_option.setdefault(action.dest, _Values(action, 0, []))
        option.words += [*first, *words]
        option.position = len(result)
        result.append([])
    for option in by_option.values():
        result[option.position] = _as_argument(option)
    return [argument for part in result for argument in part]


def option_named(name: str, parser: argparse.ArgumentParser) -> argparse.Action | None:
    """Return the option of a name or of its beginning, as argparse finds it; None if there is none."""
    by_name = {text: action for action in actions_of(parser) for text in action.option_strings}
    if name in by_name:
        return None if name.endswith("+") else by_name[name]
    starts = {
        action.dest: action
        for text, action in by_name.items()
        if text.startswith(name) and name.startswith("--") and not text.endswith("+")
    }
    return next(iter(starts.values())) if len(starts) == 1 else None


def item_type(action: argparse.Action) -> object | None:
    """Return the type of the items of an option that takes a list, None for other options."""
    for hint in alternatives(type_of(action)):
        if typing.get_origin(hint) is list:
            return typing.get_args(hint)[0]
    return None


def is_mapping(action: argparse.Action) -> bool:
    """Return True for an option that takes names with values."""
    return any(typing.get_origin(hint) is dict for hint in alternatives(type_of(action)))


def split_items(word: str) -> list[str]:
    """Return the values that a word contains: it is split at commas.

    A file that exists is one value. So is a region with thousands commas.

    Example:
        >>> split_items("a.fa,b.fa"), split_items("chr1,chr22:19,500,001-20,000,000,chr3")
        (['a.fa', 'b.fa'], ['chr1', 'chr22:19,500,001-20,000,000', 'chr3'])
    """
    if "," not in word or os.path.lexists(word):
        return [word]
    return [item.strip() for item in _ITEM.findall(word) if item.strip()]


def _options_with_words(argv: Sequence[str]) -> list[tuple[str, list[str]]]:
    """Return each option with the words after it; words before the first have the name ""."""
    parts: list[tuple[str, list[str]]] = [("", [])]
    for argument in argv:
        if _OPTION.match(argument):
            parts.append((argument, []))
        else:
            parts[-1][1].append(argument)
    return parts


def _check_one_value(name: str, words: list[str], action: argparse.Action | None) -> None:
    """Raise InputError if an option that takes one value is followed by more."""
    if action is None or action.nargs == 0:
        return
    option, equals, first = name.partition("=")
    values = [first, *words] if equals else words
    if len(values) > 1:
        shown = shortened(" ".join(values))
        raise InputError(
            f"{option} takes one value, found {len(values)}: {shown}. Put a value with blanks in quotes"
        )


def _as_argument(option: _Values) -> list[str]:
    name, words, action = option.action.option_strings[0], option.words, option.action
    if not words:
        return [name]
    if len(words) == 1 and (_takes_text(action) or _is_json(words[0])):
        return [f"{name}={words[0]}"]
    if is_mapping(action):
        return [f"{name}={_json(_mapping(name, words))}"]
    items = _items(words, item_type(action))
    if len(items) == 1 and _single_types(action):
        return [f"{name}={items[0]}"]
    return [f"{name}={_json(items)}"]


def _items(words: list[str], hint: object) -> list:
    """Return the values of a list option; a word may be a list itself."""
    items: list = []
    for word in words:
        listed = _parsed(word, list)
        items += split_items(word) if listed is None else listed
    if hint is int:
        return [int(item) if re.fullmatch(r"-?\d+", str(item)) else item for item in items]
    return items


def _mapping(name: str, words: list[str]) -> dict[str, object]:
    """Return the names with their values: `kmer=kmer.h5 gc=gc.h5`."""
    mapping: dict[str, object] = {}
    for word in words:
        values = _parsed(word, dict)
        pieces = split_items(word)
        if values is None:
            pieces = pieces if all("=" in piece for piece in pieces) else [word]
            values = dict(_pair(name, piece) for piece in pieces)
        if twice := mapping.keys() & values.keys():
            raise InputError(f"{name}: {min(twice)} is given twice")
        mapping |= values
    return mapping


def _pair(name: str, text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not (key and equals and value):
        raise InputError(
            f"{name}: found {shortened(text)!r}, expected NAME=VALUE, such as kmer=kmer.h5"
        )
    return key, value


def _is_json(word: str) -> bool:
    return word[:1] in ("[", "{") and not os.path.lexists(word)


def _parsed(word: str, expected: type) -> Any:
    """Return the list or mapping that a word is in JSON or YAML; None for other words."""
    if not _is_json(word):
        return None
    try:
        value = yaml.safe_load(word)
    except (yaml.YAMLError, RecursionError):
        return None
    return value if isinstance(value, expected) else None


def _json(value: object) -> str:
    """Return a value as JSON that a YAML reader reads too, also with unusual characters."""
    text = json.dumps(value, ensure_ascii=False, default=str)
    if not_text := re.search(r"[\ud800-\udfff]", text):
        raise InputError(f"{text}: byte {not_text[0]!a} is not UTF-8. Rename the file")
    return "".join(each if each.isprintable() else f"\\U{ord(each):08x}" for each in text)


def _single_types(action: argparse.Action) -> tuple:
    """Return the types of an option's value that are not lists: `int` of `int | list[int]`."""
    return tuple(
        hint
        for hint in alternatives(type_of(action))
        if hint is not type(None) and typing.get_origin(hint) is not list
    )


def _takes_text(action: argparse.Action) -> bool:
    """Return True for `list[str] | str`: the command itself splits one text."""
    return item_type(action) is str and str in _single_types(action)
