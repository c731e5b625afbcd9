"""Binding-site matrices in files: JASPAR, and the minimal format of MEME.

JASPAR (jaspar.elixir.no, "JASPAR" download): `>ID NAME`, then four lines `A [ 1 2 ]` of counts, one per base.
MEME minimal format (meme-suite.org, doc/meme-format.html): a line `MEME version 4` or later, `ALPHABET= ACGT` or its
definition if given, and for each matrix `MOTIF ID NAME` and `letter-probability matrix:`, perhaps with `alength= 4 w= 6`,
and a line of four probabilities per column. Other lines are not read, so files may be joined, or the text output of MEME.
"""

import itertools
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dna_bigbird.core.errors import InputError, shortened
from dna_bigbird.core.files import numbered_lines
from dna_bigbird.core.plain_numbers import decimal_number, whole_number

LETTERS = "ACGT"
_COUNTS = re.compile(r"([ACGT])\s*\[?([^\]]*)\]?\s*")
_WIDTH = re.compile(r"\bw=\s*(\S+)")
_ALPHABET_LENGTH = re.compile(r"\balength=\s*(\S+)")
_ALPHABET = re.compile(r"(?i:alphabet\s*=\s*(.*))|ALPHABET(?:\s.*)?")
_QUOTED = re.compile(r'"(?:[^"\\]|\\.)*"')
_CORE = re.compile(
    r"([^\s=~])(?:\s+[0-9A-Fa-f]{6})?\s*(?:~\s*([^\s=~])(?:\s+[0-9A-Fa-f]{6})?)?\s*(?:#.*)?"
)
"""A letter of an alphabet, and perhaps its complement, without their quoted names; `N = ACGT` is none."""
MOST_COUNT = 1e15
"""Of a base in a column; float64 adds up whole numbers exactly to nine times as many."""
SUM_TOLERANCE = 0.02
"""Probabilities of a column add up to 1 within this much; files round them."""


@dataclass(frozen=True, eq=False)
class MotifMatrix:
    """One matrix."""

    identifier: str
    name: str
    """Such as the factor; empty if the file has none."""
    counts: NDArray[np.float64]
    """(4, width), rows A C G T, as the file has them: counts, or probabilities."""

    @property
    def shares(self) -> NDArray[np.float64]:
        """(4, width); each column adds up to 1."""
        return self.counts / self.counts.sum(axis=0)

    @property
    def width(self) -> int:
        """Length in base pairs."""
        return self.counts.shape[1]

    @property
    def consensus(self) -> str:
        """The most frequent base of each column; of equal ones the first of A C G T."""
        return "".join(LETTERS[i] for i in self.counts.argmax(axis=0))

    @property
    def label(self) -> str:
        """Name and identifier, for tables."""
        return f"{self.name} {self.identifier}".strip()


def read_motifs(path: Path) -> list[MotifMatrix]:
    """Return the matrices of a JASPAR or MEME file in order; the first line says which it is."""
    lines = [(number, line.strip()) for number, line in numbered_lines(path)]
    lines = [(number, line) for number, line in lines if line and not line.startswith("#")]
    first = lines[0][1] if lines else ""
    if first.startswith(">"):
        read = _jaspar(path, lines)
    elif any(line.upper().startswith("MEME VERSION") for _, line in lines):
        read = _meme(path, lines)
    else:
        raise InputError(
            f"{path}:1: starts with {shortened(first) or 'nothing'!r}; expected '>ID NAME' (JASPAR) or 'MEME version 4'"
        )
    motifs: dict[str, MotifMatrix] = {}
    for number, motif in read:
        if motif.identifier in motifs:
            raise InputError(
                f"{path}:{number}: a second matrix {motif.identifier}; each needs its own name"
            )
        motifs[motif.identifier] = motif
    if not motifs:
        raise InputError(f"{path}: no matrix in it")
    return list(motifs.values())


def _jaspar(path: Path, lines: list[tuple[int, str]]) -> Iterator[tuple[int, MotifMatrix]]:
    starts = [i for i, (_, line) in enumerate(lines) if line.startswith(">")]
    for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
        number, header = lines[start]
        identifier, name = _names(header[1:], f"{path}:{number}")
        rows = dict(_counts(f"{path}:{row}", line) for row, line in lines[start + 1 : end])
        if (
            sorted(rows) != sorted(LETTERS)
            or end - start != 5
            or len(set(map(len, rows.values()))) != 1
        ):
            raise InputError(
                f"{path}:{number}: {identifier} has rows of {', '.join(map(str, map(len, rows.values())))} numbers "
                f"for {''.join(rows) or 'no base'}; expected four lines A, C, G, T of equal length"
            )
        table = np.array([rows[base] for base in LETTERS])
        if not (table.sum(axis=0) > 0).all():
            raise InputError(f"{path}:{number}: {identifier} has a column without any count")
        yield number, MotifMatrix(identifier, name, table)


def _counts(where: str, line: str) -> tuple[str, list[float]]:
    match = _COUNTS.fullmatch(line)
    if match is None:
        raise InputError(
            f"{where}: {shortened(line)!r}; expected a base and its counts, 'A [ 1 2 3 ]'"
        )
    return match[1], _numbers(match[2], where)


def _meme(path: Path, lines: list[tuple[int, str]]) -> Iterator[tuple[int, MotifMatrix]]:
    waiting: tuple[int, str, str] | None = None
    _check_alphabets(path, lines)
    for i, (number, line) in enumerate(lines):
        where = f"{path}:{number}"
        if re.match(r"MOTIF(\s|$)", line):
            _check_has_matrix(path, waiting)
            identifier, name = _names(line[5:], where)
            waiting = (number, identifier, re.sub(r"\s*\bwidth\s*=.*", "", name))
        elif line.startswith("letter-probability matrix"):
            if waiting is None:
                raise InputError(f"{where}: a matrix without a line 'MOTIF ID' before it")
            following = (lines[j] for j in range(i + 1, len(lines)))
            rows = list(itertools.takewhile(lambda row: _is_row(row[1]), following))
            _check_size(where, line, rows)
            shares = [_column(f"{path}:{row}", text) for row, text in rows]
            yield waiting[0], MotifMatrix(waiting[1], waiting[2], np.array(shares).T)
            waiting = None
    _check_has_matrix(path, waiting)


def _check_alphabets(path: Path, lines: list[tuple[int, str]]) -> None:
    """Raise InputError for an alphabet other than A C G T, also one that the file defines."""
    start, letters = 0, set()
    for number, line in lines:
        if start and line.upper().startswith("END ALPHABET"):
            if letters != set(LETTERS):
                raise _other_alphabet(f"{path}:{start}", " ".join(sorted(letters)))
            start, letters = 0, set()
        elif start:
            symbols = _CORE.fullmatch(_QUOTED.sub("", line))
            letters |= set(filter(None, symbols.groups())) if symbols else set()
        elif match := _ALPHABET.fullmatch(line):
            if match[1] is None:
                start = number
            elif match[1].upper() != LETTERS:
                raise _other_alphabet(f"{path}:{number}", match[1])
    if start:
        raise InputError(f"{path}:{start}: an alphabet without the line END ALPHABET")


def _other_alphabet(where: str, letters: str) -> InputError:
    known = {"ACGU": "RNA", "ACDEFGHIKLMNPQRSTVWY": "protein"}.get(letters.upper().replace(" ", ""))
    named = f"{known}, {shortened(letters)}" if known else shortened(letters) or "nothing"
    return InputError(f"{where}: the alphabet is {named}; expected DNA, {LETTERS}")


def _check_has_matrix(path: Path, motif: tuple[int, str, str] | None) -> None:
    """Raise InputError if a line MOTIF, with number, identifier and name, had no matrix."""
    if motif is not None:
        raise InputError(f"{path}:{motif[0]}: {motif[1]} has no 'letter-probability matrix'")


def _is_row(line: str) -> bool:
    """Return True for numbers, also if there is a mistake in one of four or more."""
    words = line.split()
    numbers = [decimal_number(word) is not None for word in words]
    return numbers[0] or (len(words) >= 4 and words[0] != "URL" and sum(numbers) >= len(words) - 1)


def _check_size(where: str, line: str, rows: list[tuple[int, str]]) -> None:
    """Raise InputError if a matrix has another size than its header says; both sizes may be left out."""
    letters, width = _ALPHABET_LENGTH.search(line), _WIDTH.search(line)
    if letters and letters[1] != "4":
        raise InputError(
            f"{where}: {shortened(line)!r}; expected alength= 4, the letters {LETTERS} of DNA"
        )
    if not rows or (width and whole_number(width[1]) != len(rows)):
        raise InputError(
            f"{where}: {shortened(line)!r} and {len(rows)} rows of numbers; expected one row per column of the motif, as w= "
            "says. Is the file complete?"
        )


def _column(where: str, line: str) -> list[float]:
    shares = _numbers(line, where)
    if len(shares) != 4 or abs(sum(shares) - 1) > SUM_TOLERANCE:
        raise InputError(
            f"{where}: {shortened(line)!r}; expected four probabilities that add up to 1"
        )
    return shares


def _numbers(text: str, where: str) -> list[float]:
    numbers = []
    for word in text.split():
        number = decimal_number(word)
        if number is None or not 0 <= number <= MOST_COUNT:
            raise InputError(
                f"{where}: {shortened(text.strip())!r}; expected numbers from 0 to {MOST_COUNT:g} between blanks"
            )
        numbers.append(number)
    return numbers


def _names(text: str, where: str) -> tuple[str, str]:
    words = text.split(None, 1)
    if not words:
        raise InputError(f"{where}: a matrix without an identifier")
    return words[0], words[1].strip() if len(words) > 1 else ""


def meme_text(matrices: Iterable[MotifMatrix], sites: Mapping[str, int]) -> str:
    """Return a MEME file's text; blanks in identifiers become '_', `sites` counts by identifier."""
    lines = [
        "MEME version 4\n\nALPHABET= ACGT\n\nstrands: + -\n\n",
        "Background letter frequencies\nA 0.25 C 0.25 G 0.25 T 0.25\n\n",
    ]
    for matrix in matrices:
        name = "_".join(matrix.identifier.split())
        lines.append(f"MOTIF {name} {matrix.name}".rstrip() + "\n")
        lines.append(
            f"letter-probability matrix: alength= 4 w= {matrix.width} nsites= {sites[matrix.identifier]} E= 0\n"
        )
        lines += ["".join(f" {share:.6f}" for share in column) + "\n" for column in matrix.shares.T]
        lines.append("\n")
    return "".join(lines)
