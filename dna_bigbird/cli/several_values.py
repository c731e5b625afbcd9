"""The value of an option that takes several: words, with commas, or JSON lists, as one JSON text."""

import argparse
import json
import os
import re
import types
import typing
from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml

from dna_bigbird.choices import alternatives
from dna_bigbird.cli.option_types import (
    choices_in,
    expected,
    is_list,
    is_mapping,
    item_type,
    long_name,
    single_types,
)
from dna_bigbird.cli.parser_internals import type_of
from dna_bigbird.errors import InputError, shortened
from dna_bigbird.plain_numbers import whole_number
from dna_bigbird.yaml_files import load_yaml, yaml_decimal

_NUMBER = r"(?:[0-9]{1,3}(?:,[0-9]{3})+(?![0-9])|[0-9]+)"
_ITEM = re.compile(rf"[^,:]+:{_NUMBER}-{_NUMBER}(?=,|$)|[^,]+")
"""Text without commas, or a region whose numbers may contain thousands commas."""

_PLAIN: dict[type, Callable[[str], object]] = {
    int: whole_number,
    float: yaml_decimal,
    bool: re.compile(r"(?i:true|false|yes|no|on|off)\Z").match,
    types.NoneType: re.compile(r"(?i:null|~)\Z").match,
}
"""Of the types without texts, how one is written."""


def as_argument(action: argparse.Action, words: list[str]) -> list[str]:
    """Return a list or mapping option with the words after it as one argument.

    Raises:
        InputError: If there is no word, or a word of a mapping is not `NAME=VALUE`.
    """
    name = long_name(action)
    if not words:
        raise InputError(f"{name}: expected a value: {expected(type_of(action))}")
    if len(words) == 1 and (_takes_text(action) or _is_json(words[0])):
        return [f"{name}={words[0]}"]
    if is_mapping(action):
        if _is_one_path(action, words):
            return [f"{name}={words[0]}"]
        return [f"{name}={_json(_mapping(name, words))}"]
    items = _items(words, item_type(action))
    if len(items) == 1 and single_types(action):
        return [f"{name}={items[0]}"]
    return [f"{name}={_json(items)}"]


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


def plain_value(value: object, hint: object) -> object:
    """Return a value of an option with lists and mappings read from text.

    Raises:
        ValueError: With the text that is not plainly what the option takes: for a number `1_0`, Arabic digits, or
            more than 18 of them.

    Example:
        >>> plain_value("[1, 2]", list[int]), plain_value("2", int)
        ([1, 2], '2')
    """
    lists = [each for each in alternatives(hint) if is_list(each)]
    mappings = [each for each in alternatives(hint) if typing.get_origin(each) is dict]
    if isinstance(value, str) and (lists or mappings):
        read = _parsed(value, list if lists else dict)
        value = value if read is None else read
    if isinstance(value, list) and lists:
        return [plain_value(item, typing.get_args(lists[0])[0]) for item in value]
    if isinstance(value, dict) and mappings:
        _, of_value = typing.get_args(mappings[0])
        return {key: plain_value(item, of_value) for key, item in value.items()}
    if not isinstance(value, str) or value in choices_in(hint):
        return value
    single = {each for each in alternatives(hint) if typing.get_origin(each) is None}
    is_text = not single & {bool, int, float} or not single <= _PLAIN.keys()
    if is_text or any(_PLAIN[each](value) is not None for each in single):
        return value
    raise ValueError(value)


def _items(words: list[str], hint: object) -> list:
    """Return the values of a list option; a word may be a list itself."""
    items: list = []
    for word in words:
        listed = _parsed(word, list)
        items += split_items(word) if listed is None else listed
    if hint is int:
        numbers = [whole_number(str(item)) for item in items]
        return [item if n is None else n for item, n in zip(items, numbers, strict=True)]
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
        value = load_yaml(word)
    except yaml.YAMLError:
        return None
    return value if isinstance(value, expected) else None


def _json(value: object) -> str:
    """Return a value as JSON that a YAML reader reads too, also with unusual characters."""
    text = json.dumps(value, ensure_ascii=False, default=str)
    if not_text := re.search(r"[\ud800-\udfff]", text):
        raise InputError(f"{text}: byte {not_text[0]!a} is not UTF-8. Rename the file")
    return "".join(each if each.isprintable() else f"\\U{ord(each):08x}" for each in text)


def _is_one_path(action: argparse.Action, words: list[str]) -> bool:
    """Return True for one path where a mapping of paths may also be one path."""
    alone = Path in single_types(action)
    return alone and len(words) == 1 and ("=" not in words[0] or os.path.lexists(words[0]))


def _takes_text(action: argparse.Action) -> bool:
    """Return True for `list[str] | str`: the command itself splits one text."""
    return item_type(action) is str and str in single_types(action)
