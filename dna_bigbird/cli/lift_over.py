"""`dna-bigbird lift-over`."""

import sys
from pathlib import Path


def lift_over(input: Path, chain: Path, output: Path, unlifted: Path) -> None:
    """Move start sites (1-bp BED rows, or EPD's 60-bp rows) to another assembly.

    Every site is lifted by itself; sites without a single target are listed with the reason.

    Args:
        input: BED file with a strand, plain or gzip.
        chain: UCSC chain file from the assembly of the input to the wanted one.
        output: BED6 file on the new assembly, sorted; column 5 keeps the old position.
        unlifted: Table of the lost sites, their old coordinates and the reasons.
    """
    from dna_bigbird.files import atomic_path
    from dna_bigbird.genome.bed import read_bed
    from dna_bigbird.genome.liftover import lift_sites, read_chain, write_lifted, write_unlifted

    lifted, lost = lift_sites(read_bed(input), read_chain(chain), input)
    with atomic_path(output) as partial_output, atomic_path(unlifted) as partial_unlifted:
        write_lifted(partial_output, lifted)
        write_unlifted(partial_unlifted, lifted, lost)
    changed = sum(x.strand_changed for x in lifted)
    print(f"{len(lifted)} lifted, {len(lost)} lost, {changed} changed strand", file=sys.stderr)
