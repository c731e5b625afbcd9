"""Which peak file makes which chromatin label: a sample sheet, or peak files named one by one."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dna_bigbird.core.errors import InputError
from dna_bigbird.core.files import numbered_lines
from dna_bigbird.core.plain_numbers import whole_number
from dna_bigbird.genome import Genome
from dna_bigbird.genome.bed import (
    BedColumns,
    beyond_error,
    iter_bed,
    note_absent,
    place_columns,
    read_columns,
)
from dna_bigbird.genome.coverage import (
    Spans,
    bins_mostly_covered,
    bins_touched,
    covered_bp,
    merge_spans,
)

COLUMNS = ("label", "group", "cell", "path")
EVERY_NAME = "*"
"""In the column `label`: one label for each distinct name in column 4 of the file."""


@dataclass(frozen=True)
class SheetRow:
    """One line of the sheet; paths are taken from the sheet's own folder if not absolute."""

    label: str
    group: str
    cell: str
    path: Path
    prefix: str
    line_number: int
    measured: Path | None = None
    """BED file of the regions where the labels were measured; None: everywhere."""

    @property
    def files(self) -> dict[str, Path]:
        """The files that the line names, by column."""
        return {"peaks": self.path, **({"measured": self.measured} if self.measured else {})}


@dataclass
class PeakLabel:
    """A label and where it is on; chromosomes are called as the genome calls them."""

    name: str
    group: str
    cell: str
    path: Path
    bins: dict[str, NDArray[np.int32]]
    """Numbers of the bins that the peaks cover by more than half, rising, by chromosome."""
    line_number: int = 0
    """Line of the sheet that names the file."""
    measured: Mapping[str, Spans] | None = None
    """Regions where it was measured, by chromosome; None: everywhere."""

    @property
    def positives(self) -> int:
        """How many bins have the label."""
        return sum(map(len, self.bins.values()))

    def leave_out_not_measured(self, bin_bp: int) -> int:
        """Leave out the bins where the label was not measured; return how many these are."""
        before = self.positives
        for chrom, bins in self.bins.items():
            self.bins[chrom] = bins[is_measured(self.measured, chrom, bins, bin_bp)]
        return before - self.positives


def read_sheet(path: Path) -> list[SheetRow]:
    """Read a tab-separated sheet: label, group, cell, path, and perhaps prefix and measured."""
    rows: list[SheetRow] = []
    header: list[str] = []
    seen: dict[tuple[str, Path], int] = {}
    for number, line in numbered_lines(path):
        if not line.strip() or line.startswith("#"):
            continue
        fields = [field.strip() for field in line.split("\t")]
        if not header:
            header = fields
            _check_header(header, f"{path}:{number}")
            continue
        row = _parse(header, fields, number, path)
        if (row.label, row.path) in seen:
            raise InputError(
                f"{path}:{number}: label {row.label!r} from {row.path.name} is already in "
                f"line {seen[row.label, row.path]}"
            )
        seen[row.label, row.path] = number
        rows.append(row)
    if not rows:
        raise InputError(f"{path}: no row in it; expected one line for each label")
    return rows


def _check_header(header: list[str], where: str) -> None:
    missing = [column for column in COLUMNS if column not in header]
    if missing:
        raise InputError(
            f"{where}: the header lacks {', '.join(missing)}; expected the tab-separated columns "
            f"{', '.join(COLUMNS)}"
        )


def _parse(header: list[str], fields: list[str], number: int, sheet: Path) -> SheetRow:
    where = f"{sheet}:{number}"
    values = dict(zip(header, [*fields, *[""] * (len(header) - len(fields))], strict=False))
    for column in ("label", "group", "path"):
        if not values[column]:
            raise InputError(
                f"{where}: nothing in the column {column}. Are there tabs between them?"
            )
    peaks, measured = (Path(sheet).parent / values.get(x, "") for x in ("path", "measured"))
    if not peaks.is_file():
        raise InputError(f"{where}: there is no file {peaks}")
    if values.get("measured") and not measured.is_file():
        raise InputError(f"{where}: there is no BED file of measured regions {measured}")
    return SheetRow(
        values["label"],
        values["group"],
        values["cell"],
        peaks,
        values.get("prefix", ""),
        number,
        measured if values.get("measured") else None,
    )


def read_regions(path: Path, genome: Genome, *, pieces: bool = False) -> dict[str, Spans]:
    """Return a BED file's merged intervals by the genome's chromosome names."""
    spans: dict[str, list[tuple[int, int]]] = {}
    seen: list[str] = []
    for row in iter_bed(path):
        seen.append(row.interval.chrom)
        chrom = genome.find(row.interval.chrom)
        if chrom is None:
            continue
        if row.interval.end > genome.lengths[chrom] and not pieces:
            raise beyond_error(row, genome, chrom, str(path))
        spans.setdefault(chrom, []).append((row.interval.start, row.interval.end))
    if seen and not spans:
        raise InputError(
            f"{path}: none of its chromosomes ({', '.join(list(dict.fromkeys(seen))[:5])}) is in "
            f"{genome.path.name} (it has {', '.join(list(genome.lengths)[:5])})"
        )
    return {chrom: merge_spans(*zip(*rows, strict=True)) for chrom, rows in spans.items()}


def measured_regions(
    sheet: Sequence[SheetRow], genome: Genome, *, pieces: bool
) -> dict[Path | None, dict[str, Spans]]:
    """Return the regions of each file that the column `measured` names."""
    regions: dict[Path | None, dict[str, Spans]] = {}
    for row in sheet:
        if row.measured is None or row.measured in regions:
            continue
        regions[row.measured] = read_regions(row.measured, genome, pieces=pieces)
        if not regions[row.measured]:
            raise InputError(
                f"{row.measured}: no region in it; expected those where label {row.label!r} was measured"
            )
    return regions


def is_measured(
    measured: Mapping[str, Spans] | None, chrom: str, bins: NDArray, bin_bp: int
) -> NDArray[np.bool_]:
    """Return which bins of a chromosome are inside the measured regions with all their bases."""
    if measured is None:
        return np.ones(len(bins), dtype=bool)
    nothing = np.empty(0, dtype=np.int64)
    first = bins.astype(np.int64) * bin_bp
    return covered_bp(measured.get(chrom, (nothing, nothing)), first, first + bin_bp) == bin_bp


def read_peaks(
    sheet: list[SheetRow], genome: Genome, bin_bp: int = 200, *, pieces: bool = False
) -> tuple[list[PeakLabel], dict[str, NDArray[np.bool_]], dict[str, int]]:
    """Merge the peaks of each label: labels, bins that share a base with any peak, and counts."""
    # Labels come in the order of the sheet, those of a `*` row by name; replicates stay two labels.
    labels: list[PeakLabel] = []
    with_peak: dict[str, NDArray[np.bool_]] = {}
    absent: Counter[str] = Counter()
    regions = measured_regions(sheet, genome, pieces=pieces)
    counts = {"peaks_read": 0, "left_out_chromosome_absent": 0, "left_out_beyond_the_piece": 0}
    for row in sheet:
        peaks = read_columns(row.path)
        if not len(peaks):
            raise InputError(f"{row.path}: no peak in it, so label {row.label!r} has no positive")
        if row.label == EVERY_NAME and (line := peaks.unnamed_line(row.path)):
            raise InputError(
                f"{row.path}:{line}: no name in column 4, from which the label '*' (row "
                f"{row.line_number} of the peak files) takes its labels"
            )
        kept, on_genome, gone, beyond = place_columns(peaks, genome, row.path, pieces=pieces)
        absent.update(gone)
        counts["peaks_read"] += len(peaks)
        counts["left_out_chromosome_absent"] += gone.total()
        counts["left_out_beyond_the_piece"] += beyond
        if row.label != EVERY_NAME:
            columns = [(row.prefix + row.label, np.arange(len(kept)))]
        else:
            name = peaks.name[kept]
            columns = [
                (row.prefix + peaks.names[i], np.flatnonzero(name == i))
                for i in np.unique(name).tolist()
            ]
        for label, some in sorted(columns, key=lambda x: x[0]):
            bins = _bins(peaks, kept[some], on_genome, genome, bin_bp, with_peak)
            of_row = (row.line_number, regions.get(row.measured))
            labels.append(PeakLabel(label, row.group, row.cell, row.path, bins, *of_row))
            if outside := labels[-1].leave_out_not_measured(bin_bp):
                counts["positives_not_measured"] = counts.get("positives_not_measured", 0) + outside
    note_absent("the peak files", genome, absent, "peaks")
    return labels, with_peak, counts


def _bins(
    peaks: BedColumns,
    rows: NDArray[np.int64],
    on_genome: list[str | None],
    genome: Genome,
    bin_bp: int,
    with_peak: dict[str, NDArray[np.bool_]],
) -> dict[str, NDArray[np.int32]]:
    """Return, by chromosome, the bins that some peaks cover by more than half; mark those touched."""
    rows_by_chrom: dict[str, list[NDArray[np.int64]]] = {}
    for i in np.unique(peaks.chrom[rows]).tolist():
        rows_by_chrom.setdefault(str(on_genome[i]), []).append(rows[peaks.chrom[rows] == i])
    bins = {}
    for chrom, parts in rows_by_chrom.items():  # one file may use both `1` and `chr1`
        here = np.concatenate(parts)
        merged = merge_spans(peaks.start[here], peaks.end[here])
        length = genome.lengths[chrom]
        bins[chrom] = bins_mostly_covered(merged, bin_bp, length).astype(np.int32)
        flags = with_peak.setdefault(chrom, np.zeros(-(-length // bin_bp), dtype=bool))
        flags[bins_touched(merged, bin_bp)] = True
    return bins


_BED = re.compile(r"\.(bed\d*|(narrow|broad|gapped)peak)(\.b?gz)?$", re.IGNORECASE)
GROUP = "peaks"
"""Group of the labels."""
_SIGNAL = re.compile(r"\.(bedgraph|bdg|bg|wig)(\.b?gz)?$", flags=re.IGNORECASE)
_ENDING = re.compile(
    r"\.(b?gz|bed|bed\d+|(narrow|broad|gapped)peak|peaks?|txt|tsv|bedgraph|bdg|bg|bw|bigwig)$",
    re.IGNORECASE,
)


def peak_rows(peaks: Sequence[Path] | Path) -> list[SheetRow]:
    """Return the rows of one sheet, or a row per peak file (`CTCF=peaks.bed` names its label)."""
    paths = [peaks] if isinstance(peaks, Path) else list(peaks)
    if not paths:
        raise InputError("--peaks: no file; name one peak file per label, or a sheet of them")
    if len(paths) == 1 and not is_named(paths[0]) and not _is_bed(paths[0]):
        return read_sheet(paths[0])
    rows = named_rows(paths, GROUP, "--peaks")
    for path in (row.path for row in rows):
        if _SIGNAL.search(path.name):
            raise InputError(
                f"--peaks {path}: a signal track, in which every row would be a peak; expected called peaks (BED, "
                "narrowPeak, broadPeak), for example of MACS"
            )
        if not _has_peaks(path):
            raise InputError(
                f"--peaks {path}: expected BED rows (chromosome, start, end), plain or gzip; delete a row "
                "with column names. A sheet of peak files is given alone"
            )
    return rows


def named_rows(paths: Sequence[Path], group: str, option: str) -> list[SheetRow]:
    """Return a row per file, `NAME=FILE` or a file whose name gives the label, of an option."""
    labels: dict[str, Path] = {}
    for text in paths:
        label, path = _label_and_path(text, option)
        if not path.is_file():
            raise InputError(f"{option} {path}: no such file")
        if label in labels:
            raise InputError(
                f"{option}: {labels[label]} and {path} both make the label {label!r}; give each its own "
                f"name: {option} NAME=FILE"
            )
        labels[label] = path
    return [
        SheetRow(label, group, "", path, "", number)
        for number, (label, path) in enumerate(labels.items(), start=1)
    ]


def label_of(path: Path) -> str:
    """Return the label that a file's name gives.

    Example:
        >>> label_of(Path("data/K562_CTCF.narrowPeak.gz")), label_of(Path("H3K4me3.rep1.bed"))
        ('K562_CTCF', 'H3K4me3.rep1')
    """
    name = path.name
    while (shorter := _ENDING.sub("", name)) not in (name, ""):
        name = shorter
    return name


def is_named(path: Path) -> bool:
    """Return True for `NAME=FILE`."""
    return not path.exists() and "=" in str(path)


def _label_and_path(text: Path, option: str) -> tuple[str, Path]:
    if not is_named(text):
        return label_of(text), text
    words = str(text).split("=")
    splits = [("=".join(words[:i]), "=".join(words[i:])) for i in range(1, len(words))]
    label, path = next((x for x in splits if Path(x[1].strip()).is_file()), splits[0])
    if not label.strip() or not path.strip():
        raise InputError(f"{option} {text}: expected NAME=FILE")
    return label.strip(), Path(path.strip())


def _is_bed(path: Path) -> bool:
    """Return True if a file has peaks, or a name such as x.bed.gz."""
    return _has_peaks(path) or bool(_BED.search(path.name))


def _has_peaks(path: Path) -> bool:
    """Return True if the first row of a file has a chromosome, a start and an end."""
    for _, line in numbered_lines(path):
        if line.strip() and not line.startswith(("#", "track", "browser")):
            fields = line.split()
            return len(fields) >= 3 and None not in map(whole_number, fields[1:3])
    return False
