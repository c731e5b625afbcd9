"""`dna-bigbird leakage`."""

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from dna_bigbird.core.choices import checked
from dna_bigbird.core.dataframes import DataFrame, read_table
from dna_bigbird.core.errors import InputError, check_named, note
from dna_bigbird.core.paths import InputPath, TsvOutput
from dna_bigbird.core.results import Result
from dna_bigbird.core.shared_options import SetGenome


@dataclass(frozen=True)
class LeakageCheck(Result):
    """A labelled set whose splits share nothing."""

    output: Path
    """Table without rows."""
    num_rows: int
    not_compared: int
    """Rows whose sequence is too simple to be compared."""
    compared_with_bedtools: bool

    def to_dataframe(self) -> DataFrame:
        """Return the table, which has no rows."""
        return read_table(self.output)


@checked()
def leakage(
    genome: SetGenome | None = None,
    data: InputPath | None = None,
    output: TsvOutput | None = None,
    min_shared: float = 0.5,
) -> LeakageCheck:
    """Check that the training, validation and test rows of a labelled set share no sequence.

    What they share is listed, and the exit status is 2 then. It looks for windows that share bases,
    sequences that are nearly the same on either strand, and positives in another split than their
    negatives. The table is always written. The sequences are read by pyfaidx; where bedtools is
    installed, shared bases are compared with those that it finds.

    Examples:
        dna-bigbird leakage --genome hg19.fa --data chromatin.h5 --output leaks.tsv
        dna-bigbird leakage --data set.h5 --output leaks.tsv

    Args:
        data: Labelled set: an HDF5 file.
        output: Result to write: a table of the leaks, tab-separated; a header alone if there are
            none.
        min_shared: Sequences that share this much of their 12-mers are nearly the same, 0.3 to 1.
    """
    from dna_bigbird.genome import Genome
    from dna_bigbird.genome.bedtools import HOW_TO_INSTALL, has_bedtools
    from dna_bigbird.labelled.bedtools_check import check_shared_bases, second_reader
    from dna_bigbird.labelled.labelled_set import open_labelled_set
    from dna_bigbird.labelled.shared_rows import find_leaks, rows_of_set, write_leaks
    from dna_bigbird.labelled.splits import SPLITS

    check_named(data=data, output=output)
    labelled = open_labelled_set(data, second_reader(Genome(genome)) if genome else None)
    rows = rows_of_set(labelled)
    search = find_leaks(rows, min_shared)
    compared = f"shared bases not compared with bedtools, which is missing ({HOW_TO_INSTALL})"
    if not labelled.has_coordinates:
        compared = "without coordinates, so no bases of a genome are shared"
    elif not labelled.has_one_length:
        compared = "shared bases not compared with bedtools: the windows have different lengths"
    elif has_bedtools():
        check_shared_bases(rows, search.leaks)
        compared = "shared bases are those of bedtools"
    write_leaks(output, search.leaks, labelled)
    sizes = ", ".join(f"{len(labelled.rows(split)):,} {split}" for split in SPLITS)
    checked = f"{len(labelled):,} rows ({sizes}), {search.not_compared:,} too simple to compare; "
    checked += compared
    if search.leaks:
        categories = Counter(x.category for x in search.leaks)
        counts = ", ".join(f"{name} {count:,}" for name, count in sorted(categories.items()))
        raise InputError(
            f"{data}: {len({x.row for x in search.leaks}):,} rows share something with another "
            f"split ({counts}), of {checked}. {output} lists them. For near-identical sequences build "
            "the set with: dna-bigbird promoter-set --near_identical drop"
        )
    note(f"nothing leaks: {checked}")
    return LeakageCheck(output, len(labelled), search.not_compared, has_bedtools())
