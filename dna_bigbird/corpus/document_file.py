"""Documents as a BED12 file: one line per document, its blocks are the sentences."""

import gzip
import io
import operator
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from dna_bigbird.core.errors import InputError, note, shortened
from dna_bigbird.core.files import LONGEST_LINE, numbered_lines
from dna_bigbird.core.plain_numbers import whole_number
from dna_bigbird.core.writing import atomic_path
from dna_bigbird.corpus.documents import Document
from dna_bigbird.genome import Genome, Interval
from dna_bigbird.genome.fasta_stream import sequence_sha256

# The genome of a file of documents: comment lines that name the sequences it was drawn from.
#
# A document is coordinates alone, and another genome of the same lengths would give other text. So
# the file begins with a line for each chromosome that has documents, which BED readers skip:
#
#     #genome sequence chr22 length 21000000 sha256
#     #5f70bf18a086007016e948b04aed3b82103a36bea41755b6cddfaf10ace3c6ef

_MARK = "#genome sequence "


class Recorded(NamedTuple):
    """A chromosome as a file of documents describes it."""

    line_number: int
    length: int
    sha256: str


def genome_lines(genome: Genome, chroms: Iterable[str]) -> Iterator[str]:
    """Yield the comment line of each chromosome, with its line end."""
    for chrom in chroms:
        length = genome.lengths[genome.resolve(chrom)]
        yield f"{_MARK}{chrom} length {length} sha256 {sequence_sha256(genome, chrom)}\n"


def check_documents(path: Path, genome: Genome) -> dict[str, str | None]:
    """Compare the genome that documents were drawn from; return the checksum of each chromosome."""
    # None where the file (of an earlier version, noted) says nothing to compare it with. Files that
    # were joined may have several such lines for a chromosome; all are compared.
    recorded, chroms = _read(path)
    checksums: dict[str, str | None] = dict.fromkeys(chroms)
    for chrom, entry in recorded:
        length = genome.lengths[genome.resolve(chrom)]
        if entry.length != length:
            problem = (
                f"{chrom} had {entry.length:,} bp, and has {length:,} bp in {genome.path.name}"
            )
            raise _other_genome(path, entry, problem)
        checksums[chrom] = checksums.get(chrom) or sequence_sha256(genome, chrom)
        if entry.sha256 != checksums[chrom]:
            problem = f"{chrom} has other bases in {genome.path.name}, though it is as long"
            raise _other_genome(path, entry, problem)
    unknown = [chrom for chrom in chroms if checksums[chrom] is None]
    if unknown:
        note(
            f"{path}: does not say from which genome its documents on {shortened(unknown[0])} were drawn (an "
            f"earlier version wrote it); whether that was {genome.path.name} is not checked"
        )
    return {chrom: checksums[chrom] for chrom in chroms}


def _read(path: Path) -> tuple[list[tuple[str, Recorded]], list[str]]:
    """Return the comment lines, and the chromosomes of the documents in the order of the file."""
    recorded: list[tuple[str, Recorded]] = []
    chroms: dict[str, None] = {}
    for number, line in numbered_lines(path, LONGEST_LINE):
        if line.startswith(_MARK):
            recorded.append(_parse(line, number, path))
        elif line.strip() and not line.startswith(("#", "track", "browser")):
            chroms[line.split(maxsplit=1)[0]] = None
    return recorded, list(chroms)


def _parse(line: str, number: int, path: Path) -> tuple[str, Recorded]:
    words = line.split()
    length = whole_number(words[4]) if len(words) == 7 else None
    if length is None or words[3::2] != ["length", "sha256"]:
        raise InputError(
            f"{path}:{number}: expected '{_MARK}NAME length BP sha256 CHECKSUM'. Draw the documents "
            "again: dna-bigbird documents"
        )
    return words[2], Recorded(number, length, words[6])


def _other_genome(path: Path, entry: Recorded, problem: str) -> InputError:
    return InputError(
        f"{path}:{entry.line_number}: the documents were drawn from another genome: {problem}. Use the "
        "FASTA that they were drawn from, or draw them again: dna-bigbird documents"
    )


_NUMBERS = re.compile(r"[0-9]{1,18}(,[0-9]{1,18})*,?")


def write_documents(path: Path, documents: Iterable[Document], comments: Iterable[str] = ()) -> int:
    """Write BED12 (gzip, no time stamp), a line per document; return how many."""
    # Its blocks are the sentences, in genomic order on either strand, as BED requires.
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
    """Read what `write_documents` wrote, line by line."""
    for number, line in numbered_lines(path, LONGEST_LINE):
        if line.strip() and not line.startswith(("#", "track", "browser")):
            yield _parse_bed12(line, f"{path}:{number}")


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
