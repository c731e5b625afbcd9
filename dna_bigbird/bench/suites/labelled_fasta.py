"""FASTA whose headers end with the label after a bar, as `>name|1`; names may repeat."""

from collections.abc import Iterator
from pathlib import Path

from dna_bigbird.core.errors import InputError, shortened
from dna_bigbird.core.files import LONGEST_LINE, numbered_lines

BAR = "|"


def read_labelled_fasta(path: Path) -> Iterator[tuple[int, str, str]]:
    """Yield the line of the header (from 1), the label as text, and the letters of each record.

    The label is what follows the last bar of the whole header; the name may contain blanks and bars.

    Raises:
        InputError: With file and line, if there is no record, text comes before the first one, or a header
            has no bar.
    """
    header, header_line = "", 0
    parts: list[str] = []
    for number, raw in numbered_lines(path, LONGEST_LINE):
        line = raw.strip()
        if line.startswith(">"):
            if header:
                yield header_line, _label(header), "".join(parts)
            header, header_line, parts = line, number, []
            if BAR not in line:
                raise InputError(
                    f"{path}:{number}: the header {shortened(line)!r} has no label; expected >NAME|LABEL"
                )
        elif header:
            parts.append(line)
        elif line:
            raise InputError(
                f"{path}:{number}: {shortened(line)!r} before any header; a FASTA record starts with "
                ">NAME|LABEL"
            )
    if not header:
        raise InputError(
            f"{path}: no sequence in it; expected FASTA records that start with >NAME|LABEL"
        )
    yield header_line, _label(header), "".join(parts)


def _label(header: str) -> str:
    return header.rpartition(BAR)[2].strip()
