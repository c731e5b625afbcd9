"""Documents joined into examples of a fixed length: `[CLS] doc [SEP] doc [SEP] …` (paper, §E.1).

The paper splits documents longer than 4,096 tokens and joins much shorter ones; its exact rule is
not published. Here: greedy in the order of the corpus, every token exactly once.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

SMALLEST = 4
"""[CLS], two tokens and [SEP]."""


@dataclass(frozen=True)
class Packs:
    """n examples made of parts of documents.

    Attributes:
        bounds: (parts, 2), int64: 0-based half-open token offsets of each part into the corpus.
        offsets: (n + 1,), int64: example i has the parts `offsets[i]` to before `offsets[i + 1]`.
    """

    bounds: np.ndarray
    offsets: np.ndarray

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def parts(self, number: int) -> list[tuple[int, int]]:
        """Return the token offsets of the parts of one example."""
        first, last = self.offsets[number : number + 2].tolist()
        return [(int(start), int(end)) for start, end in self.bounds[first:last]]


def pack(document_offsets: Sequence[int] | np.ndarray, max_tokens: int) -> Packs:
    """Fill examples with documents, one after the other.

    A part of n tokens takes n + 1 places, its [SEP] included, and [CLS] takes the first. If the
    next document does not fit, an example that is at least half full is closed and the document
    begins the next one; else as much of it as fits is taken, and its rest is the next document.

    Args:
        document_offsets: (documents + 1,) token offsets; a document without tokens adds nothing.
        max_tokens: Places of an example, special tokens included.

    Raises:
        ValueError: If `max_tokens` is below 4.

    Example:
        >>> packs = pack([0, 3, 5, 20], max_tokens=8)
        >>> [packs.parts(i) for i in range(len(packs))]
        [[(0, 3), (3, 5)], [(5, 11)], [(11, 17)], [(17, 20)]]
    """
    if max_tokens < SMALLEST:
        raise ValueError(f"max_tokens {max_tokens} must be at least {SMALLEST}")
    bounds: list[tuple[int, int]] = []
    offsets = [0]
    used = 1
    for start, end in _spans(document_offsets):
        while start < end:
            room = max_tokens - used - 1
            if end - start > room and 2 * used >= max_tokens:
                offsets.append(len(bounds))
                used = 1
                continue
            length = min(end - start, room)
            bounds.append((start, start + length))
            used += length + 1
            start += length
    if offsets[-1] < len(bounds):
        offsets.append(len(bounds))
    return Packs(np.array(bounds, dtype=np.int64).reshape(-1, 2), np.array(offsets, dtype=np.int64))


def _spans(document_offsets: Sequence[int] | np.ndarray) -> Iterator[tuple[int, int]]:
    offsets = np.asarray(document_offsets, dtype=np.int64)
    yield from zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True)
