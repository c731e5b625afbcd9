"""Making the reference: several FASTA files in, one checked plain FASTA out."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import BinaryIO

from dna_bigbird.core.errors import InputError
from dna_bigbird.core.writing import atomic_path
from dna_bigbird.genome.fasta_stream import read_dna

LINE_BP = 60


def join_fasta(
    inputs: list[Path], output: Path, check: Callable[[dict[str, int]], None]
) -> dict[str, int]:
    """Write the records of all inputs into one FASTA file and return their lengths in bp.

    Args:
        check: Called with the lengths before the file gets its final name; it may refuse them.

    Raises:
        InputError: If a file is malformed, no DNA, or two records have the same name.
    """
    lengths: dict[str, int] = {}
    origin: dict[str, Path] = {}
    with atomic_path(output) as partial:
        with open(partial, "wb") as stream:
            for path in inputs:
                line = b""
                for piece, _ in read_dna(path):
                    if piece.start == 0:
                        if piece.name in origin:
                            raise InputError(
                                f"{path}:{piece.line}: {piece.name!r} is also in "
                                f"{origin[piece.name]}; every chromosome may come once"
                            )
                        origin[piece.name] = path
                        stream.write(b">%s\n" % piece.name.encode())
                    line = _write_lines(stream, line + piece.letters, piece.is_last)
                    lengths[piece.name] = piece.start + len(piece.letters)
        check(lengths)
    output.with_name(output.name + ".fai").unlink(missing_ok=True)
    return lengths


def _write_lines(stream: BinaryIO, letters: bytes, is_last: bool) -> bytes:
    """Write letters in full lines, and at the end of a record the rest; return what is left over."""
    end = len(letters) if is_last else len(letters) // LINE_BP * LINE_BP
    for start in range(0, end, LINE_BP):
        stream.write(letters[start : min(start + LINE_BP, end)] + b"\n")
    return letters[end:]


def check_assembly(
    lengths: Mapping[str, int],
    *,
    assembly: str,
    expected: Mapping[str, int],
    guess: str | None,
    pieces: bool,
) -> None:
    """Compare chromosome lengths with those of the assembly they should belong to.

    Args:
        expected: Length in bp by chromosome name (`chr1`); empty for an assembly without a table.
        guess: The assembly whose table the lengths fit, if any.
        pieces: Shorter chromosomes are pieces, not errors.

    Raises:
        InputError: Naming the first chromosome whose length is wrong.
    """
    other = guess if guess and guess != assembly else None
    for name, length in lengths.items():
        usual = name if name.startswith("chr") else f"chr{name}"
        usual = "chrM" if usual == "chrMT" else usual
        right = expected.get(usual)
        if right is None or length == right or (pieces and length < right and not other):
            continue
        hint = (
            f"The lengths fit {other}: is the FASTA {other}?"
            if other
            else "If it holds only the first bases of chromosomes, say so: --pieces true"
        )
        raise InputError(f"{name} is {length:,} bp long, in {assembly} it has {right:,} bp. {hint}")
