"""What a reader of text gives, and what a model reads of it at once."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dna_bigbird.text.data.record_bytes import recorded


@recorded("text-row", "dna_bigbird.datasets.text.rows:TextRow")
@dataclass(frozen=True)
class TextRow:
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
    rows: Sequence[TextRow]
    """In the order of their examples."""
    counts: dict[str, int]
    """What was left out or changed, by reason in words: {"answer not in the evidence": 16}."""


class StreamedExamples:
    """Examples that are read from their files whenever they are iterated over: none are kept.

    Args:
        read: Yields the examples, and adds to the counts that it gets what it leaves out.

    Attributes:
        counts: What was left out, by reason; complete at the end of an iteration.
    """

    def __init__(self, read: Callable[[dict[str, int]], Iterator[Any]]) -> None:
        self._read = read
        self.counts: dict[str, int] = {}

    def __iter__(self) -> Iterator[Any]:
        self.counts.clear()
        return self._read(self.counts)


def row_lengths(rows: Sequence[TextRow]) -> Sequence[int]:
    """Return the number of tokens of every row; rows of a store are not read for it."""
    lengths = getattr(rows, "lengths", None)
    return [len(row.token_ids) for row in rows] if lengths is None else lengths


def example_numbers(rows: Sequence[TextRow]) -> Sequence[int]:
    """Return the number of every row's example; rows of a store are not read for it."""
    numbers = getattr(rows, "example_numbers", None)
    return [row.example for row in rows] if numbers is None else numbers


def hashed_bytes(row: TextRow) -> Iterator[bytes]:
    """Yield everything that the model reads of a row and is trained on, for a checksum."""
    arrays = {"token_ids": row.token_ids, "segment_ids": row.segment_ids, **row.arrays}
    for name, array in arrays.items():
        yield f"{name} {row.example} {getattr(array, 'shape', None)}".encode()
        yield b"" if array is None else array.tobytes()
