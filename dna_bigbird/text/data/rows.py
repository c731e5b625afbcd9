"""What a reader of text gives, and what a model reads of it at once."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dna_bigbird.text.data.record_bytes import recorded

# Answers in a text: where they are written, and which tokens that is.

# T tokens


def find_text(
    text: str, part: str, *, ignore_case: bool = False, whole_words: bool = False
) -> list[tuple[int, int]]:
    """Return every occurrence of `part` in `text`, overlapping ones too, from left to right.

    Args:
        part: White space at its ends is ignored; an empty part does not occur.
        ignore_case: Let upper and lower case be equal; offsets are those of `text` as it is.
        whole_words: Leave out occurrences next to a letter or digit that continues the word.

    Returns:
        Half-open character offsets.

    Example:
        >>> find_text("Ada, Adam and ada", "ada", ignore_case=True)
        [(0, 3), (5, 8), (14, 17)]
        >>> find_text("Ada, Adam and ada", "ada", ignore_case=True, whole_words=True)
        [(0, 3), (14, 17)]
    """
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
    """Return the first and the last token that hold any of the characters [start, end).

    Args:
        starts_T, ends_T: Half-open character offsets of the tokens, both ascending
            (TextTokenizer.encode_with_offsets); an empty piece has no characters.

    Returns:
        Both of them tokens of the span, or None if no token has any of it.

    Example:
        >>> import numpy as np
        >>> tokens_of(np.array([0, 4, 9]), np.array([3, 8, 12]), 5, 10)
        (1, 2)
    """
    inside = np.flatnonzero((ends_T > start) & (starts_T < end) & (ends_T > starts_T))
    return (int(inside[0]), int(inside[-1])) if len(inside) else None


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
