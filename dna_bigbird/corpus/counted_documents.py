"""Which documents of a token store the count-based language models read: every base once."""

from typing import Protocol

import numpy as np

TOKEN_TYPE = np.uint16
"""Of the tokens held while they are counted; vocabularies have at most 65,536 entries."""


class Store(Protocol):
    """What the baselines read of a `TokenStore`."""

    vocab_size: int

    @property
    def num_documents(self) -> int: ...
    def document_interval(self, document: int): ...
    def document(self, document: int) -> np.ndarray: ...


MOST_COUNTED_BP = 50_000_000
"""Bases of a store that a mixture of counts reads at most; they take 1 to 2 GB."""


def covering_documents(store: Store, max_documents: int | None = None) -> list[int]:
    """Choose documents that do not overlap, from each chromosome's start to its end.

    The next document is the first one that starts where the last one ended or later; within one
    pass documents follow each other without holes, so nearly every base is covered once.

    Args:
        max_documents: If there are more, that many of them, evenly spaced.
    """
    intervals = [store.document_interval(d) for d in range(store.num_documents)]
    order = sorted(range(len(intervals)), key=lambda d: (intervals[d].chrom, intervals[d].start, d))
    chosen: list[int] = []
    for document in order:
        interval = intervals[document]
        last = intervals[chosen[-1]] if chosen else None
        if last is None or last.chrom != interval.chrom or interval.start >= last.end:
            chosen.append(document)
    if max_documents is not None and len(chosen) > max_documents:
        spaced = np.linspace(0, len(chosen) - 1, max_documents).round().astype(int)
        chosen = [chosen[i] for i in spaced]
    return chosen


def documents_within(store: Store, max_documents: int | None, most_bases: int) -> list[int]:
    """Choose `covering_documents` of about `most_bases` together at most, evenly spaced."""
    chosen = covering_documents(store, max_documents)
    bases = sum(store.document_interval(d).length for d in chosen)
    if bases <= most_bases:
        return chosen
    return covering_documents(store, max(1, len(chosen) * most_bases // bases))


def covering_tokens(store: Store, max_documents: int | None = None) -> list[np.ndarray]:
    """Return the token ids of `covering_documents`, one array per document, two bytes per token."""
    chosen = covering_documents(store, max_documents)
    return [store.document(d).astype(TOKEN_TYPE) for d in chosen]
