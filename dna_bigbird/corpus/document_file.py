"""Documents as a BED12 file: one line per document, its blocks are the sentences."""

import gzip
import io
import operator
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

from dna_bigbird.core.errors import InputError
from dna_bigbird.core.files import LONGEST_LINE, numbered_lines
from dna_bigbird.core.plain_numbers import whole_number
from dna_bigbird.core.writing import atomic_path
from dna_bigbird.corpus.documents import Document
from dna_bigbird.genome import Interval

_NUMBERS = re.compile(r"[0-9]{1,18}(,[0-9]{1,18})*,?")


def write_documents(path: Path, documents: Iterable[Document], comments: Iterable[str] = ()) -> int:
    """Write BED12 (gzip, no time stamp), one line per document, its blocks the sentences.

    Blocks are in genomic order on either strand, as BED requires. Returns the number of documents.

    Args:
        comments: Lines above the documents, each with '#' in front and its line end
            (`corpus.document_genome.genome_lines`).
    """
    number = 0
    with (
        atomic_path(path) as temporary,
        open(temporary, "wb") as raw,
        # Level 9 takes eight times as long and saves a tenth of the bytes.
        gzip.GzipFile(filename="", mode="wb", fileobj=raw, mtime=0, compresslevel=1) as packed,
        io.TextIOWrapper(packed, encoding="ascii", newline="\n") as stream,
    ):
        stream.writelines(comments)
        for number, document in enumerate(documents, start=1):
            stream.write(_bed12(document, number))
    return number


def _bed12(document: Document, number: int) -> str:
    interval, ends = document.interval, document.sentence_ends
    starts = [0, *ends[:-1]]
    sizes = list(map(operator.sub, ends, starts))
    # The text of a list is the fastest way to write many numbers.
    blocks = f"{repr(sizes)[1:-1]}\t{repr(starts)[1:-1]}".replace(" ", "")
    return (
        f"{interval.chrom}\t{interval.start}\t{interval.end}\tdocument{number}\t0\t{interval.strand}\t"
        f"{interval.start}\t{interval.end}\t0\t{len(ends)}\t{blocks}\n"
    )


def iter_document_file(path: Path) -> Iterator[Document]:
    """Read what `write_documents` wrote, line by line.

    Raises:
        InputError: Naming file and line, if a line is not BED12 or its blocks do not tile it.
    """
    for number, line in numbered_lines(path, LONGEST_LINE):
        if line.strip() and not line.startswith(("#", "track", "browser")):
            yield _parse_bed12(line, f"{path}:{number}")


def read_documents(path: Path) -> list[Document]:
    """Return all documents of a file (see `iter_document_file`).

    Raises:
        InputError: Also if the file has none.
    """
    documents = list(iter_document_file(path))
    if not documents:
        raise InputError(f"{path}: no document in it; make one with: dna-bigbird documents --help")
    return documents


def _parse_bed12(line: str, where: str) -> Document:
    fields = line.split()
    if len(fields) != 12:
        raise InputError(
            f"{where}: {len(fields)} columns; documents are BED12, as dna-bigbird documents writes"
        )
    start, end = whole_number(fields[1]), whole_number(fields[2])
    if start is None or end is None or not all(map(_NUMBERS.fullmatch, fields[10:])):
        raise InputError(
            f"{where}: expected whole numbers of at most 18 digits in the columns 2, 3, 11 and 12 of BED12"
        )
    sizes, starts = (np.array(text.rstrip(",").split(","), dtype=np.int64) for text in fields[10:])
    ends = np.cumsum(sizes)
    tiles = len(starts) == len(sizes) and (ends - sizes == starts).all() and (sizes > 0).all()
    if not (tiles and ends[-1] == end - start and str(len(sizes)) == fields[9]):
        raise InputError(f"{where}: the sentences (blocks) do not tile {start}-{end} without holes")
    if fields[5] not in ("+", "-"):
        raise InputError(f"{where}: strand is {fields[5]!r}; expected '+' or '-'")
    return Document(Interval(fields[0], start, end, fields[5]), tuple(ends.tolist()))
