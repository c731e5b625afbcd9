"""Frozen dataclasses of plain values and arrays as bytes, and back; no code of a file is run.

A record is compressed with zlib, which has a checksum. It is the length of a JSON text (8 bytes,
little-endian), the text, and then the bytes of its arrays in the order in which they are named there.
"""

import base64
import dataclasses
import functools
import importlib
import json
import math
import struct
import zlib
from typing import Any

import numpy as np

PACKAGE = __name__.partition(".")[0]
_LENGTH = struct.Struct("<Q")
_PLAIN = (str, int, float, bool, type(None))


def pack(value: Any) -> bytes:
    """Return the bytes of a value.

    Args:
        value: Of plain values, bytes, arrays without objects, tuples, lists, dicts, and dataclasses and
            named tuples of this package, nested in any way.

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
    if not (names := _fields(type_)) or not type_.__module__.startswith(f"{PACKAGE}."):
        raise TypeError(f"a value of type {type_.__name__} cannot be stored")
    number = classes.setdefault(f"{type_.__module__}:{type_.__qualname__}", len(classes))
    return {"class": [number, *(_tree(getattr(value, name), classes, arrays) for name in names)]}


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


@functools.cache
def _class(name: str) -> type:
    """Return a dataclass or named tuple of this package by its name in a record."""
    module, _, path = name.partition(":")
    if not module.startswith(f"{PACKAGE}."):
        raise ValueError(f"{name} is not of this package")
    type_ = functools.reduce(getattr, path.split("."), importlib.import_module(module))
    if not isinstance(type_, type) or not _fields(type_):
        raise ValueError(f"{name} is neither a dataclass nor a named tuple")
    return type_


@functools.cache
def _fields(type_: type) -> tuple[str, ...]:
    """Return the names of the fields of a dataclass or named tuple; of other types none."""
    if dataclasses.is_dataclass(type_):
        return tuple(field.name for field in dataclasses.fields(type_))
    return getattr(type_, "_fields", ()) if issubclass(type_, tuple) else ()
