"""Documents: pieces of the genome that stand for a text, cut into sentences (paper, appendix F.1).

A pass over a contiguous stretch starts at a random offset and lays sentences of random length end
to end; 50 to 100 of them make a document. Only coordinates are drawn, no sequence is copied. What
the paper leaves open (gaps, ends of stretches, held-out regions, strands) is in
docs/explanation/documents-and-tokens.md.
"""

import heapq
import itertools
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from dna_bigbird.core.choices import check_fields
from dna_bigbird.core.settings import Count, Positive
from dna_bigbird.corpus.regions import contiguous_stretches, select
from dna_bigbird.genome import Genome, Interval


@dataclass(frozen=True)
class DocumentConfig:
    """How documents are drawn; the defaults are the paper's."""

    passes: Positive = 10
    """How many times the genome is cut into documents, each time from another start."""
    max_start_bp: Count = 5000
    """The first document of a pass starts uniformly in 0 … this many bases into its stretch."""
    min_sentences: Positive = 50
    """Fewest sentences in a document; the last one of a stretch may have fewer."""
    max_sentences: Positive = 100
    """Most sentences: in one document."""
    min_sentence_bp: Positive = 500
    """Shortest sentence in base pairs."""
    max_sentence_bp: Positive = 1000
    """Longest sentence in base pairs."""
    max_n_run_bp: Count = 10
    """A run of N longer than this is an assembly gap, which no document crosses; shorter runs stay."""
    both_strands: bool = False
    """Both strands: each document is read from either with equal chance (paper: forward only)."""

    def __post_init__(self) -> None:
        check_fields(self, "documents")
        for low, high in (
            ("min_sentences", "max_sentences"),
            ("min_sentence_bp", "max_sentence_bp"),
        ):
            if getattr(self, low) > getattr(self, high):
                raise ValueError(
                    f"--documents.{low} {getattr(self, low)} must be no more than "
                    f"--documents.{high} {getattr(self, high)}"
                )


@dataclass(frozen=True)
class Document:
    """An interval cut into sentences that tile it."""

    # `sentence_ends` are offsets from `interval.start` in the order of the forward strand. On '-'
    # the reading begins at the interval's end.

    interval: Interval
    sentence_ends: tuple[int, ...]

    def sentences(self) -> list[Interval]:
        """Return the sentences as genomic intervals in reading order, with the document's strand."""
        start = self.interval.start
        edges = [start, *(start + end for end in self.sentence_ends)]
        chrom, strand = self.interval.chrom, self.interval.strand
        intervals = [Interval(chrom, *pair, strand) for pair in itertools.pairwise(edges)]
        return intervals[::-1] if strand == "-" else intervals

    def texts(self, genome: Genome) -> list[str]:
        """Return the normalised sequence of every sentence in reading order."""
        whole = genome.fetch(self.interval)
        lengths = np.diff([0, *self.sentence_ends])
        ends = np.cumsum(lengths[::-1] if self.interval.strand == "-" else lengths).tolist()
        return [whole[start:end] for start, end in zip([0, *ends], ends, strict=False)]


def find_stretches(
    genome: Genome,
    regions: Sequence[str | int],
    exclude: Sequence[str | int],
    config: DocumentConfig,
) -> list[Interval]:
    """Return the contiguous stretches that documents are drawn from, in the genome's order."""
    return [
        stretch
        for interval in select(genome, regions, exclude)
        for stretch in contiguous_stretches(genome, interval, config.max_n_run_bp)
    ]


def draw_documents(
    stretches: Iterable[Interval], config: DocumentConfig, seed: int
) -> Iterator[Document]:
    """Draw the documents of all passes, stretch by stretch, sorted by start within a stretch."""
    # The draw of a pass depends only on the seed, the chromosome's name (`chr1` and `1` count as
    # equal), the stretch and the number of the pass: other regions may come or go without moving
    # it.
    for stretch in stretches:
        chrom = zlib.crc32(stretch.chrom.removeprefix("chr").encode())
        rngs = (
            np.random.default_rng([seed, chrom, stretch.start, number])
            for number in range(config.passes)
        )
        passes = [_draw_pass(stretch, config, rng) for rng in rngs]
        yield from heapq.merge(*passes, key=lambda d: (d.interval.start, d.interval.end))


def no_documents_message(regions: Sequence[str | int], config: DocumentConfig) -> str:
    """Say why there is no document at all."""
    return (
        f"no document in regions {list(regions) or 'of the whole genome'}: between runs of more "
        f"than {config.max_n_run_bp} N there is no stretch of {config.min_sentence_bp} bases. "
        "Choose larger regions or a smaller --documents.min_sentence_bp"
    )


def _draw_pass(
    stretch: Interval, config: DocumentConfig, rng: np.random.Generator
) -> Iterator[Document]:
    """Cut one stretch once."""
    # The sentence that would run over the end is cut there if `min_sentence_bp` remain, else those
    # bases are left out. The last document takes the sentences that are left.
    spare_bp = stretch.length - config.min_sentence_bp
    if spare_bp < 0:
        return
    first = stretch.start + int(rng.integers(0, min(config.max_start_bp, spare_bp) + 1))
    left_bp = stretch.end - first
    most = left_bp // config.min_sentence_bp + 1
    ends = np.cumsum(rng.integers(config.min_sentence_bp, config.max_sentence_bp + 1, size=most))
    whole = int(np.searchsorted(ends, left_bp, side="right"))
    rest_bp = left_bp - (int(ends[whole - 1]) if whole else 0)
    ends = ends[:whole]
    if rest_bp >= config.min_sentence_bp:
        ends = np.append(ends, left_bp)
    counts = rng.integers(
        config.min_sentences, config.max_sentences + 1, size=len(ends) // config.min_sentences + 1
    )
    reverse = rng.integers(0, 2, size=len(counts)) if config.both_strands else np.zeros(len(counts))
    done, done_bp = 0, 0
    for count, is_reverse in zip(counts.tolist(), reverse.tolist(), strict=True):
        own = ends[done : done + count]
        if not len(own):
            break
        end_bp = int(own[-1])
        interval = Interval(
            stretch.chrom, first + done_bp, first + end_bp, "-" if is_reverse else "+"
        )
        yield Document(interval, tuple((own - done_bp).tolist()))
        done, done_bp = done + count, end_bp


def expected_documents(stretch_bp: Iterable[int], config: DocumentConfig) -> float:
    """Predict the number of documents from the lengths of the contiguous stretches."""
    # A pass leaves out the mean random start; a document starts wherever at least `min_sentence_bp`
    # remain. Over `x` bases, documents of mean length m and variance v, the renewal theorem gives
    # x / m + (v + m²) / (2 m²) starts. Stretches shorter than a document are only approximate.
    n_mean = (config.min_sentences + config.max_sentences) / 2
    n_var = ((config.max_sentences - config.min_sentences + 1) ** 2 - 1) / 12
    bp_mean = (config.min_sentence_bp + config.max_sentence_bp) / 2
    bp_var = ((config.max_sentence_bp - config.min_sentence_bp + 1) ** 2 - 1) / 12
    mean = n_mean * bp_mean
    variance = n_mean * bp_var + n_var * bp_mean**2
    partial = (variance + mean**2) / (2 * mean**2)
    total = 0.0
    for length in stretch_bp:
        spare_bp = length - config.min_sentence_bp
        if spare_bp >= 0:
            usable_bp = spare_bp - min(config.max_start_bp, spare_bp) / 2
            total += config.passes * max(1.0, usable_bp / mean + partial)
    return total
