"""The index of a FASTA file: where every record starts and how long its lines are."""

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pysam

from dna_bigbird.errors import InputError, shortened
from dna_bigbird.files import open_binary
from dna_bigbird.genome.fasta_pieces import read_pieces

_END_BYTES = 1 << 16


class IndexEntry(NamedTuple):
    """One record, as a line of a `.fai` file gives it."""

    length: int
    """Bases."""
    offset: int
    """Byte of the first base in the (unpacked) file."""
    line_bases: int
    line_bytes: int
    """Bytes of a full line with its end."""

    def byte(self, base: int) -> int:
        """Return where in the file a base stands, counted from 0."""
        line, column = divmod(base, self.line_bases)
        return self.offset + line * self.line_bytes + column


def index_of(path: Path) -> dict[str, IndexEntry]:
    """Return the index of a plain FASTA file, made and put beside it if missing or out of date.

    In a folder that cannot be written to it is made for this process alone.

    Raises:
        InputError: As `read_pieces`; if the file holds NUL bytes or lines of unequal length.
    """
    beside = Path(f"{path}.fai")
    with contextlib.suppress(OSError, ValueError):
        if beside.stat().st_mtime_ns >= path.stat().st_mtime_ns:
            entries = _parse(beside)
            if _fits(entries, path):
                return entries
    with tempfile.TemporaryDirectory() as folder:
        made = Path(os.fsdecode(folder)) / beside.name  # pybedtools makes it bytes
        _make(path, "--fai-idx", str(made))
        _put_beside(made, beside)
        return _parse(made)


@contextlib.contextmanager
def packed_indices(path: Path) -> Iterator[tuple[Path, Path]]:
    """Yield the two index files (`.fai`, `.gzi`) of a bgzip FASTA file, as `index_of` does."""
    beside = (Path(f"{path}.fai"), Path(f"{path}.gzi"))
    modified = path.stat().st_mtime_ns
    if all(x.is_file() and x.stat().st_mtime_ns >= modified for x in beside):
        yield beside
        return
    with tempfile.TemporaryDirectory() as folder:
        made = tuple(Path(os.fsdecode(folder)) / x.name for x in beside)
        _make(path, "--fai-idx", str(made[0]), "--gzi-idx", str(made[1]))
        for here, there in zip(made, beside, strict=True):
            _put_beside(here, there)
        yield made


def _make(path: Path, *options: str) -> None:
    """Have htslib write an index.

    It passes over records of an equal name and names no line, so that the file is read once before.
    """
    for piece in read_pieces(path):
        if b"\0" in piece.letters:
            raise InputError(
                f"{path}:{piece.line}: record {shortened(piece.name)!r} has NUL bytes; expected DNA. "
                "Is the file damaged, or binary?"
            )
    verbosity = pysam.set_verbosity(0)  # or it prints lines of its own
    try:
        pysam.faidx(str(path), *options)
    except pysam.SamtoolsError as error:
        raise InputError(_unequal_lines(path)) from error
    finally:
        pysam.set_verbosity(verbosity)


def _parse(fai: Path) -> dict[str, IndexEntry]:
    rows = (line.split("\t") for line in fai.read_text(encoding="utf-8").strip().split("\n"))
    entries = {
        name: IndexEntry(int(length), int(offset), int(line_bases), int(line_bytes))
        for name, length, offset, line_bases, line_bytes, *_ in rows
    }
    if not all(x.length > 0 and 0 < x.line_bases < x.line_bytes for x in entries.values()):
        raise ValueError("an entry without bases")
    return entries


def _fits(entries: dict[str, IndexEntry], path: Path) -> bool:
    """Tell whether the file starts with the first record of an index and ends with the last."""
    if not entries:
        return False
    first_name, first = min(entries.items(), key=lambda item: item[1].offset)
    last = max(entries.values(), key=lambda entry: entry.offset)
    end = last.byte(last.length - 1) + 1
    with open(path, "rb") as stream:
        header = stream.read(min(first.offset, _END_BYTES))
        stream.seek(end - 1)
        rest = stream.read(_END_BYTES)
    return (
        header.lstrip()[1:].split()[:1] == [first_name.encode()]
        and rest[:1].isalpha()
        and not rest[1:].strip()
    )


def _put_beside(made: Path, beside: Path) -> None:
    """Copy an index beside its file, whole or not at all; leave it where that is not allowed."""
    partial = beside.with_name(f".{beside.name}.{os.getpid()}.partial")
    with contextlib.suppress(OSError):
        try:
            shutil.copyfile(made, partial)
            partial.replace(beside)
        finally:
            partial.unlink(missing_ok=True)


def _unequal_lines(path: Path) -> str:
    """Say which line does not let a record be read at random."""
    advice = "A genome is read at random; rewrite it: dna-bigbird genome --help"
    width, is_over = 0, False
    with open_binary(path) as stream:
        for number, line in enumerate(stream, start=1):
            letters = len(line.rstrip())
            if line.startswith(b">"):
                width, is_over = 0, False
            elif letters > (0 if is_over else width or letters):
                return (
                    f"{path}:{number}: this line has {letters:,} letters, and lines before it in "
                    f"its record have {width:,}, or fewer; expected lines of one length. {advice}"
                )
            else:
                width = width or letters
                is_over = letters < width
    return f"{path}: its lines end in more than one way, or in CR alone. {advice}"
