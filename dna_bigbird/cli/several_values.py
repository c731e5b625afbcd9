"""The value of an option: of its type, from words of the command line, or from a file of options."""

import os
import re
import types
import typing
from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml

from dna_bigbird.cli.option_types import CommandOption, is_list, parts_of
from dna_bigbird.core.errors import InputError, shortened
from dna_bigbird.core.plain_numbers import whole_number
from dna_bigbird.core.yaml_files import load_yaml, yaml_decimal

_NUMBER = r"(?:[0-9]{1,3}(?:,[0-9]{3})+(?![0-9])|[0-9]+)"
_ITEM = re.compile(rf"[^,:]+:{_NUMBER}-{_NUMBER}(?=,|$)|[^,]+")
"""Text without commas, or a region whose numbers may contain thousands commas."""

TRUTH = dict.fromkeys(("true", "yes", "on"), True) | dict.fromkeys(("false", "no", "off"), False)
"""The texts of a truth value."""
_FROM_TEXT: dict[object, Callable[[str], object]] = {
    bool: lambda text: TRUTH.get(text.lower()),
    int: whole_number,
    float: yaml_decimal,
    Path: Path,
}
"""Function of a text that returns a value of the type, or None."""
_TAKEN = {float: (float, int), Path: (type(Path()),)}


def typed(value: object, hint: object) -> Any:
    """Return a value as one of the types of a hint; a value of text is read.

    Raises:
        ValueError: With the value, or the item of it, that has another type: for a number also `1_0`, Arabic
            digits, or more than 18 of them.

    Example:
        >>> typed("[1, 2]", list[int]), typed("2", int | None), typed("null", int | None)
        ([1, 2], 2, None)
    """
    parts = sorted(parts_of(hint), key=lambda part: part is not types.NoneType)
    for part in parts:
        container = list if is_list(part) else typing.get_origin(part)
        if container in (list, dict) and (items := parsed(value, container)) is not None:
            value = items
    wrong = value
    for part in parts:
        try:
            return _of_type(value, part)
        except ValueError as error:
            wrong = error.args[0] if error.args[0] is not value else wrong
    raise ValueError(wrong)


def _of_type(value: Any, part: Any) -> object:
    """Return a value as a type that is not a union, or raise ValueError with what is wrong."""
    origin, inner = typing.get_origin(part), typing.get_args(part)
    if origin is dict and isinstance(value, dict):
        return {key: typed(each, inner[1]) for key, each in value.items()}
    if is_list(part) and isinstance(value, list):
        return origin(typed(each, inner[0]) for each in value)
    if origin is typing.Literal and any(
        type(each) is type(value) and each == value for each in inner
    ):
        return value
    if part is types.NoneType and (value is None or str(value).lower() in ("null", "~")):
        return None
    if isinstance(value, str) and part in _FROM_TEXT:
        if (read := _FROM_TEXT[part](value)) is not None:
            return read
    elif type(value) in _TAKEN.get(part, (part,)):
        return part(value)
    raise ValueError(value)


def value_of(option: CommandOption, words: list[str]) -> object:
    """Return the value of an option that takes several with the words after it; its type is not checked.

    Raises:
        InputError: If a word of a mapping is not `NAME=VALUE`.
    """
    if len(words) == 1 and (_takes_text(option) or _is_json(words[0])):
        return words[0]
    if option.is_mapping:
        return words[0] if _is_one_path(option, words) else _mapping(option.long_name, words)
    items: list = []
    for word in words:
        listed = parsed(word, list)
        items += split_items(word) if listed is None else listed
    return items[0] if len(items) == 1 and option.single_types else items


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


def parsed(value: object, expected: type) -> Any:
    """Return a list or mapping, also one that is a text in JSON or YAML; None for other values."""
    if isinstance(value, str) and _is_json(value):
        try:
            value = load_yaml(value)
        except yaml.YAMLError:
            return None
    return value if isinstance(value, expected) else None


def _mapping(name: str, words: list[str]) -> dict[str, object]:
    """Return the names with their values: `kmer=kmer.h5 gc=gc.h5`."""
    mapping: dict[str, object] = {}
    for word in words:
        values = parsed(word, dict)
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


def _is_one_path(option: CommandOption, words: list[str]) -> bool:
    """Return True for one path where a mapping of paths may also be one path."""
    alone = Path in option.single_types
    return alone and len(words) == 1 and ("=" not in words[0] or os.path.lexists(words[0]))


def _takes_text(option: CommandOption) -> bool:
    """Return True for `list[str] | str`: the command itself splits one text."""
    return option.item_type is str and str in option.single_types
