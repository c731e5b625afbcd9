"""The text files of the DeepSEA bundle: its labels, and `allTFs.pos.bed`, the coordinates of its rows.

The coordinates are published as an archive of their own. The file is taken from inside the bundle's folder or from next to it, plain, gzip or still packed.
"""

import gzip
import lzma
import shutil
import tarfile
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from dna_bigbird.core.archive_checks import tar_stream
from dna_bigbird.core.errors import InputError
from dna_bigbird.core.files import is_gzip, numbered_lines

# The 919 labels of DeepSEA: name, group, cell, target. The column is the key: names repeat.

GROUPS = (("DHS", 0, 125), ("TF", 125, 815), ("HM", 815, 919))
"""Columns [start, end) of each group, counted from 0 (Zhou and Troyanskaya 2015)."""


class Label(NamedTuple):
    """One column of the labels."""

    name: str
    group: str
    cell: str
    target: str


def read_labels(path: Path) -> list[Label]:
    """Read the 919 label names in the order of the columns: one per line, or a table with groups."""
    lines = [line.rstrip("\n") for _, line in numbered_lines(path)]
    while lines and not lines[-1].strip():
        lines.pop()
    if lines and "\t" in lines[0]:
        return _from_table(path, [line.split("\t") for line in lines])
    names = [line.strip() for line in lines]
    expected = GROUPS[-1][-1]
    if len(names) != expected:
        raise InputError(
            f"{path}: {len(names)} lines, expected {expected}, one name each. For other labels "
            "give a tab-separated table with the columns label, group, cell"
        )
    groups = [group for group, start, end in GROUPS for _ in range(start, end)]
    known = _cells(names)
    return [
        Label(name, group, *_parts(name, known)) for name, group in zip(names, groups, strict=True)
    ]


def _from_table(path: Path, rows: list[list[str]]) -> list[Label]:
    header, *rows = rows
    missing = [name for name in ("label", "group", "cell") if name not in header]
    if missing:
        raise InputError(f"{path}:1: the header lacks {', '.join(missing)}")
    labels = []
    for number, row in enumerate(rows, start=2):
        cells = {key: value.strip() for key, value in zip(header, row, strict=False)}
        name, group, cell = (cells.get(key, "") for key in ("label", "group", "cell"))
        if not name or not group:
            raise InputError(f"{path}:{number}: no label or no group; expected both")
        labels.append(Label(name, group, cell, _parts(name, {cell})[1]))
    return labels


def _cells(names: list[str]) -> set[str]:
    """Return the cells of the DNase labels: those whose name has a `_` are not seen otherwise."""
    return {name.partition("_DNase_")[0] for name in names if "_DNase_" in name}


def _parts(name: str, known_cells: set[str]) -> tuple[str, str]:
    """Return the cell and the target of `cell_target_treatment`; the treatment may hold a `_`."""
    fits = [cell for cell in known_cells if cell and name.startswith(f"{cell}_")]
    cell = max(fits, key=len, default=name.partition("_")[0])
    return cell, name[len(cell) + 1 :].partition("_")[0]


BED = "allTFs.pos.bed"
ARCHIVE = f"{BED}.tar.gz"
NAMES = (BED, f"{BED}.gz", ARCHIVE)
ADDRESS = f"http://deepsea.princeton.edu/media/code/{ARCHIVE}"
"""As data_specs/deepsea_train_coordinates.yaml has it."""
_MAX_BYTES = 1 << 30
"""The published file has some 2.6 million lines, below 100 MB."""
_DAMAGED = (
    *(tarfile.TarError, EOFError, ValueError),
    *(gzip.BadGzipFile, zlib.error, lzma.LZMAError),
)
"""What a damaged archive raises; ValueError for a header that is not a number or a text."""


def find_coordinates(bundle: Path) -> Path:
    """Return the coordinates in the folder of a bundle or next to it, the first of `NAMES`."""
    candidates = [folder / name for folder in (bundle, bundle.absolute().parent) for name in NAMES]
    for path in candidates:
        if path.is_file():
            return path
    raise InputError(
        f"{bundle}: no {BED} in this folder or next to it (plain, .gz or .tar.gz). It is published "
        f"apart from the bundle: download {ADDRESS} into the folder, or name your copy "
        "(--row_coordinates; in a config `inputs: deepsea_coordinates`)"
    )


@contextmanager
def unpacked_coordinates(path: Path) -> Iterator[Path]:
    """Yield the BED file: `path`, or that of a tar archive, which errors of the block name."""
    if not _is_archive(path):
        yield path
        return
    with tempfile.TemporaryDirectory() as folder:
        bed = Path(folder) / BED
        _unpack(path, bed)
        try:
            yield bed
        except InputError as error:
            raise InputError(str(error).replace(str(bed), f"{path}, {BED}")) from error


@contextmanager
def _opened(archive: Path) -> Iterator[tarfile.TarFile]:
    """Open an archive; no header of it may be larger than `LARGEST_HEADER` of `archive_checks`."""
    with open(archive, "rb") as raw, tarfile.TarFile(fileobj=tar_stream(raw)) as members:
        yield members


def _is_archive(path: Path) -> bool:
    """Return True for a tar archive, and for a damaged file that has the name of one."""
    is_named_so = path.name.endswith((".tar.gz", ".tgz"))
    try:
        with _opened(path):
            return True
    except tarfile.TarError:
        return is_named_so and is_gzip(path)
    except _DAMAGED:
        return is_named_so
    except OSError:
        return False  # the reader of the file reports why it cannot be read


def _unpack(archive: Path, bed: Path) -> None:
    try:
        with _opened(archive) as members:
            for member in members:
                if Path(member.name).name == BED and member.isreg() and not member.issparse():
                    if member.size > _MAX_BYTES:
                        raise InputError(
                            f"{archive}: {BED} in it has {member.size:,} bytes; expected less than "
                            f"{_MAX_BYTES:,}. Is this the published archive?"
                        )
                    with open(bed, "wb") as output:
                        shutil.copyfileobj(members.extractfile(member), output)
                    while members.fileobj.read(1 << 20):  # the checksum of gzip is at the end
                        pass
                    return
    except _DAMAGED as error:
        raise InputError(
            f"{archive}: cannot read it as a tar archive ({' '.join(str(error).split())}). "
            "Copy it again"
        ) from error
    raise InputError(f"{archive}: no {BED} in this archive. Download {ADDRESS}")
