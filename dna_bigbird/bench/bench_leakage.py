"""`dna-bigbird bench leakage`."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from dna_bigbird.core.choices import checked
from dna_bigbird.core.dataframes import DataFrame, read_table
from dna_bigbird.core.errors import InputError
from dna_bigbird.core.paths import TsvOutput
from dna_bigbird.core.results import Result
from dna_bigbird.core.shared_options import BenchData

COLUMNS = (
    "task", "train", "test", "test_repeats_training", "test_overlaps", "test_overlaps_half",
    "test_overlaps_other_class", "repeated_in_training", "accuracy_by_length", "accuracy_of_majority",
)  # fmt: skip


@dataclass(frozen=True)
class BenchLeakage(Result):
    """What the test rows of each task of a suite share with its training rows."""

    output: Path
    rows: Sequence[dict[str, int | float | str]]

    def to_dataframe(self) -> DataFrame:
        """Return a row per task with the counts of the file."""
        return read_table(self.output)

    def summary(self) -> str:
        """Return a sentence per task."""
        return "\n".join(
            f"{row['task']}: {row['test_overlaps']:,} of {row['test']:,} test rows "
            f"({row['test_overlaps'] / max(1, row['test']):.1%}) overlap a training row, "
            f"{row['test_overlaps_half']:,} by at least half of both, {row['test_repeats_training']:,} are "
            f"training rows again; {row['repeated_in_training']:,} rows are repeated within training; length "
            f"alone has an accuracy of {row['accuracy_by_length']:.3f}, the majority class "
            f"{row['accuracy_of_majority']:.3f}"
            for row in self.rows
        )


@checked()
def bench_leakage(
    suite: str,
    data: BenchData,
    output: TsvOutput,
    tasks: list[str] = [],  # noqa: B006
) -> BenchLeakage:
    """Count the test rows of a suite that its own training rows give away, from the label files alone.

    It also gives the accuracy that the lengths of the intervals have: of the most frequent class among the
    training rows of the same or the nearest length.

    Intervals are compared as the files have them, on any strand; no genome is read. What else leaks, such as
    near-identical sequences, `dna-bigbird bench` counts for each task that it runs.

    Examples:
        dna-bigbird bench leakage genomic-benchmarks --data files --output leaks.tsv

    Args:
        suite: Suite with coordinates.
        output: Result to write: a table with a row per task, tab-separated.
        tasks: Tasks: those to compare.
    """
    from dna_bigbird.bench.leak_free import task_leaks
    from dna_bigbird.bench.suite_run import chosen
    from dna_bigbird.bench.suites.suite import find_suite
    from dna_bigbird.core.writing import atomic_path

    asked = find_suite(suite)
    if asked.intervals is None:
        raise InputError(
            f"{suite}: its label files are not compared as intervals; `dna-bigbird bench {suite}` counts "
            "what leaks for each task that it runs"
        )
    rows = [task_leaks(asked, data, task) for task in chosen(asked.tasks(data), tasks)]
    with atomic_path(output) as path:
        lines = ["\t".join(COLUMNS), *("\t".join(str(row[x]) for x in COLUMNS) for row in rows)]
        path.write_text("\n".join(lines) + "\n")
    return BenchLeakage(output, rows)
