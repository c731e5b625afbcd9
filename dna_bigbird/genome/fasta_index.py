"""The index of a FASTA file: where every record starts and how long its lines are."""

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from dna_bigbird.core.errors import InputError, shortened
from dna_bigbird.core.files import open_binary
from dna_bigbird.genome.fasta_pieces import read_pieces
from dna_bigbird.genome.index_check import IndexEntry, fits_packed, fits_plain

_VISIBLE = bytes(range(0x21, 0x7F))
"""What htslib counts as bases."""


def index_of(path: Path) -> dict[str, IndexEntry]:
    """Return the index of a plain FASTA file; written next to the file if missing or wrong.

    An index that fits the file stays, also one made by another program. One that is older than its
    file is compared with a new one and stays if both say the same. In a folder that cannot be
    written to a new index is for this process alone.

    Raises:
        InputError: As `read_pieces`; if the file has bytes other than letters, or lines of unequal length.
    """
    beside = Path(f"{path}.fai")
    entries = parsed_or_empty(beside)
    fits = bool(entries) and fits_plain(entries, path)
    if fits and _is_newer(beside, path):
        return entries
    with tempfile.TemporaryDirectory() as folder:
        new = Path(os.fsdecode(folder)) / beside.name  # pybedtools makes it bytes
        _make(path, new)
        _replace_if_other(new, beside)
        return _parse(new)


@contextlib.contextmanager
def packed_indices(path: Path) -> Iterator[tuple[Path, Path]]:
    """Yield the two index files (`.fai`, `.gzi`) of a bgzip FASTA file, as `index_of` does."""
    beside = (Path(f"{path}.fai"), Path(f"{path}.gzi"))
    entries = parsed_or_empty(beside[0])
    if (
        entries
        and all(x.is_file() and _is_newer(x, path) for x in beside)
        and fits_packed(entries, path, beside[1])
    ):
        yield beside
        return
    with tempfile.TemporaryDirectory() as folder:
        new = tuple(Path(os.fsdecode(folder)) / x.name for x in beside)
        _make(path, new[0], "--gzi-idx", str(new[1]))
        for here, there in zip(new, beside, strict=True):
            _replace_if_other(here, there)
        yield new


def _is_newer(index: Path, path: Path) -> bool:
    return index.stat().st_mtime_ns >= path.stat().st_mtime_ns


def parsed_or_empty(fai: Path) -> dict[str, IndexEntry]:
    """Return the entries of an index; none if it is missing or damaged."""
    with contextlib.suppress(OSError, ValueError):
        return _parse(fai)
    return {}


def _replace_if_other(new: Path, beside: Path) -> None:
    """Write a new index next to its file; if the old one says the same, only its time is renewed."""
    is_same = False
    with contextlib.suppress(OSError):
        is_same = beside.read_bytes() == new.read_bytes()
        if is_same:
            os.utime(beside)
    if not is_same:
        _put_beside(new, beside)


def _make(path: Path, fai: Path, *options: str) -> None:
    """Have htslib write an index.

    It skips records of an equal name, names no line and takes CR alone for no end of one, so that the file is read
    once before and the index compared with what was read.
    """
    import pysam

    lengths = {}
    for piece in read_pieces(path):
        lengths[piece.name] = piece.start + len(piece.letters)
        if foreign := piece.letters.translate(None, _VISIBLE):
            what = "NUL bytes" if 0 in foreign else f"bytes such as 0x{foreign[0]:02x}"
            raise InputError(
                f"{path}:{piece.line}: record {shortened(piece.name)!r} has {what}; expected DNA. "
                "Is the file damaged, or binary?"
            )
    verbosity = pysam.set_verbosity(0)  # or it prints lines of its own
    try:
        pysam.faidx(*map(os.fsencode, (path, "--fai-idx", fai, *options)))
    except pysam.SamtoolsError as error:
        raise InputError(_unequal_lines(path)) from error
    finally:
        pysam.set_verbosity(verbosity)
    if {name: entry.length for name, entry in parsed_or_empty(fai).items()} != lengths:
        raise InputError(_unequal_lines(path))


def _parse(fai: Path) -> dict[str, IndexEntry]:
    rows = (line.split("\t") for line in fai.read_text(encoding="utf-8").strip().split("\n"))
    entries = {
        name: IndexEntry(int(length), int(offset), int(line_bases), int(line_bytes))
        for name, length, offset, line_bases, line_bytes, *_ in rows
    }
    if not all(x.length > 0 and 0 < x.line_bases < x.line_bytes for x in entries.values()):
        raise ValueError("an entry without bases")
    return entries


def _put_beside(index: Path, beside: Path) -> None:
    """Copy an index next to its file, whole or not at all; leave it where that is not allowed."""
    partial = beside.with_name(f".{beside.name}.{os.getpid()}.partial")
    with contextlib.suppress(OSError):
        try:
            shutil.copyfile(index, partial)
            partial.replace(beside)
        finally:
            partial.unlink(missing_ok=True)


def _unequal_lines(path: Path) -> str:
    """Return which line does not let a record be read at random."""
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
