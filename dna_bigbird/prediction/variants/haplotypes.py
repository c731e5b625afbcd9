"""Alleles in their own background: the other variants of the same haplotype in the window.

For each allele four windows are compared: the reference, the allele alone in it, the haplotype without the allele, and
the haplotype. Where several haplotypes have the same window, it is computed once.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from dna_bigbird.core.errors import InputError
from dna_bigbird.genome.fasta import Genome
from dna_bigbird.genome.haplotypes import Change, Haplotype, calls_of, sample_columns
from dna_bigbird.genome.interval import Interval
from dna_bigbird.genome.variants import Variant, VcfHeader
from dna_bigbird.prediction.variants.effects import (
    Correction,
    Windows,
    flanked_windows,
    of_strands,
)
from dna_bigbird.prediction.variants.sites import (
    Background,
    Site,
    change_of,
    form_that_fits,
    longest_allele,
)


class HaplotypeWindows:
    """The windows of an allele in the reference and in a haplotype.

    The same bases before the allele, on each strand, as in `WindowCutter`; those of the haplotype instead of the
    reference.
    """

    def __init__(self, genome: Genome, window_bp: int, strand: str) -> None:
        self.genome, self.window_bp, self.strand = genome, window_bp, strand

    def flanks(self, variant: Variant) -> tuple[Change, int, int]:
        """Return what the only allele of a record changes, and the bases before it on both strands."""
        form = form_that_fits(self.genome, variant, 0, longest_allele(self.window_bp))
        change = change_of(self.genome, variant, 0)
        assert form is not None
        before = self.window_bp // 2 - form.interval.length // 2
        return (
            change,
            before + change.start - form.interval.start,
            before + form.interval.end - change.end,
        )

    def used(self, variant: Variant, haplotype: Haplotype) -> list[int]:
        """Return which changes of a haplotype, without the allele, are in its windows."""
        change, before, after = self.flanks(variant)
        start, size = haplotype.position(change.start), change.end - change.start
        rest = self.window_bp - min(size, len(change.text))
        first, last = start - max(before, rest - after), start + size + max(after, rest - before)
        pairs = enumerate(zip(haplotype.starts, haplotype.ends, strict=True))
        return [i for i, (a, b) in pairs if b > first and a < last]

    def __call__(self, site: Site) -> list[Windows]:
        """Return for each strand pairs of windows, without and with the allele: reference and haplotype."""
        assert site.background is not None
        change, before, after = self.flanks(site.variant)
        size, window_bp = change.end - change.start, self.window_bp
        chrom = site.variant.chrom
        alleles = [self.genome.fetch(Interval(chrom, change.start, change.end)), change.text]
        forward: list[str] = []
        reverse: list[str] = []
        for changes in ((), site.background.changes):
            haplotype = Haplotype(self.genome, chrom, changes)
            start = haplotype.position(change.start)
            left = haplotype.fetch(start - window_bp, start)
            right = haplotype.fetch(start + size, start + size + window_bp)
            pair = flanked_windows(left, right, alleles, window_bp, before, after)
            forward += pair[0]
            reverse += pair[1]
        return [([0], of_strands(forward, reverse, self.strand))]


def compare_haplotypes(
    logits: NDArray[np.float64], *, higher_of: int = 1, correction: Correction | None = None
) -> NDArray[np.float32]:
    """Return `HAPLOTYPE_EFFECTS` as (4, 1, labels), means over strands, from (strands · 2, 2, labels).

    Example:
        >>> compare_haplotypes(np.array([[[0.0], [1.0]], [[2.0], [5.0]]])).ravel().tolist()
        [1.0, 3.0, 5.0, 2.0]
    """
    by_strand = logits.reshape(-1, higher_of, 2, *logits.shape[1:]).max(axis=1)
    mean = by_strand.mean(axis=0)
    if correction:
        mean = mean[..., correction.chosen]
    alone, inside = mean[:, 1] - mean[:, 0]
    together = mean[1, 1] - mean[0, 0]
    return np.stack([alone, inside, together, inside - alone])[:, None].astype(np.float32)


@dataclass
class _Record:
    """A record with what its alleles change and who carries them."""

    site: Site
    changes: dict[int, Change]
    """By number of the allele, 1 is the first of ALT."""
    alleles: NDArray[np.int16]
    """(samples, 2)"""
    blocks: NDArray[np.int32]
    """(samples,), numbers of phase sets; 0 where none is needed."""


@dataclass
class HaplotypeSites:
    """Makes of the sites of a sorted VCF file one for each allele and distinct haplotype around it."""

    cut: HaplotypeWindows
    unphased: str
    shown: str
    rows: int = 0
    """Alleles on haplotypes, once read."""
    distinct: int = 0
    """Sites, once read."""
    _numbers: dict[str, int] = field(default_factory=lambda: {"": 0})

    def read(self, header: VcfHeader, sites: Iterable[Site]) -> Iterator[Site]:
        """Yield the sites; an allele that no sample has has none."""
        # Variants of a haplotype are looked for within a window on both sides of an allele.
        self._columns = sample_columns(header, self.shown)
        self._names = list(self._columns)
        self.rows = self.distinct = 0
        near: list[_Record] = []
        todo = 0
        for record in map(self._record, sites):
            while todo < len(near) and not self._reaches(near[todo], record):
                yield from self._of_record(near, near[todo])
                todo += 1
            while todo and not self._reaches(near[0], near[todo] if todo < len(near) else record):
                near.pop(0)
                todo -= 1
            near.append(record)
        for record in near[todo:]:
            yield from self._of_record(near, record)

    def _record(self, site: Site) -> _Record:
        variant = site.variant
        calls = list(calls_of(variant, self._columns, self.unphased, self.shown))
        numbers = [self._numbers.setdefault(x.block, len(self._numbers)) for x in calls]
        changes = {i + 1: change_of(self.cut.genome, variant, i) for i in site.scored}
        alleles = np.array([x[:2] for x in calls], dtype=np.int16)
        return _Record(site, changes, alleles, np.array(numbers, dtype=np.int32))

    def _reaches(self, first: _Record, later: _Record) -> bool:
        here, there = first.site.variant.interval, later.site.variant.interval
        return here.chrom == there.chrom and there.start <= here.end + self.cut.window_bp

    def _of_record(self, near: Sequence[_Record], record: _Record) -> Iterator[Site]:
        others = [
            x for x in near
            if x is not record and (self._reaches(x, record) and self._reaches(record, x))
        ]  # fmt: skip
        for number, change in record.changes.items():
            sample_C, side_C = np.nonzero(record.alleles == number)
            if not len(sample_C):
                continue
            variant = replace(record.site.variant, alts=(record.site.variant.alts[number - 1],))
            on_NC = self._background(record, others, sample_C, side_C)
            backgrounds, which_C = np.unique(on_NC, axis=1, return_inverse=True)
            carriers: dict[Background, list[tuple[str, int]]] = {}
            of_column = [
                self._of_column(variant, change, others, column) for column in backgrounds.T
            ]
            for sample, side, which in zip(sample_C, side_C, which_C.ravel(), strict=True):
                carriers.setdefault(of_column[which], []).append(
                    (self._names[sample], int(side) + 1)
                )
            for background, who in carriers.items():
                self.rows += len(who)
                self.distinct += 1
                yield Site(variant, (0,), background=replace(background, carriers=tuple(who)))

    def _background(
        self,
        record: _Record,
        others: Sequence[_Record],
        sample_C: NDArray[np.intp],
        side_C: NDArray[np.intp],
    ) -> NDArray[np.int16]:
        """Return the alleles of other records on the haplotypes of some carriers, (records, carriers)."""
        if not others:
            return np.zeros((0, len(sample_C)), dtype=np.int16)
        both_NC2 = np.stack([x.alleles[sample_C] for x in others])
        blocks_NC = np.stack([x.blocks[sample_C] for x in others])
        own_C = record.blocks[sample_C]
        first_C = np.take_along_axis(blocks_NC, (blocks_NC != 0).argmax(axis=0)[None], axis=0)[0]
        own_C = np.where(own_C == 0, first_C, own_C)
        on_NC = np.take_along_axis(both_NC2, side_C[None, :, None], axis=2)[..., 0]
        is_apart_NC = (blocks_NC != 0) & (blocks_NC != own_C)
        if self.unphased == "error" and is_apart_NC.any():
            number, carrier = np.argwhere(is_apart_NC)[0]
            raise InputError(
                f"{self.shown}:{others[number].site.variant.line}: GT of {self._names[sample_C[carrier]]} is of another "
                f"phase set than in line {record.site.variant.line}, in one window; choose --unphased reference or both"
            )
        instead_NC = both_NC2.max(axis=2) if self.unphased == "both" else 0
        return np.where(is_apart_NC, instead_NC, on_NC)

    def _of_column(
        self,
        variant: Variant,
        change: Change,
        others: Sequence[_Record],
        alleles: NDArray[np.int16],
    ) -> Background:
        names: dict[Change, str] = {}
        for record, number in zip(others, alleles.tolist(), strict=True):
            other = record.changes.get(number)
            if other is not None and not other.overlaps(change):
                v = record.site.variant
                names.setdefault(other, f"{v.pos}:{v.written_ref}>{v.alts[number - 1]}")
        haplotype = Haplotype(self.cut.genome, variant.chrom, names)
        used = [haplotype.changes[i] for i in self.cut.used(variant, haplotype)]
        return Background(tuple(used), ";".join(names[x] for x in used) or ".")
