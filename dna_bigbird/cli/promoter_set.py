"""`dna-bigbird promoter-set`."""

import shlex
import sys
from pathlib import Path
from typing import Literal

from dna_bigbird.datasets.splits import SplitConfig


def promoter_set(
    genome: Path,
    sites: Path,
    output: Path,
    assembly: str,
    split: SplitConfig,
    seed: int = 0,
    upstream: int = 5000,
    downstream: int = 3000,
    negatives: Literal["random_base", "permuted"] = "random_base",
    max_n_fraction: float = 0.0,
    pieces: bool = False,
) -> None:
    """Build promoters and one artificial negative for each, with their splits.

    Args:
        genome: Plain FASTA of the reference.
        sites: BED file of start sites: 1-bp rows with a strand, or EPD's 60-bp rows.
        output: The labelled set, HDF5.
        assembly: Name of the assembly, kept with the set and with every model made from it.
        split: Regions held out for validation and test.
        seed: Seed of the negatives.
        upstream: Bases before the start site, in the direction of transcription.
        downstream: Bases from the start site on, the first transcribed base included.
        negatives: random_base redraws 12 of 20 parts; permuted shuffles 12 of 20 parts.
        max_n_fraction: Windows with a larger share of N are left out.
        pieces: The FASTA holds only the first part of its chromosomes; leave out sites beyond it.
    """
    from dna_bigbird.datasets.labelled import write_labelled_set
    from dna_bigbird.datasets.promoters import PromoterConfig, build_promoters
    from dna_bigbird.files import sha256_of
    from dna_bigbird.genome import Genome
    from dna_bigbird.genome.bed import read_bed

    config = PromoterConfig(upstream, downstream, negatives, max_n_fraction)
    reference = Genome(genome)
    split.check_chromosomes(reference)
    rows = read_bed(sites)
    data = build_promoters(reference, rows, config, split, seed=seed, path=sites, pieces=pieces)
    write_labelled_set(
        output,
        data,
        reference,
        assembly=assembly,
        command=(
            f"promoter-set --assembly {shlex.quote(assembly)} --seed {seed} --upstream {upstream} "
            f"--downstream {downstream} --negatives {negatives} "
            f"--max_n_fraction {max_n_fraction} --pieces {str(pieces).lower()} {split.as_options()}"
        ),
        inputs={"genome": sha256_of(genome), "sites": sha256_of(sites)},
    )
    print(
        f"{len(data.names) // 2} promoters of {data.counts['sites_read']} sites, each with a "
        f"{negatives} negative: "
        + ", ".join(f"{k.replace('_', ' ')} {v}" for k, v in data.counts.items() if v),
        file=sys.stderr,
    )
