"""The sample sheet: which peak file makes which chromatin label."""

from dataclasses import dataclass
from pathlib import Path

from dna_bigbird.errors import InputError
from dna_bigbird.files import open_text
from dna_bigbird.genome import Genome
from dna_bigbird.genome.bed import place, read_bed
from dna_bigbird.genome.coverage import Spans, merge_spans

COLUMNS = ("label", "group", "cell", "path")
EVERY_NAME = "*"
"""In the column `label`: one label for each distinct name in column 4 of the file."""


@dataclass(frozen=True)
class SheetRow:
    """One line of the sheet; `path` is taken from the sheet's own folder if not absolute."""

    label: str
    group: str
    cell: str
    path: Path
    prefix: str
    line_number: int


@dataclass
class PeakLabel:
    """A label and its merged peaks by chromosome (as the genome names it)."""

    name: str
    group: str
    path: Path
    spans: dict[str, Spans]


def read_sheet(path: Path) -> list[SheetRow]:
    """Read a tab-separated sheet with the columns label, group, cell, path, and perhaps prefix.

    Other columns are ignored, as are blank lines and lines that start with `#`.

    Raises:
        InputError: Naming file and line, for missing columns or values, a peak file that is not
            there, or the same label and file twice.
    """
    rows: list[SheetRow] = []
    header: list[str] = []
    seen: dict[tuple[str, Path], int] = {}
    with open_text(path) as text:
        for number, raw in enumerate(text, start=1):
            line = raw.rstrip("\r\n")
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
                    f"{path}:{number}: label {row.label!r} from {row.path.name} already stands in "
                    f"line {seen[row.label, row.path]}"
                )
            seen[row.label, row.path] = number
            rows.append(row)
    if not rows:
        raise InputError(f"{path}: no peak file in it; expected one line for each label")
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
    peaks = Path(sheet).parent / values["path"]
    if not peaks.is_file():
        raise InputError(f"{where}: there is no peak file {peaks}")
    prefix = values.get("prefix", "")
    return SheetRow(values["label"], values["group"], values["cell"], peaks, prefix, number)


def read_peaks(
    sheet: list[SheetRow], genome: Genome, *, pieces: bool = False
) -> tuple[list[PeakLabel], dict[str, int]]:
    """Read all peak files and merge the peaks of each label.

    Labels come in the order of the sheet; those of a `*` row sorted by name. Two rows may give
    labels of one name (replicates): they stay two labels.

    Returns:
        The labels, and counts of peaks read and left out (see `genome.bed.place`).

    Raises:
        InputError: Naming file and line, for a bad row, a peak beyond its chromosome, or a file
            of which no peak is on the genome.
    """
    labels: list[PeakLabel] = []
    counts = {"peaks_read": 0, "left_out_chromosome_absent": 0, "left_out_beyond_the_piece": 0}
    for row in sheet:
        peaks = read_bed(row.path)
        if not peaks:
            raise InputError(f"{row.path}: no peak in it, so label {row.label!r} has no positive")
        placed = place(peaks, genome, row.path, pieces=pieces)
        counts["peaks_read"] += len(peaks)
        counts["left_out_chromosome_absent"] += placed.absent
        counts["left_out_beyond_the_piece"] += placed.beyond
        found: dict[str, dict[str, list[tuple[int, int]]]] = {}
        for peak in placed.rows:
            if row.label != EVERY_NAME:
                name = row.prefix + row.label
            elif peak.name in (".", ""):
                raise InputError(
                    f"{row.path}:{peak.line_number}: no name in column 4, from which the sheet's "
                    f"line {row.line_number} (label '*') takes its labels"
                )
            else:
                name = row.prefix + peak.name
            span = (peak.interval.start, peak.interval.end)
            found.setdefault(name, {}).setdefault(peak.interval.chrom, []).append(span)
        for name in sorted(found):
            spans = {c: merge_spans(*zip(*p, strict=True)) for c, p in found[name].items()}
            labels.append(PeakLabel(name, row.group, row.path, spans))
    return labels, counts
