"""Opening a labelled set with the genome that it was made from."""

from pathlib import Path

from dna_bigbird.core.errors import InputError, note
from dna_bigbird.core.files import sha256_of
from dna_bigbird.genome import Genome
from dna_bigbird.labelled.labelled import LabelledSet


def open_labelled_set(
    data: Path, genome: Genome | Path | None, *, verify: bool = True
) -> LabelledSet:
    """Open a labelled set with its genome, or without if it has its sequences itself.

    Chromosome lengths and the bases of some windows are compared. If these agree but the file
    is not the same file that the set was made from, a note says so.

    Args:
        verify: Read both files whole and compare their checksums. Where processes train together,
            one per machine does it.

    Raises:
        InputError: As `LabelledSet`; if the set needs a genome and there is none.
    """
    if genome is None:
        labelled = LabelledSet(data, verify=verify)
        if labelled.needs_genome:
            raise InputError(
                f"{data}: this set has coordinates, and its bases are in the genome; add "
                f"--genome with the FASTA file of {labelled.assembly} that it was made from"
            )
        return labelled
    genome = genome if isinstance(genome, Genome) else Genome(genome)
    labelled = LabelledSet(data, genome, verify=verify)
    if not labelled.needs_genome:
        note(f"{data}: this set has its sequences itself; --genome is not read")
        return labelled
    recorded = labelled.inputs.get("genome")
    if verify and recorded is not None and sha256_of(genome.path) != recorded:
        note(
            f"{data}: made from another FASTA file than {genome.path.name}. The lengths of the "
            "chromosomes and the bases of up to 16 windows agree; the other windows are not checked"
        )
    return labelled
