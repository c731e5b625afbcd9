"""Peak files named one by one, each a label, in place of a sample sheet."""

import re
from collections.abc import Sequence
from pathlib import Path

from dna_bigbird.core.errors import InputError
from dna_bigbird.core.files import numbered_lines
from dna_bigbird.core.plain_numbers import whole_number
from dna_bigbird.labelled.chromatin.peak_sheet import SheetRow, read_sheet

_BED = re.compile(r"\.(bed\d*|(narrow|broad|gapped)peak)(\.b?gz)?$", re.IGNORECASE)
GROUP = "peaks"
"""Group of the labels."""
_ENDING = re.compile(
    r"\.(b?gz|bed|bed\d+|(narrow|broad|gapped)peak|peaks?|txt|tsv)$", re.IGNORECASE
)


def peak_rows(peaks: Sequence[Path] | Path) -> list[SheetRow]:
    """Return the rows of a sample sheet, or a row for each of some peak files.

    Args:
        peaks: One sheet, or peak files; `CTCF=peaks.bed` names the label, else the file's name does.

    Raises:
        InputError: As `read_sheet`; for a missing file, two files of one label, or a sheet among
            peak files.
    """
    paths = [peaks] if isinstance(peaks, Path) else list(peaks)
    if not paths:
        raise InputError("--peaks: no file; name one peak file per label, or a sheet of them")
    if len(paths) == 1 and not _is_named(paths[0]) and not _is_bed(paths[0]):
        return read_sheet(paths[0])
    rows: list[SheetRow] = []
    labels: dict[str, Path] = {}
    for number, text in enumerate(paths, start=1):
        label, path = _label_and_path(text)
        if not path.is_file():
            raise InputError(f"--peaks {path}: no such peak file")
        if not _has_peaks(path):
            raise InputError(
                f"--peaks {path}: expected BED rows (chromosome, start, end), plain or gzip; delete a row "
                "with column names. A sheet of peak files is given alone"
            )
        if label in labels:
            raise InputError(
                f"--peaks: {labels[label]} and {path} both make the label {label!r}; give each its own "
                "name: --peaks NAME=FILE"
            )
        labels[label] = path
        rows.append(SheetRow(label, GROUP, "", path, "", number))
    return rows


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


def _is_named(path: Path) -> bool:
    return not path.exists() and "=" in str(path)


def _label_and_path(text: Path) -> tuple[str, Path]:
    if not _is_named(text):
        return label_of(text), text
    words = str(text).split("=")
    splits = [("=".join(words[:i]), "=".join(words[i:])) for i in range(1, len(words))]
    label, path = next((x for x in splits if Path(x[1].strip()).is_file()), splits[0])
    if not label.strip() or not path.strip():
        raise InputError(f"--peaks {text}: expected NAME=FILE")
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
