"""The names of an option, and what its value may be: as a type, and in words for messages."""

import argparse
import types
import typing
from collections.abc import Iterator
from pathlib import Path

from dna_bigbird.choices import alternatives
from dna_bigbird.cli.parser_internals import type_of

_WORDS = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "a text",
    Path: "a path",
    dict: "NAME=VALUE",
}


def long_name(action: argparse.Action) -> str:
    """Return the name of an option as messages show it; that of a positional argument in capitals."""
    for name in action.option_strings:
        if name.startswith("--"):
            return name
    return action.dest.upper()


def shown_names(action: argparse.Action) -> list[str]:
    """Return the names of an option without `--x+`, the form of jsonargparse that adds to a list."""
    return [name for name in action.option_strings if not name.endswith("+")]


def item_type(action: argparse.Action) -> object | None:
    """Return the type of the items of an option that takes a list, None for other options."""
    for hint in alternatives(type_of(action)):
        if is_list(hint):
            return typing.get_args(hint)[0]
    return None


def is_list(hint: object) -> bool:
    """Return True for `list[int]` and `tuple[int, ...]`."""
    return typing.get_origin(hint) in (list, tuple)


def single_types(action: argparse.Action) -> tuple:
    """Return the types of an option's value that are not lists: `int` of `int | list[int]`."""
    return tuple(
        hint
        for hint in alternatives(type_of(action))
        if hint is not types.NoneType and not is_list(hint)
    )


def is_mapping(action: argparse.Action) -> bool:
    """Return True for an option that takes names with values."""
    return any(typing.get_origin(hint) is dict for hint in alternatives(type_of(action)))


def is_switch(action: argparse.Action) -> bool:
    """Return True for an option that may be given without a value: `--pieces`."""
    return type_of(action) is bool


def choices_in(hint: object) -> tuple:
    """Return the values that a type lists, also within a list; () for other types.

    Example:
        >>> choices_in(list[typing.Literal["a", "b"]] | typing.Literal["a", "b"] | None)
        ('a', 'b')
    """
    parts = [typing.get_args(each)[0] if is_list(each) else each for each in alternatives(hint)]
    values = [
        value
        for part in parts
        if typing.get_origin(part) is typing.Literal
        for value in typing.get_args(part)
    ]
    return tuple(dict.fromkeys(values))


def is_accepted(item: object, hint: object) -> bool:
    """Return True if an item of a list has one of the types that the option lists."""
    if choices := choices_in(hint):
        return item in choices
    return not isinstance(item, str) or str in _classes(hint)


def expected(hint: object) -> str:
    """Return what a value must be.

    Example:
        >>> expected(typing.Literal["both", "forward"]), expected(int | None), expected(list[Path | str])
        ('one of both, forward', 'a whole number', 'a path')
    """
    if choices := choices_in(hint):
        return f"one of {', '.join(map(str, choices))}" if len(choices) > 1 else str(choices[0])
    classes = list(_classes(hint))
    words = [
        _WORDS[each] for each in classes if each in _WORDS and not _is_path_as_text(each, classes)
    ]
    return " or ".join(dict.fromkeys(words)) or "another value"


def _is_path_as_text(each: object, classes: list) -> bool:
    return each is str and Path in classes


def _classes(hint: object) -> Iterator[object]:
    """Yield the classes of a value: those of the items of a list, those within unions."""
    for each in alternatives(hint):
        if is_list(each):
            yield from _classes(typing.get_args(each)[0])
        elif typing.get_origin(each) in (typing.Union, types.UnionType):
            yield from _classes(each)
        else:
            yield typing.get_origin(each) or each
