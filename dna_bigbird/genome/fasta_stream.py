"""FASTA read from front to back as DNA, in pieces or by whole records."""

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from dna_bigbird.core.errors import InputError, shortened
from dna_bigbird.core.files import shown_name
from dna_bigbird.genome.alphabet import NotDnaError, normalise, normalise_bytes
from dna_bigbird.genome.fasta import Genome
from dna_bigbird.genome.fasta_pieces import FastaPiece, read_pieces
from dna_bigbird.genome.interval import Interval

_AT_ONCE_BP = 1 << 24


def sequence_sha256(genome: Genome, chrom: str) -> str:
    """Return the SHA-256 of a chromosome over A C G T N, however the file is written."""
    digest = hashlib.sha256()
    length = genome.lengths[genome.resolve(chrom)]
    for start in range(0, length, _AT_ONCE_BP):
        piece = Interval(chrom, start, min(length, start + _AT_ONCE_BP))
        digest.update(genome.fetch(piece).encode("ascii"))
    return digest.hexdigest()


def combined_sha256(sequences: Mapping[str, str]) -> str:
    """Return one checksum for several chromosomes (`sequence_sha256` by name), in any order.

    Example:
        >>> combined_sha256({"chr2": "b", "chr1": "a"}) == combined_sha256({"1": "a", "2": "b"})
        True
    """
    lines = sorted(
        f"{chrom.removeprefix('chr')}\t{sha256}\n" for chrom, sha256 in sequences.items()
    )
    return hashlib.sha256("".join(lines).encode()).hexdigest()


MAX_AMBIGUOUS_SHARE = 0.5
"""More letters than this that are IUPAC codes other than N, and the record is taken for protein."""


@dataclass(frozen=True)
class FastaRecord:
    """One record: the first word of its header, its raw letters, the header's line from 1."""

    name: str
    letters: str
    line: int
    fasta: Path | str | None = None
    """The FASTA file that it is in; None: all its letters are in `line` of another file."""


def read_fasta(path: Path | str) -> Iterator[FastaRecord]:
    """Yield whole records, each in memory; otherwise as `read_pieces`."""
    parts: list[bytes] = []
    for piece in read_pieces(path):
        parts.append(piece.letters)
        if piece.is_last:
            letters = b"".join(parts).decode("utf-8", "replace")
            yield FastaRecord(piece.name, letters, piece.line, path)
            parts = []


def read_dna(path: Path | str) -> Iterator[tuple[FastaPiece, str]]:
    """Yield the pieces of all records over A C G T N; InputError for other letters or a protein."""
    shown = shown_name(path)
    ambiguous = 0
    for piece in read_pieces(path):
        letters, start = piece.letters, piece.start
        try:
            bases = normalise_bytes(letters, start)
        except NotDnaError as error:
            line = piece.line_of(error.position)
            raise _not_dna(shown, line, piece.name, error) from error
        ambiguous = 0 if start == 0 else ambiguous
        ambiguous += bases.count("N") - letters.count(b"N") - letters.count(b"n")
        if piece.is_last:
            _check_share(shown, piece.line, piece.name, ambiguous, start + len(bases))
        yield piece, bases


def dna_of(record: FastaRecord, path: Path | str) -> str:
    """Return the record's sequence over A C G T N; InputError for other letters or a protein."""
    shown = shown_name(path)
    try:
        sequence = normalise(record.letters)
    except NotDnaError as error:
        line = _line_of(record, error.position)
        raise _not_dna(shown, line, record.name, error) from error
    ambiguous = sequence.count("N") - record.letters.count("N") - record.letters.count("n")
    _check_share(shown, record.line, record.name, ambiguous, len(sequence))
    return sequence


def _line_of(record: FastaRecord, position: int) -> int:
    """Return the line of a letter, for which a file is read again; of other inputs that of the header."""
    if record.fasta is None or not Path(record.fasta).is_file():
        return record.line
    of_record = (piece for piece in read_pieces(record.fasta) if piece.line == record.line)
    return next(x.line_of(position) for x in of_record if position < x.start + len(x.letters))


def _not_dna(shown: str, line: int, name: str, error: ValueError) -> InputError:
    advice = {
        "'\\x00'": "NUL bytes: is the file damaged, or binary?",
        "'-'": "Is this an alignment? Take its gaps out.",
        "'>'": "A header is on a line of its own.",
    }.get(str(error).partition(" at ")[0], "Is this a protein sequence?")
    return InputError(
        f"{shown}:{line}: record {shortened(name)!r}: {error}; expected A C G T N or IUPAC codes. {advice}"
    )


def _check_share(shown: str, line: int, name: str, ambiguous: int, length: int) -> None:
    if ambiguous > MAX_AMBIGUOUS_SHARE * length:
        raise InputError(
            f"{shown}:{line}: record {shortened(name)!r}: {ambiguous} of {length} letters are ambiguity codes; "
            "expected DNA. Is this a protein sequence?"
        )
