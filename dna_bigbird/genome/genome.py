"""`dna-bigbird genome`."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from dna_bigbird.core.choices import checked
from dna_bigbird.core.dataframes import DataFrame, dataframe
from dna_bigbird.core.html_repr import html_rows
from dna_bigbird.core.paths import FastaOutput, InputPath
from dna_bigbird.core.short_repr import short_repr


@dataclass(frozen=True)
class Reference:
    """A checked genome in one indexed FASTA file."""

    output: Path
    assembly: str
    lengths: Mapping[str, int]
    """Base pairs of each sequence."""

    __repr__ = short_repr
    _repr_html_ = html_rows()

    def to_dataframe(self) -> DataFrame:
        """Return a row per sequence: chrom, length_bp."""
        return dataframe({"chrom": list(self.lengths), "length_bp": list(self.lengths.values())})

    def summary(self) -> str:
        """Return the number of sequences and base pairs."""
        total_bp = sum(self.lengths.values())
        return f"{self.output}: {len(self.lengths)} sequences, {total_bp:,} bp, assembly {self.assembly}"


@checked()
def genome(
    inputs: list[InputPath],
    output: FastaOutput,
    assembly: str = "none",
    pieces: bool = False,
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
    from dna_bigbird.genome.reference import check_assembly, join_fasta
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
