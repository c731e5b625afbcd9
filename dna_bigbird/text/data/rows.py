"""What a reader of text gives, and what a model reads of it: rows, both streams of BigBird-ETC, records."""

import base64
import dataclasses
import functools
import json
import math
import re
import struct
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from dna_bigbird.models.attention_config import SENTENCE

SENTENCE_SEGMENT, TITLE_SEGMENT, QUESTION_SEGMENT, CANDIDATE_SEGMENT = 1, 2, 3, 4
"""Segments of long tokens where the public ETC code has them: HotpotQA and WikiHop."""
NUM_SEGMENTS = 5


class TwoStreams:
    """A row that grows: its tokens, its global tokens, and which token belongs to which."""

    def __init__(self) -> None:
        self.ids: list[int] = []
        self.types: list[int] = []
        self._segments: list[int] = []
        self._free: list[bool] = []
        self._links: set[tuple[int, int]] = set()
        self._part = 0
        self._parts: list[int] = []
        self._global_parts: list[int] = []

    def cut(self) -> None:
        """Begin another part: the band of the long stream ends here."""
        self._part += 1

    def add_global(self, type_: int = SENTENCE, *, free: bool = False) -> int:
        """Add a global token (`free`: it reads all in spite of `hard_g2l`); return its position."""
        self.types.append(type_)
        self._free.append(free)
        self._global_parts.append(self._part)
        return len(self.types) - 1

    def add_tokens(self, ids: Iterable[int], segment: int, owners: Iterable[int] = ()) -> int:
        """Add tokens that belong to global tokens, and return the position of the first."""
        first, owners = len(self.ids), tuple(owners)
        for token in ids:
            self.link(len(self.ids), *owners)
            self.ids.append(int(token))
            self._segments.append(segment)
            self._parts.append(self._part)
        return first

    def add_each(self, ids: Iterable[int], segment: int, type_: int, *, free: bool = False) -> None:
        """Add tokens with a global token of its own for each."""
        for token in ids:
            self.add_tokens([token], segment, [self.add_global(type_, free=free)])

    def link(self, position: int, *owners: int) -> None:
        """Let the token at a position belong to global tokens."""
        self._links |= {(position, owner) for owner in owners}

    def row(self, number: int, arrays: dict[str, NDArray]) -> "TextFeatures":
        ids, segments = np.array(self.ids, np.int32), np.array(self._segments, np.int8)
        return TextFeatures(ids, number, segments, arrays | self.arrays())

    def arrays(self) -> dict[str, NDArray]:
        """Return what `TextFeatures.arrays` has of both streams."""
        # G global tokens, T long ones; links (n, 2): a long token and a global one that it belongs
        # to.
        return {
            "global_types": np.array(self.types, np.int8),
            "free_global": np.array(self._free, bool),
            "global_parts": np.array(self._global_parts, np.int16),
            "parts": np.array(self._parts, np.int16),
            "links": np.array(sorted(self._links), np.int32).reshape(-1, 2),
        }


# Frozen dataclasses of plain values and arrays as bytes, and back; no code of a file is run.
#
# A record is compressed with zlib, which has a checksum. It is the length of a JSON text (8 bytes,
# little-endian), the text, and then the bytes of its arrays in the order in which they are named there.

T = TypeVar("T", bound=type)
_classes: dict[str, type] = {}
_names: dict[type, str] = {}
"""The classes that a record can hold."""
_LENGTH = struct.Struct("<Q")
_PLAIN = (str, int, float, bool, type(None))


def recorded(name: str, *old_names: str) -> Callable[[T], T]:
    """Let records hold a class of a text task, a frozen dataclass or named tuple, under a name that stays."""

    def add(type_: T) -> T:
        known = _classes.get(name, type_)
        if known.__qualname__ != type_.__qualname__:
            raise ValueError(f"{name} is the name of {known.__qualname__} in records")
        _classes.update(dict.fromkeys((name, *old_names), type_))
        _names[type_] = name
        return type_

    return add


def pack(value: Any) -> bytes:
    classes: dict[str, int] = {}
    arrays: list[bytes] = []
    tree = _tree(value, classes, arrays)
    text = json.dumps([list(classes), tree], separators=(",", ":")).encode()
    return zlib.compress(b"".join([_LENGTH.pack(len(text)), text, *arrays]), 1)


def unpack(record: bytes) -> Any:
    """Return the value that `pack` was given; its arrays are copies of their own."""
    content = zlib.decompress(record)
    (length,) = _LENGTH.unpack_from(content)
    end = _LENGTH.size + length
    names, tree = json.loads(content[_LENGTH.size : end])
    classes = list(map(_class, names))

    def value(tree: Any) -> Any:
        if isinstance(tree, list):
            return tuple(map(value, tree))
        if not isinstance(tree, dict):
            return tree
        ((name, content),) = tree.items()
        return read[name](content)

    def array(described: list) -> np.ndarray:
        nonlocal end
        dtype, shape = np.dtype(described[0]), described[1]
        values = np.frombuffer(content, dtype, math.prod(shape), end)
        end += values.nbytes
        return values.reshape(shape).copy()

    read = {
        "list": lambda values: [value(each) for each in values],
        "dict": lambda pairs: dict(map(value, pairs)),
        "bytes": base64.b64decode,
        "array": array,
        "class": lambda described: classes[described[0]](*map(value, described[1:])),
    }
    return value(tree)


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


def _class(name: str) -> type:
    if name not in _classes:
        from dna_bigbird.bundles.text_tasks import tasks

        tasks()  # imports the modules that have the classes
    if name not in _classes:
        raise ValueError(f"{name} is not the name of a class of a record")
    return _classes[name]


@functools.cache
def _fields(type_: type) -> tuple[str, ...]:
    if dataclasses.is_dataclass(type_):
        return tuple(field.name for field in dataclasses.fields(type_))
    return type_._fields  # type: ignore[attr-defined]


def find_text(
    text: str, part: str, *, ignore_case: bool = False, whole_words: bool = False
) -> list[tuple[int, int]]:
    """Return the half-open offsets of every occurrence in a text, overlapping ones too."""
    part = part.strip()
    if not part:
        return []
    before = r"(?<!\w)" if whole_words and re.match(r"\w", part) else ""
    after = r"(?!\w)" if whole_words and re.search(r"\w\Z", part) else ""
    # Inside a look-ahead a match takes no room, so that overlapping ones are found.
    pattern = re.compile(
        f"{before}(?=({re.escape(part)}){after})", re.IGNORECASE if ignore_case else 0
    )
    return [match.span(1) for match in pattern.finditer(text)]


def tokens_of(
    starts_T: NDArray[np.int64], ends_T: NDArray[np.int64], start: int, end: int
) -> tuple[int, int] | None:
    """Return the first and the last token that hold any of the characters [start, end)."""
    # An empty piece has no characters.
    inside = np.flatnonzero((ends_T > start) & (starts_T < end) & (ends_T > starts_T))
    return (int(inside[0]), int(inside[-1])) if len(inside) else None


@recorded("text-row", "dna_bigbird.datasets.text.rows:TextRow")
@dataclass(frozen=True)
class TextFeatures:
    """One input of a model."""

    token_ids: NDArray[np.int32]
    """Shape (T,), special ids included, no padding."""
    example: int
    """Index into `TextSet.examples`; several rows (windows, documents) may belong to one."""
    segment_ids: NDArray[np.int8] | None = None
    """Shape (T,); None: all 0."""
    arrays: dict[str, NDArray] = field(default_factory=dict)
    """Targets, positions, offsets: other arrays that the task needs."""


@dataclass(frozen=True)
class TextSet:
    """Examples of a set and the rows made from them."""

    examples: Sequence[Any]
    """Frozen dataclasses of the reader, gold included (None where it is absent). Of training rows from a
    store (`row_store`) only their numbers: a range."""
    rows: Sequence[TextFeatures]
    """In the order of their examples."""
    counts: dict[str, int]
    """What was left out or changed, by reason in words: {"answer not in the evidence": 16}."""


class StreamedExamples:
    """Examples that are read from their files whenever they are iterated over: none are kept.

    Attributes:
        counts: What was left out, by reason; complete at the end of an iteration.
    """

    def __init__(self, read: Callable[[dict[str, int]], Iterator[Any]]) -> None:
        self._read = read
        self.counts: dict[str, int] = {}

    def __iter__(self) -> Iterator[Any]:
        self.counts.clear()
        return self._read(self.counts)


def row_lengths(rows: Sequence[TextFeatures]) -> Sequence[int]:
    """Return the number of tokens of every row; rows of a store are not read for it."""
    lengths = getattr(rows, "lengths", None)
    return [len(row.token_ids) for row in rows] if lengths is None else lengths


def example_numbers(rows: Sequence[TextFeatures]) -> Sequence[int]:
    """Return the number of every row's example; rows of a store are not read for it."""
    numbers = getattr(rows, "example_numbers", None)
    return [row.example for row in rows] if numbers is None else numbers


def hashed_bytes(row: TextFeatures) -> Iterator[bytes]:
    """Yield everything that the model reads of a row and is trained on, for a checksum."""
    arrays = {"token_ids": row.token_ids, "segment_ids": row.segment_ids, **row.arrays}
    for name, array in arrays.items():
        yield f"{name} {row.example} {getattr(array, 'shape', None)}".encode()
        yield b"" if array is None else array.tobytes()
