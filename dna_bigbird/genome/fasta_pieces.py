"""FASTA in pieces: any compression, standard input, lines and records of any length, bounded memory."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, NamedTuple

from dna_bigbird.core.errors import InputError, shortened
from dna_bigbird.core.file_formats import text_format
from dna_bigbird.core.files import open_binary, shown_name
from dna_bigbird.genome.record_names import SeenNames

BLOCK = 1 << 20
"""Bytes read at once. A header is shorter."""
_BLANKS = b" \t\v\f"
_UTF8_MARK = b"\xef\xbb\xbf"


class FastaPiece(NamedTuple):
    """Some letters of a record, as in the file without blanks and line ends."""

    name: str
    line: int
    """The line of the record's header, from 1."""
    start: int
    """Place of the first letter in the record, from 0; 0 for the first piece only."""
    letters: bytes
    is_last: bool
    """The record ends with this piece, which may be empty if it is not the first."""
    text: bytes
    """The letters as in the file, with blanks and line ends."""
    text_line: int
    """The line of the file in which `text` begins, from 1."""

    def line_of(self, position: int) -> int:
        """Return the line of the file, from 1, that has the letter at a place in the record, from 0."""
        end = self.start
        for number, line in enumerate(self.text.split(b"\n"), start=self.text_line):
            end += len(line.strip(_BLANKS))
            if position < end:
                return number
        return self.line


def read_pieces(path: Path | str) -> Iterator[FastaPiece]:
    """Yield the records of a FASTA file, packed or not, or of standard input ('-'), in pieces."""
    # A piece is at most two blocks long. Blank lines, blanks at either end of a line and LF, CRLF
    # or CR line ends are accepted; the letters are not looked at.
    shown = shown_name(path)
    reader = _Reader(shown)
    with open_binary(path) as stream:
        for block in _blocks(stream):
            yield from reader.pieces(block)
    if not reader.name:
        raise InputError(f"{shown}: no sequence in it; a FASTA record starts with '>'")
    reader.seen.finish()


@dataclass(frozen=True)
class _Block:
    """Whole lines, each with its LF; or, of a line longer than a block, a part without one."""

    text: bytes
    starts_line: bool
    is_last: bool


def _blocks(stream: BinaryIO) -> Iterator[_Block]:
    """Cut the content into blocks, every line end as LF, and one at the very end."""
    rest, starts_line = b"", True
    data = stream.read(BLOCK).removeprefix(_UTF8_MARK)
    while data:
        following = stream.read(BLOCK)
        text = rest + (data if following else data + b"\n")
        held = b"\r" if text.endswith(b"\r") else b""  # its LF may come with the next block
        text = text.removesuffix(held)
        if b"\r" in text:
            text = text.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        cut = text.rfind(b"\n") + 1
        if cut == 0 and len(text) >= BLOCK:
            # Blanks here count only if letters follow on the same line: one stands for all.
            cut = len(text.rstrip(_BLANKS))
            rest = text[cut : cut + 1] + held
        else:
            rest = text[cut:] + held
        if cut:
            yield _Block(text[:cut], starts_line, not following)
            starts_line = text.endswith(b"\n", 0, cut)
        data = following


class _Reader:
    """The record that is being read, and the line of the file that comes next."""

    def __init__(self, shown: str) -> None:
        self.shown = shown
        self.seen = SeenNames(shown)
        self.line = 1
        self.name = ""
        self.header_line = 0
        self.length = 0

    def pieces(self, block: _Block) -> Iterator[FastaPiece]:
        text, start = block.text, 0
        while True:
            end = _next_header(text, start, block.starts_line)
            lines = text[start:end]
            letters = _letters(lines)
            is_last = end < len(text) or block.is_last
            if self.name and (letters or is_last):
                yield self._piece(letters, is_last, lines)
            elif letters:
                raise self._no_header(text[:end])
            self.line += text.count(b"\n", start, end)
            if end == len(text):
                return
            start = text.find(b"\n", end) + 1
            if start == 0 or start - end > BLOCK:
                raise InputError(
                    f"{self.shown}:{self.line}: this FASTA header is longer than {BLOCK:,} bytes. "
                    "Were the line ends lost?"
                )
            self._start_record(text[end + 1 : start])
            self.line += 1

    def _piece(self, letters: bytes, is_last: bool, lines: bytes) -> FastaPiece:
        start = self.length
        self.length += len(letters)
        if self.length == 0:
            raise InputError(
                f"{self.shown}:{self.header_line}: record {shortened(self.name)!r} has no sequence"
            )
        return FastaPiece(self.name, self.header_line, start, letters, is_last, lines, self.line)

    def _start_record(self, header: bytes) -> None:
        where = f"{self.shown}:{self.line}"
        words = header.split()  # at ASCII blanks, as samtools does
        if not words:
            raise InputError(f"{where}: this FASTA header has no name after '>'")
        try:
            name = words[0].decode()
        except UnicodeDecodeError as error:
            raise InputError(
                f"{where}: the name in this FASTA header is not text in UTF-8 ({error.reason})"
            ) from error
        if not name.isprintable():
            odd = next(letter for letter in name if not letter.isprintable())
            raise InputError(
                f"{where}: the name in this FASTA header holds {odd!r}; expected printable "
                "characters. Is the file damaged?"
            )
        self.name, self.header_line, self.length = name, self.line, 0
        self.seen.add(self.name, self.line)

    def _no_header(self, text: bytes) -> InputError:
        content = text.lstrip(_BLANKS + b"\n")
        line = self.line + text[: len(text) - len(content)].count(b"\n")
        first = content.partition(b"\n")[0].decode("utf-8", "replace")
        probably = text_format(first)
        advice = f"This looks like {probably}" if probably else "Is this another format?"
        return InputError(
            f"{self.shown}:{line}: found {first.rstrip()[:20]!r} before any header; "
            f"a FASTA file starts with '>'. {advice}"
        )


def _next_header(text: bytes, start: int, starts_line: bool) -> int:
    """Return where the next line from `start` on that starts with '>' does so, or the end."""
    marker = text.find(b">", start)
    while marker >= 0:
        line_start = text.rfind(b"\n", start, marker) + 1
        is_start = line_start > 0 or start > 0 or starts_line
        if is_start and not text[line_start or start : marker].strip(_BLANKS):
            return marker
        line_end = text.find(b"\n", marker)  # this '>' is within a line: go on with the next
        marker = text.find(b">", line_end) if line_end >= 0 else -1
    return len(text)


def _letters(text: bytes) -> bytes:
    """Leave out line ends with the blanks around them."""
    if b" " in text or b"\t" in text or b"\v" in text or b"\f" in text:
        return b"".join(line.strip(_BLANKS) for line in text.split(b"\n"))
    return text.replace(b"\n", b"")
