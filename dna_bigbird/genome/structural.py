"""Structural alleles: the bases of a chromosome that an allele replaces, and where its breakpoints are.

A deletion, duplication or inversion is kept as places on the chromosome, so that none of its bases are read but those
of a window. Like `allele_form`, breakpoints do not depend on how a file writes an allele: where a deletion, an
insertion or a duplication can be moved over equal bases, its breakpoints are the middle of all places.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from dna_bigbird.core.plain_numbers import whole_number
from dna_bigbird.genome.alphabet import normalise, reverse_complement
from dna_bigbird.genome.chromosome_names import usual_name
from dna_bigbird.genome.fasta import Genome
from dna_bigbird.genome.interval import Interval
from dna_bigbird.genome.variants import Variant, allele_kind

_FIRST_READ = 64
"""Bases compared at first to see how far two places agree; then twice as many each time."""
_BREAKEND = re.compile(r"([ACGTN]*)([\[\]])(.+):([0-9]+)([\[\]])([ACGTN]*)", re.IGNORECASE)
_SEQUENCES = ("SVINSSEQ", "SEQ")
"""INFO fields that callers write the bases of an insertion to."""

Piece = str | Interval
Read = Callable[[int, int], str]
"""Bases from a start to an end on a chromosome, N outside of it."""
Breakpoint = tuple[tuple[int, int], tuple[int, int]]
"""The bases, 0-based and half-open, over which a breakpoint can be moved: on the reference, and on the chromosome
with the allele. They may be none."""


@dataclass(frozen=True, slots=True)
class Edit:
    """The bases of an interval (forward strand) that become others: texts and pieces of the chromosome, in order."""

    interval: Interval
    pieces: tuple[Piece, ...]

    @property
    def length(self) -> int:
        """Bases of the allele."""
        return sum(map(_size, self.pieces))

    def fetch(self, genome: Genome, start: int, end: int) -> str:
        """Return bases of the chromosome with the allele; positions up to the edit are those of the reference.

        Example:
            >>> import os, tempfile, pathlib
            >>> path = pathlib.Path(os.fsdecode(tempfile.mkdtemp())) / "toy.fa"
            >>> _ = path.write_text(">chr1\\nAACCGGTTAC\\n")
            >>> Edit(Interval("chr1", 1, 4), (Interval("chr1", 1, 4, "-"), "A")).fetch(Genome(path), 0, 12)
            'AGGTAGGTTACN'
        """
        here = self.interval
        first = min(start, here.start)
        after = Interval(here.chrom, here.end, here.end + max(0, end - here.start - self.length))
        pieces = (Interval(here.chrom, first, here.start), *self.pieces, after)
        parts = _sliced(pieces, start - first, end - first)
        return "".join(x if isinstance(x, str) else genome.fetch(x) for x in parts)

    def readers(self, genome: Genome) -> tuple[Read, Read]:
        """Return what reads the chromosome without the allele, and with it."""
        chrom = self.interval.chrom
        return (
            lambda start, end: genome.fetch(Interval(chrom, start, end)),
            lambda start, end: self.fetch(genome, start, end),
        )

    def trimmed(self, genome: Genome) -> "Edit":
        """Return the same change without bases at its ends that stay as they are."""
        here, most = self.interval, min(self.interval.length, self.length)
        old, new = self.readers(genome)
        before = _agree(_ahead(old, here.start), _ahead(new, here.start), most)
        ends = _back(old, here.end), _back(new, here.start + self.length)
        after = _agree(*ends, most - before)
        interval = Interval(here.chrom, here.start + before, here.end - after)
        return Edit(interval, tuple(_sliced(self.pieces, before, self.length - after)))

    def breakpoints(self, genome: Genome) -> tuple[Breakpoint, Breakpoint]:
        """Return the left and the right breakpoint of a trimmed edit.

        A deletion joins two places of the reference; an insertion separates one place into two; a tandem
        duplication has one new junction, between its copies, of the end of its bases and their start.
        """
        start, end, size = self.interval.start, self.interval.end, self.length
        if size and self.interval.length:
            return ((start, start), (start, start)), ((end, end), (start + size, start + size))
        old, new = self.readers(genome)
        read, chrom_bp = new, genome.lengths[genome.resolve(self.interval.chrom)]
        if not size:
            read, size = old, self.interval.length
        left = _agree(_back(read, start), _back(read, start + size), start)
        right = _agree(_ahead(read, start), _ahead(read, start + size), chrom_bp - end)
        first, shorter = start - left, left + right
        # Of a copy of its neighbour, the longer one has the junction in its middle, the shorter one the two ends.
        width = shorter if shorter < size else shorter - size
        ends = (first, first + width), (first + size, first + size + width)
        middle = ends[0] if shorter < size else ends[1]
        if (self.length == 0) == (shorter < size):
            return (ends[0], middle), (ends[1], middle)
        return (middle, ends[0]), (middle, ends[1])


def structural_edit(variant: Variant, number: int) -> Edit | str:
    """Return what an allele does, or why that cannot be said; `number` is its index in `alts`.

    Alleles of bases, `<DEL>`, `<DUP>`, `<DUP:TANDEM>` and `<INV>` with END or SVLEN, `<INS>` with its bases in INFO,
    and breakends that join two places of one chromosome. A breakend that turns the strand is the whole inversion.
    """
    alt = variant.alts[number]
    reason = allele_kind(alt)
    if reason is None:
        return Edit(variant.interval, (normalise(alt),))
    edit = None
    if reason == "symbolic":
        if alt.upper().startswith("<INS"):
            reason = "symbolic insertion without its sequence"
        edit = _symbolic(variant, number)
    elif reason == "breakend" and (match := _BREAKEND.fullmatch(alt)):
        edit = _breakend(variant, *match.groups())
    return reason if edit is None else edit


def _symbolic(variant: Variant, number: int) -> Edit | None:
    chrom, start = variant.chrom, variant.pos
    info = dict(x.partition("=")[::2] for x in variant.text.split("\t", 8)[7].split(";"))
    event, _, subtype = variant.alts[number][1:-1].upper().partition(":")
    if event == "INS":
        bases = next((info[name] for name in _SEQUENCES if info.get(name)), "")
        is_dna = bases and allele_kind(bases) is None
        return Edit(Interval(chrom, start, start), (normalise(bases),)) if is_dna else None
    lengths = info.get("SVLEN", "").split(",")
    length = whole_number(lengths[number].lstrip("-")) if number < len(lengths) else None
    end = whole_number(info.get("END", ""))
    if end is None or (len(variant.alts) > 1 and length):
        end = start + (length or 0)
    if end <= start:
        return None
    whole = Interval(chrom, start, end)
    if event == "DEL":
        return Edit(whole, ())
    if event == "DUP" and subtype in ("", "TANDEM"):
        return Edit(Interval(chrom, end, end), (whole,))
    return Edit(whole, (Interval(chrom, start, end, "-"),)) if event == "INV" else None


def _breakend(
    variant: Variant, before: str, bracket: str, chrom: str, pos: str, other: str, after: str
) -> Edit | None:
    # t[p[ joins p, and what follows, after t; ]p]t joins p, and what precedes, before t; t]p] and
    # [p[t join the other strand.
    here, there = variant.pos, int(pos)
    is_one = usual_name(chrom) == usual_name(variant.chrom) and bracket == other and there > 0
    if not is_one or bool(before) == bool(after) or len(variant.ref) != 1:
        return None
    inserted = normalise(before[1:] or after[:-1])
    if (bracket == "[") == bool(after):  # the other strand
        first, last = sorted((here, there))
        whole = Interval(variant.chrom, first - bool(after), last - bool(after))
        turned = Interval(whole.chrom, whole.start, whole.end, "-")
        return Edit(whole, (turned,)) if whole.length and not inserted else None
    left, right = (here, there - 1) if before else (there, here - 1)
    more = (inserted,) if inserted else ()
    if left > right:
        copy = Interval(variant.chrom, right, left)
        return Edit(Interval(variant.chrom, left, left), (*more, copy))
    return Edit(Interval(variant.chrom, left, right), more) if left < right or more else None


def _size(piece: Piece) -> int:
    return len(piece) if isinstance(piece, str) else piece.length


def _sliced(pieces: tuple[Piece, ...], start: int, end: int) -> Iterator[Piece]:
    """Yield what is from `start` to `end` in pieces one after another."""
    for piece in pieces:
        size = _size(piece)
        a, b = max(start, 0), min(end, size)
        if a < b:
            if isinstance(piece, str):
                yield piece[a:b]
            else:
                left, right = (size - b, size - a) if piece.strand == "-" else (a, b)
                yield replace(piece, start=piece.start + left, end=piece.start + right)
        start, end = start - size, end - size


def _ahead(read: Read, position: int) -> Read:
    """Return what reads by the distance after a position."""
    return lambda start, end: read(position + start, position + end)


def _back(read: Read, position: int) -> Read:
    """Return what reads the other strand by the distance before a position."""
    return lambda start, end: reverse_complement(read(position - end, position - start))


def _agree(first: Read, other: Read, most: int) -> int:
    """Return how many of at most so many bases are equal from the start on; N equals nothing."""
    done, step = 0, _FIRST_READ
    while done < most:
        stop = min(done + step, most)
        pairs = zip(first(done, stop), other(done, stop), strict=True)
        same = next((i for i, (a, b) in enumerate(pairs) if a != b or a == "N"), stop - done)
        done += same
        if done < stop:
            break
        step *= 2
    return done
