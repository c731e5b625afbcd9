"""Bases of held-out sequence that lie in a 32-mer of the training text, on either strand."""

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

import numpy as np

from dna_bigbird.baselines.base_counts import BATCH_BP
from dna_bigbird.baselines.base_kmers import UNKNOWN, Kmers, base_codes, shifted
from dna_bigbird.baselines.base_ngram import Decoder
from dna_bigbird.bundles.seen_regions import SeenRegions
from dna_bigbird.corpus.token_store import Store
from dna_bigbird.genome.chromosome_names import usual_name
from dna_bigbird.genome.coverage import Spans, merge_spans
from dna_bigbird.genome.interval import Interval
from dna_bigbird.genome.sources.assemblies import usual_assembly

# T bases of text, U different 32-mers of held-out text

SEEN_BP = 32
"""Bases of a k-mer that held-out sequence shares with what was read."""
_HALF = SEEN_BP // 2
_FILTER_BITS = 28
"""Bits of the hashes in the filter at most (268 MB); most of the training text does not pass it."""
_MIX = np.uint64(0x9E3779B97F4A7C15)


class Text(NamedTuple):
    """Sequence on the forward strand from a position on."""

    chrom: str
    start: int
    codes: np.ndarray
    """(T,) of `base_codes`."""


def covered_text(store: Store, decoder: Decoder) -> Iterator[Text]:
    """Yield all bases that the documents of a store cover, sorted, each piece with no k-mer cut.

    Few documents are decoded where those of several passes overlap. A piece that continues the one
    before it begins with its last 31 bases.
    """
    intervals = [store.document_interval(d) for d in range(store.num_documents)]
    by_chrom: dict[str, list[int]] = {}
    for d in sorted(range(len(intervals)), key=lambda d: intervals[d].start):
        by_chrom.setdefault(intervals[d].chrom, []).append(d)
    for chrom, documents in by_chrom.items():
        end, tail = -1, np.empty(0, np.int8)
        for d in _fewest(documents, intervals):
            interval, codes = intervals[d], base_codes(decoder.decode(store.document(d)))
            if interval.strand == "-":
                codes = np.where(codes < UNKNOWN, 3 - codes, UNKNOWN).astype(np.int8)[::-1]
            start = interval.start
            if start <= end:
                codes = np.concatenate([tail, codes[end - start :]])
                start = end - len(tail)
            yield Text(chrom, start, codes)
            end, tail = interval.end, codes[-(SEEN_BP - 1) :]


def _fewest(documents: Iterable[int], intervals: list[Interval]) -> Iterator[int]:
    """Choose of documents sorted by start those that cover the same bases: each time the farthest end."""
    end, best = -1, None
    for d in documents:
        if intervals[d].start > end and best is not None:
            yield best
            end, best = intervals[best].end, None
        farthest = end if best is None else intervals[best].end
        if intervals[d].end > farthest:
            best = d
    if best is not None:
        yield best


def canonical_32mers(codes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return where a 32-mer of known bases ends, and its number: the smaller of both strands, uint64.

    Example:
        >>> both = [canonical_32mers(base_codes(x * 32))[1].tolist() for x in "AT"]
        >>> both, canonical_32mers(base_codes("A" * 31 + "N"))[1].tolist()
        ([[0], [0]], [])
    """
    kmers = Kmers(codes)
    ends = np.flatnonzero(kmers.run >= SEEN_BP)
    shift = np.uint64(2 * _HALF)
    last, last_reverse = kmers.forward(_HALF), kmers.reverse(_HALF)
    high, low = (
        (shifted(last, _HALF), last),
        (last_reverse, shifted(last_reverse, _HALF)),
    )
    forward, reverse = (
        a[ends].astype(np.uint64) << shift | b[ends].astype(np.uint64) for a, b in (high, low)
    )
    return ends, np.minimum(forward, reverse)


class SeenBases:
    """Which bases of some spans lie in a 32-mer of the training text, or in regions that were read.

    Memory depends on the spans, not on the training text, which is read once.

    Args:
        spans: By chromosome, those that are asked for; other bases count as not seen.
        held_out: Text that covers them.
        training: What the model has read.
        read: Regions by `usual_name` of the chromosome whose bases are all seen.
    """

    def __init__(
        self,
        spans: Mapping[str, Spans],
        held_out: Iterable[Text],
        training: Iterable[Text],
        read: Mapping[str, Spans] | None = None,
    ) -> None:
        self._spans = {
            chrom: merge_spans(np.maximum(starts - SEEN_BP + 1, 0), ends + SEEN_BP - 1)
            for chrom, (starts, ends) in spans.items()
        }
        self._first, size = {}, 0
        for chrom, (starts, ends) in self._spans.items():
            after = size + np.cumsum(ends - starts + 1)  # one unknown base after each span
            self._first[chrom], size = after - (ends - starts + 1), int(after[-1])
        codes = np.full(size, UNKNOWN, np.int8)
        for text in held_out:
            for at, here in self._overlaps(text.chrom, text.start, text.start + len(text.codes)):
                codes[at] = text.codes[here]
        self._seen = _near_shared(codes, training)
        for chrom in self._spans:
            for start, end in zip(*(read or {}).get(usual_name(chrom), ((), ())), strict=True):
                for at, _ in self._overlaps(chrom, start, end):
                    self._seen[at] = True

    def classes(self, interval: Interval) -> np.ndarray:
        """Return 1 for a seen base, else 0, (interval.length,), uint8."""
        seen = np.zeros(interval.length, np.uint8)
        for at, here in self._overlaps(interval.chrom, interval.start, interval.end):
            seen[here] = self._seen[at]
        return seen

    def _overlaps(self, chrom: str, start: int, end: int) -> Iterator[tuple[slice, slice]]:
        """Yield for each span that shares bases with an interval where they are here and in it."""
        if chrom not in self._spans:
            return
        starts, ends = self._spans[chrom]
        first, last = np.searchsorted(ends, start, side="right"), np.searchsorted(starts, end)
        for span in range(first, last):
            low, high = max(start, int(starts[span])), min(end, int(ends[span]))
            offset = int(self._first[chrom][span] - starts[span])
            yield slice(low + offset, high + offset), slice(low - start, high - start)


def _near_shared(codes: np.ndarray, training: Iterable[Text]) -> np.ndarray:
    """Return which bases lie in a 32-mer that the training text has, (T,), bool."""
    ends, of_end = canonical_32mers(codes)
    kmers, number = np.unique(of_end, return_inverse=True)
    is_shared = np.zeros(len(kmers), bool)
    bits = min(_FILTER_BITS, len(kmers).bit_length() + 4)
    passes = np.zeros(1 << bits, bool)
    passes[_hashed(kmers, bits)] = True
    for batch in _batches(training):
        asked = canonical_32mers(batch)[1]
        asked = asked[passes[_hashed(asked, bits)]]
        at = np.searchsorted(kmers, asked)
        at[at == len(kmers)] = 0
        is_shared[at[kmers[at] == asked] if len(kmers) else at] = True
    is_end = np.zeros(len(codes) + SEEN_BP, np.int64)
    is_end[ends] = is_shared[number]
    before = np.concatenate([[0], np.cumsum(is_end)])
    # A base lies in the k-mers that end 0 to 31 bases after it.
    return before[SEEN_BP : SEEN_BP + len(codes)] > before[: len(codes)]


def _batches(training: Iterable[Text]) -> Iterator[np.ndarray]:
    """Join pieces of text, an unknown base after each, to about `BATCH_BP` bases."""
    parts, size, gap = [], 0, np.full(1, UNKNOWN, np.int8)
    for text in training:
        parts += [text.codes, gap]
        size += len(text.codes) + 1
        if size >= BATCH_BP:
            yield np.concatenate(parts)
            parts, size = [], 0
    if parts:
        yield np.concatenate(parts)


def _hashed(kmers: np.ndarray, bits: int) -> np.ndarray:
    return (kmers * _MIX) >> np.uint64(64 - bits)


def regions_read(records: Iterable[SeenRegions] | None, assembly: str) -> dict[str, Spans]:
    """Return the regions that a model has read on an assembly, by `usual_name`, 0-based."""
    bounds: dict[str, list[tuple[int, int]]] = {}
    for record in records or ():
        if usual_assembly(record.assembly) == usual_assembly(assembly):
            for chrom, first, last in record.bounds():
                bounds.setdefault(usual_name(chrom), []).append((first - 1, last))
    return {chrom: merge_spans(*np.array(x).T) for chrom, x in bounds.items()}
