"""Examples around given sites: where in the documents of a token store a site can be read."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dna_bigbird.corpus.token_store import TokenStore
from dna_bigbird.genome import Interval
from dna_bigbird.genome.chromosome_names import usual_name

# The two parts of a pretraining example: whole sentences of documents of a token store.


@dataclass(frozen=True)
class Part:
    """Whole sentences [first, last) of a document, and token offsets [start, end) in the store."""

    # They cover fewer tokens than the sentences have only where a sentence alone is too long.

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
    """Return A, sentences from `first` up to half the room but not the last one, and B after it."""
    room = min(budget, int(offsets[-1] - offsets[first]))
    a = fill(document, offsets[:-1], first, room // 2, cut_start=True)
    return a, fill(document, offsets, a.last, room - a.length)


def count_starts(offsets: np.ndarray, end: int, room: int) -> int:
    """Count first sentences with at least `room` tokens up to `end`, and the first one always."""
    # The last entry of `offsets` is not a start.
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


_OUTSIDE = 4
"""Cost of an example that misses the site, in examples; more than any distance within one."""


class SiteWindows:
    """Draws a document, and the sentence to start with, such that an example contains a site."""

    # The middle of each site counts. All sites that some document of at least two sentences
    # contains are equally likely, and of one site all of these documents.

    def __init__(
        self, store: TokenStore, sites: Sequence[Interval], share: float, piece_bp: np.ndarray
    ) -> None:
        self.store = store
        self.share = share
        self.piece_bp = piece_bp
        self._documents = _DocumentsByPlace(store)
        numbers = {usual_name(name): number for number, name in enumerate(store.chromosomes)}
        chroms = np.array(
            [numbers.get(usual_name(site.chrom), -1) for site in sites], dtype=np.int64
        )
        middles = np.array([(site.start + site.end) // 2 for site in sites], dtype=np.int64)
        is_read = self._documents.are_read(chroms, middles)
        self._chroms, self._middles = chroms[is_read], middles[is_read]
        self.used = int(is_read.sum())  # the others are in no document of the store
        self.outside = len(sites) - self.used

    def draw(
        self, rng: np.random.Generator, budget: int, *, in_first: bool
    ) -> tuple[int, int] | None:
        """Return a document and the first sentence of an example; None: not around a site."""
        # The site lies between the first and the last quarter of the example, as nearly as whole
        # sentences allow; in the first part if the second one will be another (`in_first`).
        if rng.random() >= self.share:
            return None
        site = int(rng.integers(self.used))
        middle = int(self._middles[site])
        documents = self._documents.at(int(self._chroms[site]), middle)
        document = int(documents[rng.integers(len(documents))])
        bounds = self.store.token_bounds(document, self.piece_bp)
        offsets = self.store.token_offsets(document)
        is_there = (bounds[:, 0] <= middle) & (middle < bounds[:, 1])
        token = int(offsets[0] + np.flatnonzero(is_there)[0])
        target = 0.25 + 0.5 * rng.random()
        return document, _first_sentence(document, offsets, token, budget, target, in_first)


def _first_sentence(
    document: int, offsets: np.ndarray, token: int, budget: int, target: float, in_first: bool
) -> int:
    """Return where to start so that a token lies at the share `target` of the example."""

    def cost(first: int) -> float:
        a, b = two_parts(document, offsets, first, budget)
        parts = [a] if in_first else [a, b]
        unfilled = budget - a.length - b.length
        before = 0
        for part in parts:
            if part.start <= token < part.end:
                length = sum(x.length for x in parts)
                return abs(before + token - part.start - target * length) + unfilled
            before += part.length
        return _OUTSIDE * budget

    own = int(np.searchsorted(offsets, token, side="right")) - 1
    lowest = max(0, int(np.searchsorted(offsets, token - budget, side="right")) - 1)
    last = min(own, len(offsets) - 3)  # a sentence must follow
    return min(range(min(lowest, last), last + 1), key=cost)


class _DocumentsByPlace:
    """Looks up which documents of at least two sentences contain a base."""

    def __init__(self, store: TokenStore) -> None:
        intervals = [store.document_interval(d) for d in range(store.num_documents)]
        chroms = np.array([store.chromosome_number(d) for d in range(store.num_documents)])
        has_pair = np.diff(store.document_sentence_offsets) > 1
        self._by_chrom = {}
        for number in np.unique(chroms[has_pair]).tolist():
            documents = np.flatnonzero(has_pair & (chroms == number))
            starts = np.array([intervals[d].start for d in documents])
            order = np.argsort(starts, kind="stable")
            ends = np.array([intervals[d].end for d in documents])[order]
            self._by_chrom[number] = (documents[order], starts[order], ends)

    def at(self, chrom: int, position: int) -> np.ndarray:
        """Return the documents that contain a base, ascending by their start."""
        documents, starts, ends = self._by_chrom[chrom]
        longest = int((ends - starts).max())
        first, last = np.searchsorted(starts, [position - longest, position], side="right")
        return documents[first:last][ends[first:last] > position]

    def are_read(self, chroms: np.ndarray, positions: np.ndarray) -> np.ndarray:
        """Return for bases whether any document contains them, bool."""
        is_read = np.zeros(len(chroms), dtype=bool)
        for chrom, (_, starts, ends) in self._by_chrom.items():
            here = chroms == chrom
            begun = np.searchsorted(starts, positions[here], side="right")
            is_read[here] = begun > np.searchsorted(np.sort(ends), positions[here], side="right")
        return is_read
