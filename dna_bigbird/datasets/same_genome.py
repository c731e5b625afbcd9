"""Is it the genome that a token store or a labelled set was made from?"""

from pathlib import Path

from dna_bigbird.datasets.labelled import LabelledSet
from dna_bigbird.datasets.token_store import TokenStore
from dna_bigbird.errors import InputError, note
from dna_bigbird.files import sha256_of
from dna_bigbird.genome import Genome
from dna_bigbird.genome.checksum import combined_sha256, sequence_sha256


def check_store_genome(store: TokenStore, genome: Genome) -> None:
    """Raise InputError if a token store was made from another genome.

    The same file is recognised by its checksum, another file by that of its sequences. Stores of
    earlier versions have the checksum of the file only, so another file is refused.
    """
    if sha256_of(genome.path) == store.attributes.get("genome_sha256"):
        return
    recorded = store.attributes.get("sequences_sha256")
    if recorded is None:
        reason = f"{genome.path} is another file (its checksum differs)"
    else:
        checksums = {chrom: sequence_sha256(genome, chrom) for chrom in store.chromosomes}
        if combined_sha256(checksums) == recorded:
            return
        reason = f"{genome.path} has other bases on {', '.join(store.chromosomes[:5])}"
    assembly = f" ({store.assembly})" if store.assembly else ""
    raise InputError(
        f"{store.path}: made from another genome{assembly}: {reason}. Use the FASTA that it was made "
        "from, or make the store again: dna-bigbird tokenize"
    )


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
