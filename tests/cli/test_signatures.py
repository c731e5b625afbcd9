"""Options as they are read from signatures, docstrings and types."""

import dataclasses
import inspect
import typing
from collections import defaultdict
from dataclasses import dataclass
from typing import Annotated

from dna_bigbird.cli.commands import REQUIRED, every_command, find_command
from dna_bigbird.cli.parser import (
    Option,
    arguments_in,
    field_texts,
    load_function,
    options_of,
)
from dna_bigbird.core.paths import InputPath
from dna_bigbird.core.shared_options import Doc, doc_of

LONGEST_REPEATED_TEXT = 40
"""Longer descriptions occur once in the package; shorter ones, such as "Folder to write.", may not."""
Weight = Annotated[float, Doc("Grams.")]


@dataclass(frozen=True)
class Oven:
    heat: int = 200
    """Degrees."""
    rack: Annotated[int, Doc("From below.")] = 1


def slice_(*, width: float = 1.0, loaf: str = "") -> None:
    """Slice.

    Args:
        width: Centimetres.
        loaf: Which.
    """


def bake(
    loaf: str,
    salt: Weight,
    flour: InputPath,
    yeast: Weight | None = None,
    **oven: Annotated[object, Oven, slice_],
) -> None:
    """Bake bread.

    Args:
        loaf: Its name; the text
            goes on.
        flour, salt: Where it is: `mill.txt`.
    """


def test_options_are_read_from_signature_docstring_and_types():
    assert options_of(bake) == [
        Option("loaf", str, REQUIRED, "Its name; the text\ngoes on."),
        Option("salt", float, REQUIRED, "Where it is: `mill.txt`."),
        Option("flour", InputPath, REQUIRED, "Where it is: `mill.txt`."),
        Option("yeast", Weight | None, None, "Grams."),
        Option("heat", int, 200, "Degrees."),
        Option("rack", int, 1, "From below."),
        Option("width", float, 1.0, "Centimetres."),
    ]


def descriptions(function, visited) -> list[tuple[str, str]]:
    """Every description of an option of a command: (text, where it is)."""
    if function in visited:
        return []
    visited.add(function)
    label = f"{function.__module__}.{function.__qualname__}"
    hints = typing.get_type_hints(function, include_extras=True)
    is_class = inspect.isclass(function)
    texts = field_texts(function) if is_class else arguments_in(function.__doc__)
    listed = [(text, f"{label}:{name}") for name, text in texts.items()]
    hints.pop("return", None)
    for hint in hints.values():
        targets = [part for part in getattr(hint, "__metadata__", ()) if callable(part)]
        if inspect.isclass(hint) and dataclasses.is_dataclass(hint):
            targets.append(hint)
        for target in targets:
            listed += descriptions(target, visited)
        if text := doc_of(hint):
            listed.append((text, "dna_bigbird.core.shared_options"))
    return listed


def test_every_description_occurs_once():
    """Otherwise make it a type in dna_bigbird/core/shared_options.py."""
    visited, positions = set(), defaultdict(set)
    for name in every_command():
        for text, where in descriptions(load_function(find_command(name)), visited):
            positions[" ".join(text.split())].add(where)
    repeated = {
        text: sorted(where)
        for text, where in positions.items()
        if len(where) > 1 and len(text) > LONGEST_REPEATED_TEXT
    }
    assert repeated == {}


def test_what_a_type_describes_is_not_described_again():
    twice = []
    for name in every_command():
        function = load_function(find_command(name))
        hints = typing.get_type_hints(function, include_extras=True)
        texts = arguments_in(function.__doc__)
        twice += [(name, key) for key, hint in hints.items() if doc_of(hint) and key in texts]
    assert twice == []
