"""Scores of variants as a table, and as INFO fields in a copy of the VCF file."""

import contextlib
import re
import sys
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from dna_bigbird.core.choices import check_fields, checked
from dna_bigbird.core.errors import InputError
from dna_bigbird.core.file_formats import Form, check_known
from dna_bigbird.core.writing import atomic_path, check_can_write
from dna_bigbird.genome.variants import VcfHeader
from dna_bigbird.prediction.variants.effects import Effects
from dna_bigbird.prediction.variants.sites import Site
from dna_bigbird.prediction.writers.target import table_line

TBI_MAX_BP = 2**29
"""The longest chromosome that a .tbi index can hold; a .csi index has no such limit."""
FIELDS = (("diff", "DIFF", "probability"), ("log_odds", "LOGODDS", "log-odds"))
"""Column of the effects, end of the INFO field's name, what it is the difference of."""
_UNSAFE = re.compile(r"[^0-9A-Za-z_.]")

Write = Callable[[str], object]


class TableWriter:
    """One row per alternative allele, or key: chrom, pos (from 1), id, ref, alt, `keys`, effects of every label."""

    def __init__(
        self,
        write: Write,
        labels: Sequence[str],
        columns: Sequence[str],
        format: str,
        keys: Sequence[str] = (),
    ) -> None:
        self._write, self._columns, self._labels = write, columns, labels
        self._format, self._keys = format, keys

    def begin(self, header: VcfHeader) -> None:
        """Write the names of the columns."""
        scores = [f"{label}_{column}" for label in self._labels for column in self._columns]
        names = ["chrom", "pos", "id", "ref", "alt", *self._keys]
        self._write(table_line([*names, *scores], self._format))

    def write(self, sites: Sequence[Site], effects: Effects) -> None:
        """Write a row for each allele of the records that fit; nan where it has no score."""
        values = np.stack([effects[c] for c in self._columns], axis=-1)
        values = values.reshape(len(values), values[:1].size)[rows_of_fitting(sites)]
        rows = iter(values.tolist())
        for site in sites:
            v = site.variant
            for alt in v.alts if site.fits else ():
                scores = [format_score(x, "nan") for x in next(rows)]
                for keys in site.keys if self._keys else [()]:
                    fields = [v.chrom, str(v.pos), v.id, v.written_ref, alt, *keys, *scores]
                    self._write(table_line(fields, self._format))


@dataclass(frozen=True)
class Origin:
    """Where scores come from, for the header of a VCF file."""

    models: Sequence[tuple[str, str]]
    """Name and SHA-256 of the weights of every model."""
    settings: dict[str, str]
    """Further settings of the run."""

    def line(self) -> str:
        """Return it as a line of a VCF header."""
        names = ",".join(name for name, _ in self.models)
        sums = ",".join(checksum for _, checksum in self.models)
        pairs = {"model": names, "sha256": sums} | self.settings
        return f"##dna-bigbird=<{','.join(f'{k}={_quoted(v)}' for k, v in pairs.items())}>"

    def short(self) -> str:
        """Return the models in a few words."""
        return " and ".join(f"{name} (sha256 {checksum[:12]})" for name, checksum in self.models)


class AnnotatingWriter:
    """The VCF file with two INFO fields per label; '.' without a score, other records unchanged."""

    def __init__(self, write: Write, labels: Sequence[str], origin: Origin) -> None:
        self._write, self._labels, self._origin = write, labels, origin
        self._ids: list[tuple[str, str]] = []

    def begin(self, header: VcfHeader) -> None:
        """Write the header with the new fields in it."""
        self._ids = info_ids(self._labels, header.info_ids)
        lines = list(header.lines[:-1])
        if not any(line.startswith("##fileformat=") for line in lines):
            lines.insert(0, "##fileformat=VCFv4.2")
        lines.append(self._origin.line())
        for label, ids in zip(self._labels, self._ids, strict=True):
            for name, (_, _, what) in zip(ids, FIELDS, strict=True):
                text = f"{label}: {what} of ALT minus that of REF; {self._origin.short()}"
                lines.append(f"##INFO=<ID={name},Number=A,Type=Float,Description={_quoted(text)}>")
        self._write("\n".join([*lines, header.lines[-1]]) + "\n")

    def write(self, sites: Sequence[Site], effects: Effects) -> None:
        """Write the records."""
        row = 0
        values = np.stack([effects[column] for column, _, _ in FIELDS])
        for site in sites:
            alts = len(site.variant.alts)
            line = site.variant.text
            if site.scored:
                line = self._annotated(line, values[:, row : row + alts])
            self._write(line + "\n")
            row += alts

    def _annotated(self, line: str, values_FAL: np.ndarray) -> str:
        columns = line.split("\t", 8)
        info = columns[7].strip(";")
        fields = [] if info in (".", "") else [info]
        for label, ids in enumerate(self._ids):
            for name, scores in zip(ids, values_FAL[:, :, label].tolist(), strict=True):
                fields.append(f"{name}={','.join(format_score(x, '.') for x in scores)}")
        columns[7] = ";".join(fields)
        return "\t".join(columns)


def rows_of_fitting(sites: Sequence[Site]) -> NDArray[np.bool_]:
    """Return for each alternative allele, in order, whether its record fits the genome: (alleles,)."""
    return np.repeat(
        np.array([site.fits for site in sites], dtype=bool),
        [len(site.variant.alts) for site in sites],
    )


def format_score(value: float, missing: str) -> str:
    """Return a score with five digits, and a zero without a sign.

    Example:
        >>> [format_score(x, ".") for x in (0.123456, -0.0, float("nan"))]
        ['0.12346', '0', '.']
    """
    return missing if value != value else f"{value + 0.0:.5g}"


def info_ids(labels: Sequence[str], used_ids: Collection[str]) -> list[tuple[str, str]]:
    """Return names of INFO fields for every label: legal in VCF, and not among `used_ids`.

    Example:
        >>> info_ids(["GM12878|CTCF", "GM12878 CTCF"], {"BB_GM12878_CTCF_2_DIFF"})
        [('BB_GM12878_CTCF_DIFF', 'BB_GM12878_CTCF_LOGODDS'), ('BB_GM12878_CTCF_3_DIFF', 'BB_GM12878_CTCF_3_LOGODDS')]
    """
    used, pairs = set(used_ids), []
    for label in labels:
        stem = name = "BB_" + _UNSAFE.sub("_", label)
        number = 1
        while used & (ids := {f"{name}_{end}" for _, end, _ in FIELDS}):
            number += 1
            name = f"{stem}_{number}"
        used |= ids
        pairs.append(tuple(f"{name}_{end}" for _, end, _ in FIELDS))
    return pairs


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{" ".join(escaped.split())}"'


@contextlib.contextmanager
def _quiet_htslib() -> Iterator[None]:
    """Keep the C library from writing to standard error; errors are raised as well."""
    import pysam

    before = pysam.set_verbosity(0)
    try:
        yield
    finally:
        pysam.set_verbosity(before)


@contextlib.contextmanager
def open_output(path: Path, longest_bp: int) -> Iterator[Write]:
    """Open a text file that is complete or absent; `.gz` is compressed by bgzip and indexed."""
    if path.suffix != ".gz":
        with atomic_path(path) as partial, open(partial, "w", encoding="utf-8") as stream:
            yield stream.write
        return
    import pysam

    csi = longest_bp > TBI_MAX_BP
    index = path.with_name(path.name + (".csi" if csi else ".tbi"))
    # The index is renamed last: it is never older than its file.
    with atomic_path(index) as partial_index, atomic_path(path) as partial, _quiet_htslib():
        with pysam.BGZFile(str(partial), "w") as stream:
            yield lambda text: stream.write(text.encode())
        pysam.tabix_index(
            str(partial), preset="vcf", index=str(partial_index), keep_original=True, csi=csi
        )


# Where the scores of variants go: files and their formats.

STDOUT = "-"
VCF_ENDINGS = (".vcf", ".vcf.gz")
TABLES: dict[str, str] = {".tsv": "tsv", ".txt": "tsv", ".csv": "csv"}
Format = Literal["tsv", "csv", "vcf"]


@dataclass(frozen=True)
class VariantTarget:
    """One file to write, or standard output (`path` None)."""

    path: Path | None
    format: Format

    def __post_init__(self) -> None:
        check_fields(self)

    @property
    def is_indexed(self) -> bool:
        """Whether it is compressed and gets an index."""
        return self.path is not None and self.path.suffix == ".gz"


@checked()
def choose_targets(
    output: Path | str | None, format: Format | None, tsv: Path | str | None
) -> list[VariantTarget]:
    """Return the files to write, `output` first; none if it is None."""
    if output is None:
        if tsv is not None:
            raise InputError("--tsv names a second file; name the first one with --output")
        return []
    path = None if str(output) == STDOUT else Path(output)
    has_vcf_name = path is not None and path.name.endswith(VCF_ENDINGS)
    if path is not None and format == "vcf" and not has_vcf_name:
        raise InputError(f"--output {path}: the name of a VCF file ends in .vcf or .vcf.gz")
    if path is None:
        format = format or "tsv"
    elif format is None and has_vcf_name:
        format = "vcf"
    elif format != "vcf":
        format = _table_format("--output", path, format)
    targets = [VariantTarget(path, format)]
    if tsv is not None:
        if format != "vcf":
            raise InputError(
                "--tsv is a table in addition to an annotated VCF; --output is a table already"
            )
        _table_format("--tsv", Path(tsv), "tsv")
        targets.append(VariantTarget(Path(tsv), "tsv"))
    return targets


def _table_format(option: str, path: Path, format: str | None) -> str:
    """Return the format of a table: the one named, or else that of the suffix."""
    if path.suffix == ".gz" or path.name.endswith(VCF_ENDINGS):
        raise InputError(f"{option} {path}: a table is plain text; end its name in .tsv or .csv")
    check_known(option, path, (*TABLES, *VCF_ENDINGS), format)
    format = format or TABLES.get(path.suffix.lower(), "tsv")
    Form(format.upper(), (f".{format}",)).check(option, path)
    return format


def check_targets(targets: Sequence[VariantTarget]) -> None:
    """Raise OutputError early for a file that cannot be written."""
    for target in targets:
        if target.path:
            check_can_write(target.path)


@contextlib.contextmanager
def open_writers(
    targets: Sequence[VariantTarget],
    *,
    labels: Sequence[str],
    columns: Sequence[str],
    keys: Sequence[str] = (),
    origin: Origin,
    longest_bp: int,
) -> Iterator[list[TableWriter | AnnotatingWriter]]:
    """Open all targets, each whole or absent; a table has `columns` for every label."""
    with contextlib.ExitStack() as stack:
        writers: list[TableWriter | AnnotatingWriter] = []
        for target in targets:
            write: Write = sys.stdout.write
            if target.path is not None:
                write = stack.enter_context(open_output(target.path, longest_bp))
            if target.format == "vcf":
                writers.append(AnnotatingWriter(write, labels, origin))
            else:
                writers.append(TableWriter(write, labels, columns, target.format, keys))
        yield writers
