"""`dna-bigbird genome`."""

from dna_bigbird.choices import checked
from dna_bigbird.paths import InputPath, OutputPath


@checked()
def genome(
    inputs: list[InputPath],
    output: OutputPath,
    assembly: str = "none",
    pieces: bool = False,
) -> None:
    """Check FASTA files and join them into one plain, indexed reference.

    Letters keep their case (soft masking). The `.fai` index is written beside the output.

    Args:
        inputs: FASTA files, plain or compressed; records are taken in the order given.
        output: Reference to write, for example results/genome/genome.fa.
        assembly: Name of the assembly. For GRCh37 and GRCh38, also under other common names (hg19, b37,
            hs37d5, hg38, GRCh38.p14), chromosome lengths are checked; any other name is taken as it is.
        pieces: Accept chromosomes that are shorter than the assembly's (the first bases of a
            chromosome); a longer one is still refused.
    """
    from dna_bigbird.genome.fasta import Genome
    from dna_bigbird.genome.reference import check_assembly, join_fasta
    from dna_bigbird.inputs.assemblies import expected_lengths, guess_assembly, usual_assembly

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
    lengths = Genome(output).lengths  # writes the index
    print(f"{output}: {len(lengths)} sequences, {sum(lengths.values()):,} bp, assembly {assembly}")
