"""`dna-bigbird leakage`."""

import sys
from collections import Counter

from dna_bigbird.choices import checked
from dna_bigbird.paths import InputPath, OutputPath


@checked()
def leakage(
    genome: InputPath, data: InputPath, output: OutputPath, min_shared: float = 0.5
) -> None:
    """List what the splits of a labelled set know of each other; exit with 2 if it is anything.

    Looked for are windows that share bases, sequences that are nearly the same on either strand,
    and positives in another split than their negatives. The table is written in either case.
    The sequences are read by pyfaidx; where bedtools is installed, shared bases are compared with
    those that it finds.

    Args:
        genome: Plain FASTA that the set was made from.
        data: Labelled set, HDF5.
        output: Table of the leaks, tab-separated; a header alone if there are none.
        min_shared: Sequences that share this much of their 12-mers are nearly the same, 0.3 to 1.
    """
    from dna_bigbird.datasets.leakage import find_leaks, rows_of_set, write_leaks
    from dna_bigbird.datasets.same_genome import open_labelled_set
    from dna_bigbird.datasets.second_opinions import check_shared_bases
    from dna_bigbird.datasets.splits import SPLITS
    from dna_bigbird.errors import InputError
    from dna_bigbird.genome import Genome
    from dna_bigbird.genome.bedtools import HOW_TO_INSTALL, has_bedtools
    from dna_bigbird.genome.second_reader import second_reader

    labelled = open_labelled_set(data, second_reader(Genome(genome)))
    rows = rows_of_set(labelled)
    found = find_leaks(rows, min_shared)
    compared = f"shared bases not compared with bedtools, which is missing ({HOW_TO_INSTALL})"
    if has_bedtools():
        check_shared_bases(rows, found.leaks)
        compared = "shared bases are those of bedtools"
    write_leaks(output, found.leaks, labelled)
    sizes = ", ".join(f"{len(labelled.rows(split)):,} {split}" for split in SPLITS)
    looked_at = f"{len(labelled):,} rows ({sizes}), {found.not_compared:,} too simple to compare; "
    looked_at += compared
    if found.leaks:
        kinds = Counter(x.category for x in found.leaks)
        told = ", ".join(f"{kind} {count:,}" for kind, count in sorted(kinds.items()))
        raise InputError(
            f"{data}: {len({x.row for x in found.leaks}):,} rows know something of another split "
            f"({told}), of {looked_at}. {output} lists them. For near-identical sequences build "
            "the set with: dna-bigbird promoter-set --near_identical drop"
        )
    print(f"nothing leaks: {looked_at}", file=sys.stderr)
