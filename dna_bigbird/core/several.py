"""Several values in one argument, as Python callers have them: lists, columns, arrays, iterators."""

import io
import os
from collections.abc import (
    Callable,
    ItemsView,
    Iterable,
    Iterator,
    KeysView,
    Mapping,
    Sequence,
    Set,
    ValuesView,
)
from typing import Any

from dna_bigbird.core.errors import InputError, shortened

BYTES = bytes | bytearray | memoryview
ORDERED = Sequence | Iterator | KeysView | ValuesView | ItemsView


def several(name: str, value: Any) -> list | None:
    """Return the values of a list, array, column or iterator in order; None for one, such as text.

    Example:
        >>> several("labels", iter(["DNase", "CTCF"])), several("labels", "CTCF")
        (['DNase', 'CTCF'], None)
        >>> several("labels", {"CTCF"})
        Traceback (most recent call last):
        dna_bigbird.core.errors.InputError: labels is set, which has no order; write sorted(...)
    """
    if isinstance(value, str | os.PathLike | BYTES):
        return None
    if reason := _refusal(name, value):
        raise InputError(f"{name} is {type(value).__name__}{reason}")
    is_ordered = isinstance(value, ORDERED) or _dimensions(value) == 1
    return list(value) if is_ordered else None


def check_each(
    name: str, values: Iterable[object], fits: Callable[[object], bool], expected: str = "text"
) -> None:
    """Raise InputError for the first value that does not fit, such as None or a list in a list."""
    for number, value in enumerate(values, start=1):
        if not fits(value):
            raise InputError(
                f"{name}: value {number} is {_described(value)}; expected {expected}{_advice(value)}"
            )


def _refusal(name: str, value: object) -> str:
    """Return why a value cannot be read as a list, and what to write; nothing if it can."""
    if isinstance(value, Set) and not isinstance(value, ORDERED):
        return ", which has no order; write sorted(...)"
    if hasattr(value, "columns") or hasattr(value, "column_names"):
        return f", which has columns; give one of them, such as frame[{name.removesuffix('s')!r}]"
    if _dimensions(value) not in (None, 1):
        return f" of {_dimensions(value)} dimensions; expected one, such as array.ravel().tolist()"
    if isinstance(value, Mapping):
        return "; expected values without names, such as list(mapping.values())"
    if isinstance(value, io.IOBase):
        return ", an open file; expected its name, or what was read from it"
    return ""


def _dimensions(value: object) -> int | None:
    shape = getattr(value, "shape", None)
    return len(shape) if isinstance(shape, tuple) else None


def _described(value: object) -> str:
    return (
        str(value) if _is_missing(value) else f"{type(value).__name__} ({shortened(repr(value))})"
    )


def _is_missing(value: object) -> bool:
    """Return True for None and for what stands for it in a data frame."""
    return value is None or type(value).__name__ in ("NAType", "NaTType") or value != value


def _advice(value: object) -> str:
    if isinstance(value, BYTES):
        return "; write bytes(...).decode()"
    if not _dimensions(value) and _is_missing(value):
        return "; leave it out, in a column with dropna()"
    is_pair = isinstance(value, list | tuple) and len(value) == 2
    return "; pairs of a name and a text are a mapping: dict(...)" if is_pair else ""
