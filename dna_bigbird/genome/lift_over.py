"""`dna-bigbird lift-over`."""

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from dna_bigbird.core.choices import checked, renamed
from dna_bigbird.core.errors import note
from dna_bigbird.core.paths import BedOutput, InputPath, TsvOutput
from dna_bigbird.core.results import Result
from dna_bigbird.core.shared_options import SiteFormat


@dataclass(frozen=True)
class LiftedSites(Result):
    """Start sites on the new assembly, and the sites without a single target."""

    output: Path
    unlifted: Path
    num_lifted: int
    num_lost: int
    num_changed_strand: int


@renamed(format="site_format")
@checked()
def lift_over(
    input: InputPath,
    chain: InputPath,
    output: BedOutput,
    unlifted: TsvOutput,
    site_format: SiteFormat = "auto",
) -> LiftedSites:
    """Move start sites to another assembly.

    Each site is lifted on its own; sites without a single target are listed with the reason.

    Examples:
        dna-bigbird lift-over --input promoters_hg38.bed --chain hg38_to_hg19.chain.gz --output promoters.bed \\
            --unlifted lost.tsv

    Args:
        input: File to read: start sites as BED, GTF, GFF3, FPS or SGA, plain or gzip.
        chain: UCSC chain file from the assembly of the input to that of the output.
        output: Result to write: BED6 file on the new assembly, sorted; column 5 keeps the old
            position.
        unlifted: Table of the lost sites, their old coordinates and the reasons.
    """
    from dna_bigbird.core.writing import atomic_path
    from dna_bigbird.genome.chains import (
        NO_CHROMOSOME,
        lift_sites,
        read_chain,
        write_lifted,
        write_unlifted,
    )
    from dna_bigbird.genome.chromosome_names import counted_names
    from dna_bigbird.genome.sites.reading import read_sites

    lifted, lost = lift_sites(read_sites(input, site_format), read_chain(chain))
    with atomic_path(output) as partial_output, atomic_path(unlifted) as partial_unlifted:
        write_lifted(partial_output, lifted)
        write_unlifted(partial_unlifted, lifted, lost)
    changed = sum(x.strand_changed for x in lifted)
    absent = Counter(x.origin.chrom for x in lost if x.reason == NO_CHROMOSOME)
    if absent:
        note(f"{chain}: it lacks the chromosome of {counted_names(absent, 'sites')}")
    note(f"{len(lifted)} lifted, {len(lost)} lost, {changed} changed strand")
    return LiftedSites(output, unlifted, len(lifted), len(lost), changed)
