"""Haplotypes: the two chromosomes of a sample, with the alleles that its genotypes put on each."""

import itertools
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from dna_bigbird.core.errors import InputError, shortened
from dna_bigbird.core.plain_numbers import whole_number
from dna_bigbird.genome.fasta import Genome
from dna_bigbird.genome.interval import Interval
from dna_bigbird.genome.variants import Variant, VcfHeader

FIRST_SAMPLE = 9
"""Columns of a VCF before those of the samples."""


class Change(NamedTuple):
    """Bases of the reference (0-based, half-open, forward strand) that become a text."""

    start: int
    end: int
    text: str

    def overlaps(self, other: "Change") -> bool:
        """Return True if not both can be on one haplotype: equal bases, or two insertions at one point."""
        if self.start == self.end == other.start == other.end:
            return True
        return self.start < other.end and other.start < self.end


class Call(NamedTuple):
    """The genotype of a sample: numbers of the alleles on both haplotypes, 0 is REF."""

    first: int
    second: int
    block: str
    """Phase set of a heterozygous genotype; '' of others, which need no phase."""


class Haplotype:
    """A chromosome with some changes, which may be read in its own coordinates.

    Of changes that overlap the first one is kept, as `bcftools consensus` does.

    Example:
        >>> import os, tempfile, pathlib
        >>> path = pathlib.Path(os.fsdecode(tempfile.mkdtemp())) / "toy.fa"
        >>> _ = path.write_text(">chr1\\nAACCGGTTAC\\n")
        >>> haplotype = Haplotype(Genome(path), "chr1", [Change(2, 4, ""), Change(7, 7, "GGG")])
        >>> haplotype.fetch(0, 12), haplotype.position(6), haplotype.reference(4)
        ('AAGGTGGGTACN', 4, 6)
    """

    def __init__(self, genome: Genome, chrom: str, changes: Iterable[Change]) -> None:
        self._genome, self._chrom = genome, chrom
        self.changes: list[Change] = []
        for change in sorted(changes, key=lambda x: x[:2]):  # stable: the first of the file stays
            if not (self.changes and change.overlaps(self.changes[-1])):
                self.changes.append(change)
        grown = (len(x.text) - (x.end - x.start) for x in self.changes)
        self._shifts = [0, *itertools.accumulate(grown)]
        self._ends = [x.end for x in self.changes]
        self.starts = [x.start + y for x, y in zip(self.changes, self._shifts, strict=False)]
        """Where each change begins on the haplotype."""
        self.ends = [x + len(y.text) for x, y in zip(self.starts, self.changes, strict=True)]

    def position(self, base: int) -> int:
        """Return where a base of the reference is; of one that is deleted, where the deletion is."""
        number = bisect_right(self._ends, base)
        if number < len(self.changes) and self.changes[number].start < base:
            change = self.changes[number]
            return self.starts[number] + min(base - change.start, len(change.text))
        return base + self._shifts[number]

    def reference(self, position: int) -> int:
        """Return the base of the reference at a position; within an insertion, the base after it."""
        number = bisect_right(self.ends, position)
        if number < len(self.changes) and self.starts[number] <= position:
            change = self.changes[number]
            return min(change.start + position - self.starts[number], change.end)
        return position - self._shifts[number]

    def fetch(self, start: int, end: int) -> str:
        """Return the bases from `start` to `end` of the haplotype, N outside of the chromosome."""
        parts = []
        number = bisect_right(self.ends, start)
        while start < end:
            stop = min(end, self.starts[number]) if number < len(self.changes) else end
            if start < stop:
                shift = self._shifts[number]
                parts.append(self._genome.fetch(Interval(self._chrom, start - shift, stop - shift)))
            if stop < end:
                first = self.starts[number]
                parts.append(self.changes[number].text[max(start, stop) - first : end - first])
                stop = min(end, self.ends[number])
                number += 1
            start = stop
        return "".join(parts)


def sample_columns(header: VcfHeader, shown: str, selected: str | None = None) -> dict[str, int]:
    """Return the column of each sample, or of the one that is selected, by name."""
    names = header.lines[-1].split("\t")[FIRST_SAMPLE:]
    columns = {name: column for column, name in enumerate(names, start=FIRST_SAMPLE)}
    some = ", ".join(map(shortened, names[:5])) + (", …" if len(names) > 5 else "")
    if not columns:
        raise InputError(f"{shown}: no column of a sample; expected genotypes (FORMAT and samples)")
    if selected is None:
        return columns
    if selected not in columns:
        raise InputError(f"--sample {selected}: {shown} has no such sample; it has {some}")
    return {selected: columns[selected]}


def calls_of(
    variant: Variant, columns: dict[str, int], unphased: str, shown: str
) -> Iterator[Call]:
    """Yield the genotypes of samples at a record; without GT, or where it is '.', that of the reference."""
    fields = variant.text.split("\t")
    keys = fields[FIRST_SAMPLE - 1].split(":")
    for name, column in columns.items():
        values = dict(zip(keys, fields[column].split(":"), strict=False))
        text = values.get("GT", ".")
        numbers = _alleles(text, len(variant.alts))
        if numbers is None:
            raise InputError(
                f"{shown}:{variant.line}: GT of {name} is {shortened(text)!r}; expected one or two of the "
                f"alleles 0 to {len(variant.alts)}, such as 0|1"
            )
        first, second = numbers[0], numbers[-1]
        if first == second:
            yield Call(first, second, "")
        elif "|" in text:
            block = values.get("PS", ".")
            yield Call(first, second, "phased" if block in (".", "") else block)
        elif unphased == "error":
            raise InputError(
                f"{shown}:{variant.line}: GT of {name} is {text}, heterozygous without phase; phase the file, or choose "
                "--unphased reference or both"
            )
        elif unphased == "both":
            yield Call(first or second, second or first, "")
        else:
            yield Call(0, 0, "")


def _alleles(text: str, most: int) -> Sequence[int] | None:
    """Return the numbers of one or two alleles, 0 for '.'; None if it is something else."""
    parts = text.replace("/", "|").split("|")
    numbers = [0 if x == "." else whole_number(x) for x in parts]
    known = [x for x in numbers if x is not None and 0 <= x <= most]
    return known if len(known) == len(parts) <= 2 else None
