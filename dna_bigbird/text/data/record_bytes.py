"""Frozen dataclasses of plain values and arrays as bytes, and back; no code of a file is run.

A record is compressed with zlib, which has a checksum. It is the length of a JSON text (8 bytes,
little-endian), the text, and then the bytes of its arrays in the order in which they are named there.
"""

import base64
import dataclasses
import functools
import json
import math
import struct
import zlib
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

T = TypeVar("T", bound=type)
_classes: dict[str, type] = {}
_names: dict[type, str] = {}
"""The classes that a record can hold."""
_LENGTH = struct.Struct("<Q")
_PLAIN = (str, int, float, bool, type(None))


def recorded(name: str, *old_names: str) -> Callable[[T], T]:
    """Let records hold a class of a text task, a frozen dataclass or named tuple, under a name that stays.

    Args:
        old_names: Names that older records have for it: its module and class, as they were then.

    Raises:
        ValueError: If another class has the name.
    """

    def add(type_: T) -> T:
        known = _classes.get(name, type_)
        if known.__qualname__ != type_.__qualname__:
            raise ValueError(f"{name} is the name of {known.__qualname__} in records")
        _classes.update(dict.fromkeys((name, *old_names), type_))
        _names[type_] = name
        return type_

    return add


def pack(value: Any) -> bytes:
    """Return the bytes of a value.

    Args:
        value: Of plain values, bytes, arrays without objects, tuples, lists, dicts, and classes that
            are `recorded`, nested in any way.

    Raises:
        TypeError: If it has anything else.
    """
    classes: dict[str, int] = {}
    arrays: list[bytes] = []
    tree = _tree(value, classes, arrays)
    text = json.dumps([list(classes), tree], separators=(",", ":")).encode()
    return zlib.compress(b"".join([_LENGTH.pack(len(text)), text, *arrays]), 1)


def unpack(record: bytes) -> Any:
    """Return the value that `pack` was given; its arrays are copies of their own.

    Raises:
        Exception: Nearly any, if the bytes are damaged.
    """
    content = zlib.decompress(record)
    (length,) = _LENGTH.unpack_from(content)
    start = _LENGTH.size + length
    names, tree = json.loads(content[_LENGTH.size : start])
    return _Reader(content, start, list(map(_class, names))).value(tree)


def _tree(value: Any, classes: dict[str, int], arrays: list[bytes]) -> Any:
    """Return a value as JSON can have it: a tuple as a list, anything else as {type: contents}."""
    type_ = type(value)
    if type_ in _PLAIN:
        return value
    if type_ is tuple:
        return [_tree(each, classes, arrays) for each in value]
    if type_ is list:
        return {"list": [_tree(each, classes, arrays) for each in value]}
    if type_ is dict:
        return {"dict": [_tree(pair, classes, arrays) for pair in value.items()]}
    if type_ is bytes:
        return {"bytes": base64.b64encode(value).decode()}
    if isinstance(value, np.ndarray) and not value.dtype.hasobject:
        arrays.append(value.tobytes())
        return {"array": [value.dtype.str, list(value.shape)]}
    if (name := _names.get(type_)) is None:
        raise TypeError(f"a value of type {type_.__name__} cannot be stored: it is not `recorded`")
    number = classes.setdefault(name, len(classes))
    values = (_tree(getattr(value, field), classes, arrays) for field in _fields(type_))
    return {"class": [number, *values]}


class _Reader:
    """The values of a record's tree; arrays are read one after the other.

    Args:
        content: The record, uncompressed.
        start: Where its arrays begin.
    """

    def __init__(self, content: bytes, start: int, classes: list[type]) -> None:
        self.content, self.end, self.classes = content, start, classes
        self.read = {
            "list": lambda values: [self.value(each) for each in values],
            "dict": lambda pairs: dict(map(self.value, pairs)),
            "bytes": base64.b64decode,
            "array": self._array,
            "class": self._instance,
        }

    def value(self, tree: Any) -> Any:
        """Return the value of a part of the tree."""
        if isinstance(tree, list):
            return tuple(map(self.value, tree))
        if not isinstance(tree, dict):
            return tree
        ((name, content),) = tree.items()
        return self.read[name](content)

    def _array(self, content: list) -> np.ndarray:
        dtype, shape = np.dtype(content[0]), content[1]
        count = math.prod(shape)
        values = np.frombuffer(self.content, dtype, count, self.end)
        self.end += count * dtype.itemsize
        return values.reshape(shape).copy()

    def _instance(self, content: list) -> Any:
        number, *values = content
        return self.classes[number](*map(self.value, values))


def _class(name: str) -> type:
    """Return the class of a name in a record."""
    if name not in _classes:
        from dna_bigbird.bundles.text_tasks import tasks

        tasks()  # imports the modules that have the classes
    if name not in _classes:
        raise ValueError(f"{name} is not the name of a class of a record")
    return _classes[name]


@functools.cache
def _fields(type_: type) -> tuple[str, ...]:
    """Return the names of the fields of a dataclass or named tuple."""
    if dataclasses.is_dataclass(type_):
        return tuple(field.name for field in dataclasses.fields(type_))
    return type_._fields  # type: ignore[attr-defined]
