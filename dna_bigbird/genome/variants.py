"""Variants of a VCF file, read from front to back: plain, gzip, bgzip or standard input.

Only what scoring needs is interpreted, and a line is kept unchanged, so that an annotated copy says
nothing else than the original. (pysam, which writes our bgzip and indexes, reads neither plain
gzip from a stream nor a header with a gap, and names no line in its errors.)
"""

import contextlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from dna_bigbird.core.errors import InputError, shortened
from dna_bigbird.core.file_formats import text_format
from dna_bigbird.core.files import LONGEST_LINE, numbered_lines, shown_name
from dna_bigbird.core.plain_numbers import whole_number
from dna_bigbird.genome.alphabet import normalise
from dna_bigbird.genome.interval import Interval

COLUMNS = ("#CHROM", "POS", "ID", "REF", "ALT", "QUAL", "FILTER", "INFO")
"""The columns that every VCF has; FORMAT and samples may follow."""
MAX_POS = 2**31 - 1
"""The largest position that the format's binary form can hold."""

RATIO = 200
"""How many times its size on disk a file may become: the genotypes of thousands of samples repeat."""

_BASES = frozenset("ACGT")
_CONTIG = re.compile(r'##contig=<(?:[^"]*,)?ID=([^,>]+)')
_LENGTH = re.compile(r"\blength=([0-9]{1,12})\b")
_INFO = re.compile(r'##INFO=<(?:[^"]*,)?ID=([^,>]+)')


@dataclass(frozen=True, slots=True)
class Variant:
    """One record of a VCF file."""

    chrom: str
    """As the file names it; `Genome` takes `22` for `chr22` and back."""
    pos: int
    """Position of the first base of `ref`, from 1, as in the file; 0 of a breakend at a telomere."""
    id: str
    ref: str
    """Upper case over A C G T N."""
    alts: tuple[str, ...]
    """Alternative alleles as the file spells them, lower case included; empty where ALT is '.'."""
    line: int
    """Number of its line, from 1."""
    text: str = ""
    """The line without its end."""

    @property
    def written_ref(self) -> str:
        """REF as the file spells it: lower case and codes for several bases stay."""
        return self.text.split("\t", 4)[3] if self.text else self.ref

    @property
    def interval(self) -> Interval:
        """The bases of `ref`: 0-based, half-open, forward strand.

        Example:
            >>> Variant("chr1", 100, ".", "AC", ("A",), 1).interval
            Interval(chrom='chr1', start=99, end=101, strand='+')
        """
        return Interval(self.chrom, self.pos - 1, self.pos - 1 + len(self.ref))


@dataclass(frozen=True)
class VcfHeader:
    """The lines above the records, without line ends, the one of the column names last."""

    lines: tuple[str, ...]

    @property
    def num_columns(self) -> int:
        """Columns of every record."""
        return self.lines[-1].count("\t") + 1

    @property
    def contig_lengths(self) -> dict[str, int]:
        """Lengths in bp of the chromosomes whose `##contig` line gives one."""
        pairs = ((_CONTIG.match(line), _LENGTH.search(line)) for line in self.lines)
        return {name[1]: int(length[1]) for name, length in pairs if name and length}

    @property
    def info_ids(self) -> set[str]:
        """Names of the INFO fields that the file declares."""
        return {match[1] for line in self.lines if (match := _INFO.match(line))}


def allele_kind(alt: str) -> str | None:
    """Return why an alternative allele cannot be scored, None for one spelt in A C G T.

    Example:
        >>> [allele_kind(alt) for alt in ("A", "acgt", "<DEL>", "G]17:198982]", "*", ".", "AR")]
        [None, None, 'symbolic', 'breakend', 'overlapping deletion (*)', 'missing (.)', 'other letters than A C G T']
    """
    if _BASES.issuperset(alt.upper()):
        return None
    if alt == "*":
        return "overlapping deletion (*)"
    if alt == ".":
        return "missing (.)"
    if alt.startswith("<") and alt.endswith(">"):
        return "symbolic"
    if "[" in alt or "]" in alt or alt.startswith(".") or alt.endswith("."):
        return "breakend"
    return "other letters than A C G T"


def read_vcf(path: Path | str) -> Iterator[Variant]:
    """Yield the records of a VCF file, or of standard input ('-'), in its order."""
    with open_vcf(path) as (_, variants):
        yield from variants


@contextlib.contextmanager
def open_vcf(path: Path | str) -> Iterator[tuple[VcfHeader, Iterator[Variant]]]:
    """Open a VCF file, or standard input ('-'): its header, and a stream of its records."""
    shown = shown_name(path)
    with contextlib.closing(numbered_lines(path, LONGEST_LINE, RATIO)) as lines:
        header = _read_header(lines, shown)
        yield header, _records(lines, header.num_columns, shown)


def _read_header(lines: Iterator[tuple[int, str]], shown: str) -> VcfHeader:
    kept: list[str] = []
    for number, raw in lines:
        line = raw.rstrip("\n")
        where = f"{shown}:{number}"
        if number == 1:
            line = line.removeprefix("\ufeff")
            what = text_format(line)
            if what not in (None, "a VCF file"):
                raise InputError(f"{where}: expected a VCF file, and this looks like {what}")
        if line.startswith("##"):
            kept.append(line)
        elif line.startswith("#"):
            _check_column_names(line, where)
            return VcfHeader((*kept, line))
        elif line.strip():
            missing = "the header has no line of column names" if kept else "there is no header"
            raise InputError(
                f"{where}: {missing}; expected {' '.join(COLUMNS)} between tabs above the first "
                f"record, found {shortened(line)!r}"
            )
    if not kept:
        raise InputError(f"{shown}: the file is empty; expected a VCF file")
    raise InputError(
        f"{shown}: the file ends in its header, before the line of column names. Copy it again"
    )


def _check_column_names(line: str, where: str) -> None:
    names = line.split("\t")
    if tuple(names[: len(COLUMNS)]) == COLUMNS:
        return
    if tuple(line.split()[: len(COLUMNS)]) == COLUMNS:
        raise InputError(f"{where}: the column names are separated by blanks; VCF has tabs there")
    raise InputError(
        f"{where}: the columns are {shortened(' '.join(names))!r}, expected {' '.join(COLUMNS)}"
    )


def _records(lines: Iterator[tuple[int, str]], num_columns: int, shown: str) -> Iterator[Variant]:
    for number, raw in lines:
        line = raw.rstrip("\n")
        if line.strip():
            yield _parse(line, number, num_columns, f"{shown}:{number}")


def _parse(line: str, number: int, num_columns: int, where: str) -> Variant:
    count = line.count("\t") + 1
    if count != num_columns:
        blanks = " Are there blanks where tabs belong?" if len(line.split()) >= num_columns else ""
        raise InputError(
            f"{where}: {count} column{'s' * (count != 1)}, the header has {num_columns}.{blanks}"
        )
    chrom, pos, name, ref, alt = line.split("\t", 5)[:5]
    if not chrom or chrom != chrom.strip():
        raise InputError(f"{where}: CHROM is {chrom!r}; expected the name of a chromosome")
    position = whole_number(pos)
    if position is None or not 0 <= position <= MAX_POS:
        raise InputError(f"{where}: POS is {shortened(pos)!r}; expected a whole number, from 1")
    alts = () if alt == "." else tuple(alt.split(","))
    bases = _reference(ref, where)
    if "" in alts:
        raise InputError(
            f"{where}: ALT is {shortened(alt)!r}, with an empty allele; expected bases between "
            "commas, or '.' for none"
        )
    return Variant(chrom, position, name, bases, alts, number, line)


def _reference(text: str, where: str) -> str:
    if not text:
        raise InputError(f"{where}: REF is empty; expected at least one base")
    try:
        return normalise(text)
    except ValueError as error:
        raise InputError(
            f"{where}: REF is {shortened(text)!r}: {error}; expected A C G T N"
        ) from error
