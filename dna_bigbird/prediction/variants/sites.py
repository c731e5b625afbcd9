"""The sites of a VCF file, checked against a genome: which alleles can be scored, and why not the others."""

import contextlib
import itertools
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from dna_bigbird.core.errors import InputError, shortened
from dna_bigbird.core.files import looks_like, shown_name
from dna_bigbird.genome.allele_form import AlleleForm, allele_form
from dna_bigbird.genome.alphabet import first_bases
from dna_bigbird.genome.fasta import Genome
from dna_bigbird.genome.haplotypes import Change
from dna_bigbird.genome.interval import Interval, promoter_window
from dna_bigbird.genome.sites.reading import read_sites
from dna_bigbird.genome.structural import Edit, structural_edit
from dna_bigbird.genome.variants import Variant, VcfHeader, allele_kind, open_vcf

LOOK_AT = 1000
"""Records read, from the first that does not fit, to find the reason."""
OTHER_ASSEMBLY_SHARE = 0.2
"""Share of records that do not fit above which the VCF is probably on another assembly: there two or
three of four bases differ; errors in a VCF are few."""
TOO_LONG = "longer than half the window"
INDEL = "insertion or deletion, which has no likelihood"
N_IN_REF = "REF with N, which has no likelihood"
OUTSIDE = "outside of the windows of --sites"
NO_ALT = "no alternative allele (.)"
MISMATCH = "record that does not fit the genome"
STRUCTURAL_BP = 50
"""Bases that the longer one of REF and ALT has at least for an allele to have rows for its breakpoints."""
SPAN, BREAKPOINTS = "span", ("left", "right")
"""What a row is of: all of an allele in one window, or one of its breakpoints."""
MISMATCHES_OF_OTHER_ASSEMBLY = 0.1
"""Share of skipped records above which a note asks for the assembly."""


@dataclass(frozen=True, slots=True)
class AnchorWindow:
    """The window of a model around an anchor, such as a start site."""

    interval: Interval
    """With the strand of the anchor."""
    anchor: int
    """0-based position on the chromosome."""
    name: str


class AnchorWindows:
    """The windows around the sites of a file, with so many of their bases before the site on its strand."""

    def __init__(self, path: Path | str, genome: Genome, window_bp: int, anchor_bp: int) -> None:
        self.path, self._window_bp = path, window_bp
        by_chrom: dict[str, list[AnchorWindow]] = {}
        for site in read_sites(path):
            here = site.interval
            if chrom := genome.find(here.chrom):
                window = promoter_window(
                    chrom,
                    here.start,
                    here.strand,
                    upstream=anchor_bp,
                    downstream=window_bp - anchor_bp,
                )
                by_chrom.setdefault(chrom, []).append(AnchorWindow(window, here.start, site.name))
        if not by_chrom:
            raise InputError(f"--sites {path}: no site is on a chromosome of {genome.path.name}")
        self._by_chrom = {
            chrom: sorted(windows, key=lambda x: x.interval.start)
            for chrom, windows in by_chrom.items()
        }

    def containing(self, chrom: str, start: int, end: int) -> list[AnchorWindow]:
        """Return the windows with all bases of an interval in them, in the order of the genome."""
        windows = self._by_chrom.get(chrom, [])
        first = bisect_left(windows, end - self._window_bp, key=lambda x: x.interval.start)
        last = bisect_right(windows, start, key=lambda x: x.interval.start)
        return windows[first:last]


@dataclass(frozen=True, slots=True)
class Background:
    """What else is on the haplotypes of an allele in its window."""

    changes: tuple[Change, ...]
    text: str
    """The variants, as position from 1, REF and ALT; '.' if there are none."""
    carriers: tuple[tuple[str, int], ...] = ()
    """Names of samples and numbers of their haplotypes, 1 or 2."""


@dataclass(frozen=True, slots=True)
class Site:
    """A record and its alternative alleles that can be scored."""

    variant: Variant
    scored: tuple[int, ...]
    """Indices in `variant.alts`, ascending."""
    fits: bool = True
    """Whether the record fits the genome; if not, it has no row in a table."""
    window: AnchorWindow | None = None
    """The window to score it in; None: one centred on the variant."""
    part: str | None = None
    """What to score; None: all in one window, or the breakpoints of alleles that are too long for that."""
    background: Background | None = None
    """The haplotype that its only allele is on."""

    @property
    def keys(self) -> list[tuple[str, ...]]:
        """The further columns of its rows: a row per haplotype, or one with the name of the site."""
        if self.background is None:
            return [(self.window.name if self.window else self.part or ".",)]
        text = self.background.text
        return [(name, str(number), text) for name, number in self.background.carriers]


class HaplotypeReader(Protocol):
    """Puts the alleles of sites into the haplotypes of samples; `HaplotypeSites` does."""

    def read(self, header: VcfHeader, sites: Iterable[Site]) -> Iterator[Site]:
        """Yield the sites of the haplotypes."""
        ...


class VariantSites:
    """The sites of a VCF file in its order, each checked against the genome."""

    # With `only_substitutions` or anchors only alleles of bases are scored, those up to half of `window_bp`;
    # of substitutions those as long as REF, and not next to a REF with N. must_be_sorted: records that an
    # index could not find are errors. breakpoints: a site for each part of structural alleles.

    def __init__(
        self,
        vcf: Path | str,
        genome: Genome,
        *,
        window_bp: int,
        skip_mismatches: bool = False,
        must_be_sorted: bool = False,
        only_substitutions: bool = False,
        anchors: AnchorWindows | None = None,
        breakpoints: bool = False,
        haplotypes: HaplotypeReader | None = None,
    ) -> None:
        self.vcf, self.genome = vcf, genome
        self._shown = shown_name(vcf)
        self.streamed = str(vcf) == "-" or Path(vcf).is_fifo()
        """Whether it can be read once only: standard input or a pipe."""
        self.longest = longest_allele(window_bp)
        self._breakpoints = breakpoints
        self._haplotypes = haplotypes
        self._structural = not only_substitutions and anchors is None and haplotypes is None
        self.skip_mismatches, self._must_be_sorted = skip_mismatches, must_be_sorted
        self._only_substitutions, self._anchors = only_substitutions, anchors
        self.records: int | None = None
        """Records in all, once checked or read."""
        self.rows: int | None = None
        """Sites in all, once checked or read: a record in several windows of anchors is several."""
        self.alleles = 0
        """Alternative alleles in all, once checked or read."""
        self.skipped: Counter[str] = Counter()
        """Alleles that are not scored, by reason, once checked or read."""
        self.at_breakpoints = 0
        """Alleles that are scored at their breakpoints alone, once checked or read."""
        self.mismatches = 0
        """Records that do not fit the genome, once checked or read."""
        self._absent = 0
        """Number of these on chromosomes that the genome lacks."""

    def check(self) -> None:
        """Read everything once, so that no time is spent on a file with an error; not a stream."""
        if not self.streamed:
            with self.open() as (_, sites):
                for _ in sites:
                    pass

    @contextlib.contextmanager
    def open(self) -> Iterator[tuple[VcfHeader, Iterator[Site]]]:
        """Open the file: its header, and its sites as a stream."""
        with open_vcf(self.vcf) as (header, variants):
            if self._must_be_sorted:
                variants = self._sorted(variants)
            sites = self._sites(variants, header)
            yield header, self._haplotypes.read(header, sites) if self._haplotypes else sites

    def _sites(self, variants: Iterator[Variant], header: VcfHeader) -> Iterator[Site]:
        records = rows = alleles = scored = mismatches = absent = at_breakpoints = 0
        skipped: Counter[str] = Counter()
        first_fault = ""
        for variant in variants:
            edits: list[Edit | str] = []
            types = [allele_kind(alt) for alt in variant.alts]
            if self._structural and any(types):
                edits = [structural_edit(variant, i) for i in range(len(types))]
                types = [edit if isinstance(edit, str) else None for edit in edits]
            # Of a record without an allele to score, such as <NON_REF>, nothing has to fit.
            fault = mismatch_of(variant, self.genome, edits) if None in types else None
            if fault and not self.skip_mismatches:
                hint = self._why(variant, variants, header)
                raise InputError(f"{self._shown}:{variant.line}: {fault}. {hint}")
            if fault:
                mismatches += 1
                absent += self.genome.find(variant.chrom) is None
                first_fault = first_fault or f"line {variant.line}: {fault}"
            records += 1
            for window in [None] if fault else self._windows(variant):
                reasons = [
                    type or (MISMATCH if fault else self._reason(variant, alt, window))
                    for type, alt in zip(types, variant.alts, strict=True)
                ]
                skipped.update(filter(None, reasons if variant.alts else [NO_ALT]))
                alleles += len(variant.alts)
                fitting = tuple(i for i, reason in enumerate(reasons) if not reason)
                scored += len(fitting)
                sites = [Site(variant, fitting, not fault, window)]
                if self._structural:
                    span = tuple(
                        i for i in fitting if form_that_fits(self.genome, variant, i, self.longest)
                    )
                    at_breakpoints += len(fitting) - len(span)
                    sites = self._parts(sites[0], span) if self._breakpoints else sites
                rows += len(sites)
                yield from sites
        self.at_breakpoints = at_breakpoints
        self.records, self.rows, self.alleles, self.skipped = records, rows, alleles, skipped
        self.mismatches, self._absent = mismatches, absent
        if mismatches and not scored:
            raise InputError(
                f"{self._shown}: nothing is left to score: {mismatches:,} of {records:,} records do not "
                f"fit {self.genome.path.name}, the first one in {first_fault}. Is the VCF on another "
                "assembly?"
            )

    def assembly_note(self) -> str | None:
        """Return a question for the user if many records were left out, once checked or read."""
        if not self.records or self.mismatches <= MISMATCHES_OF_OTHER_ASSEMBLY * self.records:
            return None
        share = self.mismatches / self.records
        absent = f", {self._absent:,} of them on chromosomes that it lacks" if self._absent else ""
        has_other_bases = self.mismatches > self._absent
        return (
            f"{self._shown}: {self.mismatches:,} of {self.records:,} records ({share:.0%}) do not fit "
            f"{self.genome.path.name} and are left out{absent}. "
            + ("Is the VCF on another assembly?" if has_other_bases else "Is it the whole genome?")
        )

    def _windows(self, variant: Variant) -> Sequence[AnchorWindow | None]:
        """Return the windows of anchors that a record is in; None: without anchors, or in none."""
        if self._anchors is None:
            return [None]
        here = variant.interval
        chrom = self.genome.find(here.chrom) or ""
        return self._anchors.containing(chrom, here.start, here.end) or [None]

    def _reason(self, variant: Variant, alt: str, window: AnchorWindow | None) -> str | None:
        """Return why an allele of bases, of a record that fits the genome, is not scored."""
        if self._structural:
            return None
        form = allele_form(self.genome, variant.interval, variant.ref, alt, self.longest)
        if self._only_substitutions and len(form.alt) != len(form.ref):
            return INDEL
        if self._only_substitutions and "N" in form.ref:
            return N_IN_REF
        if max(len(form.ref), len(form.alt)) > self.longest:
            return TOO_LONG
        if self._anchors is None:
            return None
        within = window and window.interval.start <= form.interval.start <= form.interval.end
        return None if window and within and form.interval.end <= window.interval.end else OUTSIDE

    def _parts(self, site: Site, span: tuple[int, ...]) -> list[Site]:
        """Return a site with structural alleles as one for all of an allele and one for each breakpoint."""
        large = []
        for number in site.scored:
            edit = trimmed_edit(self.genome, site.variant, number)
            if number not in span or max(edit.interval.length, edit.length) >= STRUCTURAL_BP:
                large.append(number)
        if not large:
            return [site]
        ends = [replace(site, scored=tuple(large), part=part) for part in BREAKPOINTS]
        return [replace(site, scored=span, part=SPAN), *ends]

    def _sorted(self, variants: Iterator[Variant]) -> Iterator[Variant]:
        finished: set[str] = set()
        last: Variant | None = None
        for variant in variants:
            if last is not None and last.chrom != variant.chrom:
                finished.add(last.chrom)
            elif last is not None and variant.pos < last.pos:
                self._raise_order(variant, f"comes after {last.chrom}:{last.pos}")
            if variant.chrom in finished:
                self._raise_order(variant, f"comes after other chromosomes than {variant.chrom}")
            last = variant
            yield variant

    def _raise_order(self, variant: Variant, problem: str) -> None:
        raise InputError(
            f"{self._shown}:{variant.line}: {variant.chrom}:{variant.pos} {problem}; a .vcf.gz with "
            "its index must be sorted. Sort it (bcftools sort), or write .vcf or .tsv"
        )

    def _why(self, first: Variant, later: Iterator[Variant], header: VcfHeader) -> str:
        """Return the likely reason why a record does not fit the genome."""
        genome = self.genome
        for name in (first.chrom, *header.contig_lengths):
            chrom = genome.find(name)
            length = header.contig_lengths.get(name)
            if chrom and length and length < genome.lengths[chrom]:
                return (
                    f"The header says that {name} has {length:,} bases, {genome.path.name} has "
                    f"{genome.lengths[chrom]:,}: the VCF is on another assembly"
                )
        num_read, wrong = 1, 1
        with contextlib.suppress(InputError):  # one fault at a time
            for variant in itertools.islice(later, 0 if self.streamed else LOOK_AT - 1):
                num_read += 1
                wrong += mismatch_of(variant, genome) is not None
        if wrong > OTHER_ASSEMBLY_SHARE * num_read:
            among = (
                f"{wrong:,} of {num_read:,} records from there on do not fit. " if wrong > 1 else ""
            )
            return f"{among}Is the VCF on another assembly?"
        return (
            f"Only {wrong:,} of {num_read:,} records from there on do not fit: leave them out with "
            "--ref_mismatch skip"
        )


def mismatch_of(variant: Variant, genome: Genome, edits: Sequence[Edit | str] = ()) -> str | None:
    """Return why REF of a record does not agree with the genome; None if it agrees."""
    # Lower case does not matter, N agrees with N only. Where the genome has a code for several
    # bases, such as R, the first of them agrees too (A), as VCF 4.3 writes it. REF with N of a record without
    # alleles of bases says nothing. edits: structural alleles, which must end on the chromosome.
    site, name = variant.interval, genome.path.name
    chrom = genome.find(site.chrom)
    if chrom is None:
        some = ", ".join(list(genome.lengths)[:5]) + (", …" if len(genome.lengths) > 5 else "")
        return f"chromosome {variant.chrom!r} is not in {name} (it has {some})"
    length = genome.lengths[chrom]
    parts = [x for edit in edits if isinstance(edit, Edit) for x in (edit.interval, *edit.pieces)]
    last = max((x.end for x in parts if isinstance(x, Interval)), default=0)
    if last > length and last > site.end:
        return f"an allele reaches base {last} of {chrom}, which has {length} in {name}"
    if None not in map(allele_kind, variant.alts) and not variant.ref.strip("N"):
        return None
    if variant.pos == 0:
        return (
            "POS is 0, a telomere, which has no base; VCF counts from 1. Was the file made from one "
            "that counts from 0?"
        )
    if site.start >= length:
        return f"POS is {variant.pos}, but {chrom} has {length} bases in {name}"
    if site.end > length:
        return (
            f"REF has {site.length} bases from {chrom}:{variant.pos} on, but {chrom} ends after "
            f"{length - site.start} more in {name}"
        )
    reference = genome.fetch(site)
    if variant.ref == reference:
        return None
    if "N" in reference and variant.ref == first_bases(genome.letters(site)):
        return None
    return (
        f"REF is {shortened(variant.written_ref)!r} at {variant.chrom}:{variant.pos}, but {name} has "
        f"{shortened(reference)!r} there"
    )


def open_genome(fasta: Path | str, vcf: Path | str) -> Genome:
    """Open the genome of a VCF file; the error mentions swapped files."""
    if looks_like(fasta) == "a VCF file":
        file_type = looks_like(vcf)
        swapped = (
            f", and {vcf} like {file_type}: are the two swapped?"
            if file_type == "a FASTA file"
            else ""
        )
        raise InputError(
            f"{fasta}: expected the genome as FASTA, and this looks like a VCF file{swapped or '.'} "
            "Expected: --vcf variants.vcf --fasta genome.fa"
        )
    return Genome(fasta)


def trimmed_edit(genome: Genome, variant: Variant, number: int) -> Edit:
    """Return what an allele that can be scored does."""
    edit = structural_edit(variant, number)
    assert isinstance(edit, Edit)
    return edit.trimmed(genome)


def change_of(genome: Genome, variant: Variant, number: int) -> Change:
    """Return the bases that an allele that can be scored replaces."""
    edit = trimmed_edit(genome, variant, number)
    here = edit.interval
    return Change(here.start, here.end, edit.fetch(genome, here.start, here.start + edit.length))


def form_that_fits(
    genome: Genome, variant: Variant, number: int, longest: int
) -> AlleleForm | None:
    """Return the form of an allele that can be scored; None if REF or ALT are longer than that there."""
    interval, ref, alt = variant.interval, variant.ref, variant.alts[number]
    if allele_kind(alt):
        edit = trimmed_edit(genome, variant, number)
        interval = edit.interval
        if max(interval.length, edit.length) > longest:
            return None
        ref = genome.fetch(interval)
        alt = edit.fetch(genome, interval.start, interval.start + edit.length)
    form = allele_form(genome, interval, ref, alt, longest)
    return form if max(len(form.ref), len(form.alt)) <= longest else None


def longest_allele(window_bp: int) -> int:
    """Return the most bases that an allele may have: half the window, so that flanks remain."""
    return window_bp // 2
