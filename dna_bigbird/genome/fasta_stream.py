"""FASTA read from front to back: any compression, standard input, any number of records."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from dna_bigbird.errors import InputError
from dna_bigbird.files import open_text
from dna_bigbird.genome.alphabet import IUPAC_AMBIGUOUS, normalise

MAX_AMBIGUOUS_SHARE = 0.5
"""More letters than this that are IUPAC codes other than N, and the record is taken for protein."""


@dataclass(frozen=True)
class FastaRecord:
    """One record: the first word of its header, its raw letters, the header's line from 1."""

    name: str
    letters: str
    line: int


def read_fasta(path: Path | str) -> Iterator[FastaRecord]:
    """Yield the records of a plain, gzip or bgzip FASTA file, or of standard input ('-').

    Blank lines and CRLF line ends are accepted; letters are given as they stand.

    Raises:
        InputError: If there is no record, text stands before the first one, a record has no
            name or no sequence, or two records have the same name.
    """
    shown = "standard input" if str(path) == "-" else path
    seen: set[str] = set()
    name, line_of_name, parts = "", 0, []

    def finished() -> FastaRecord:
        if not parts:
            raise InputError(f"{shown}:{line_of_name}: record {name!r} has no sequence")
        return FastaRecord(name, "".join(parts), line_of_name)

    with open_text(path) as text:
        for number, raw in enumerate(text, start=1):
            line = raw.strip()
            if line.startswith(">"):
                if name:
                    yield finished()
                words = line[1:].split()
                if not words:
                    raise InputError(f"{shown}:{number}: this FASTA header has no name after '>'")
                name, line_of_name, parts = words[0], number, []
                if name in seen:
                    raise InputError(
                        f"{shown}:{number}: a second record is called {name!r}; names must differ"
                    )
                seen.add(name)
            elif line and not name:
                raise InputError(
                    f"{shown}:{number}: found {line[:20]!r} before any header; "
                    "a FASTA file starts with '>'. Is this another format?"
                )
            elif line:
                parts.append(line)
    if not name:
        raise InputError(f"{shown}: no sequence in it; a FASTA record starts with '>'")
    yield finished()


def dna_of(record: FastaRecord, path: Path | str) -> str:
    """Return the record's sequence over A C G T N.

    Raises:
        InputError: At the first letter that is not DNA, or if most letters are ambiguity codes,
            as in a protein sequence.
    """
    where = (
        f"{'standard input' if str(path) == '-' else path}:{record.line}: record {record.name!r}"
    )
    try:
        sequence = normalise(record.letters)
    except ValueError as error:
        raise InputError(
            f"{where}: {error}; expected A C G T N or IUPAC codes. Is this a protein sequence?"
        ) from error
    upper = record.letters.upper()
    ambiguous = sum(upper.count(code) for code in IUPAC_AMBIGUOUS)
    if ambiguous > MAX_AMBIGUOUS_SHARE * len(upper):
        raise InputError(
            f"{where}: {ambiguous} of {len(upper)} letters are ambiguity codes; expected DNA. "
            "Is this a protein sequence?"
        )
    return sequence
