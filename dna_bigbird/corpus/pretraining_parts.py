"""The two parts of a pretraining example: whole sentences of documents of a token store."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Part:
    """Whole sentences `first` up to but not including `last` of a document, read one after another.

    `start` and `end` are token offsets into the store; they cover fewer tokens than the sentences
    have only where a sentence alone is too long.
    """

    document: int
    first: int
    last: int
    start: int
    end: int

    @property
    def length(self) -> int:
        """Number of tokens."""
        return self.end - self.start


@dataclass(frozen=True)
class Pair:
    """Two parts; `is_next` is 0 if the second truly follows the first, 1 if it is random."""

    a: Part
    b: Part
    is_next: int


def two_parts(document: int, offsets: np.ndarray, first: int, budget: int) -> tuple[Part, Part]:
    """Return A, which starts with sentence `first`, and the B that follows it.

    A takes whole sentences up to half the room, but not the last one of the document.

    Args:
        offsets: Token offsets of the document's sentences, see `TokenStore.token_offsets`.
        budget: Most tokens of both.
    """
    room = min(budget, int(offsets[-1] - offsets[first]))
    a = fill(document, offsets[:-1], first, room // 2, cut_start=True)
    return a, fill(document, offsets, a.last, room - a.length)


def count_starts(offsets: np.ndarray, end: int, room: int) -> int:
    """Count the first sentences with at least `room` tokens up to `end`; the first always counts.

    The last entry of `offsets` is not a start.
    """
    return max(1, int(np.searchsorted(offsets[:-1], end - room, side="right")))


def fill(
    document: int, offsets: np.ndarray, first: int, room: int, *, cut_start: bool = False
) -> Part:
    """Take whole sentences from `first` on while they fit into `room` tokens; at least one, cut."""
    begin = int(offsets[first])
    last = max(first + 1, int(np.searchsorted(offsets, begin + room, side="right")) - 1)
    end = int(offsets[last])
    if end - begin > room:
        begin, end = (end - room, end) if cut_start else (begin, begin + room)
    return Part(document, first, last, begin, end)
