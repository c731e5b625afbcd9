"""`dna-bigbird genome`."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from dna_bigbird.core.choices import checked
from dna_bigbird.core.dataframes import DataFrame, dataframe
from dna_bigbird.core.errors import InputError
from dna_bigbird.core.paths import FastaOutput, InputPath
from dna_bigbird.core.results import Rows
from dna_bigbird.core.writing import atomic_path
from dna_bigbird.genome.fasta_stream import read_dna

LINE_BP = 60


def join_fasta(
    inputs: list[Path], output: Path, check: Callable[[dict[str, int]], None]
) -> dict[str, int]:
    """Write the records of all inputs into one FASTA file and return their lengths in bp."""
    # `check` gets the lengths before the file has its final name, and may refuse them.
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
    """Raise InputError at the first chromosome whose length, in bp, is not the assembly's."""
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


@dataclass(frozen=True)
class Reference(Rows):
    """A checked genome in one indexed FASTA file."""

    output: Path
    assembly: str
    lengths: Mapping[str, int]
    """Base pairs of each sequence."""

    def to_dataframe(self) -> DataFrame:
        """Return a row per sequence: chrom, length_bp."""
        return dataframe({"chrom": list(self.lengths), "length_bp": list(self.lengths.values())})

    def summary(self) -> str:
        """Return the number of sequences and base pairs."""
        total_bp = sum(self.lengths.values())
        return f"{self.output}: {len(self.lengths)} sequences, {total_bp:,} bp, assembly {self.assembly}"


@checked()
def genome(
    inputs: list[InputPath], output: FastaOutput, assembly: str = "none", pieces: bool = False
) -> Reference:
    """Check FASTA files and join them into one plain, indexed reference.

    Letters keep their case (soft masking). The `.fai` index is written next to the output.

    Examples:
        dna-bigbird genome --inputs hg19.fa.gz --output hg19.fa --assembly hg19
        dna-bigbird genome --inputs hg19.fa tata.fa --output hg19_tata.fa

    Args:
        inputs: FASTA files, plain or compressed; records keep their order.
        output: Result to write: the reference, for example results/genome/genome.fa.
        assembly: Name of the assembly. For GRCh37 and GRCh38, also under other common names (hg19,
            b37, hs37d5, hg38, GRCh38.p14), chromosome lengths are checked; any other name is kept
            without a check.
        pieces: The FASTA has only the first part of its chromosomes: accept shorter ones than the
            assembly's; a longer one is still refused.
    """
    from dna_bigbird.genome.fasta import Genome
    from dna_bigbird.genome.sources.assemblies import (
        expected_lengths,
        guess_assembly,
        usual_assembly,
    )

    join_fasta(
        inputs,
        output,
        check=lambda lengths: check_assembly(
            lengths,
            assembly=usual_assembly(assembly),
            expected=expected_lengths(assembly),
            guess=guess_assembly(lengths),
            pieces=pieces,
        ),
    )
    return Reference(output, assembly, Genome(output).lengths)  # reading it writes the index
