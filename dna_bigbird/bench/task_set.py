"""The labelled set of a benchmark task, as published: no row is dropped for what another one shows."""

import hashlib
from pathlib import Path

import numpy as np

from dna_bigbird.bench.suites.suite import LabelledRows, Suite, Task
from dna_bigbird.core.errors import InputError
from dna_bigbird.labelled.labelled import LabelledSet
from dna_bigbird.labelled.labelled_data import LabelledData, write_labelled_set
from dna_bigbird.labelled.sequences.labels import encode_labels
from dna_bigbird.labelled.sequences.sets import SequenceSplit, build_sequences
from dna_bigbird.labelled.splits import SPLITS, SplitConfig

SPLIT_SEED = 0
"""Of the validation rows that are taken from the training rows; the same for every training seed."""
MOST_N = 1.0
"""Only sequences without any A, C, G or T are left out."""


def write_task_set(path: Path, suite: Suite, task: Task, rows: LabelledRows) -> LabelledSet:
    """Write the set of a task and open it.

    Training rows of a suite without validation rows give a tenth, whole groups of overlapping or equal
    rows, to validation. Duplicates stay where the suite has them.

    Raises:
        InputError: If there is nothing to train on or no test row.
    """
    data = task_data(task, rows)
    digest = hashlib.sha256()
    for row in rows.rows:
        digest.update(f"{row.sequence}\t{row.labels}\t{row.name}\n".encode())
    genome = _Lengths(data) if data.has_coordinates else None
    write_labelled_set(
        path,
        data,
        genome,
        assembly=rows.assembly,
        command=f"bench {suite.name} --tasks {task.name}",
        inputs={"rows": digest.hexdigest()},
    )
    return LabelledSet(path)


def task_data(task: Task, rows: LabelledRows) -> LabelledData:
    """Return the set of a task in memory; the rows read include those that the suite's reader left out.

    Raises:
        InputError: If there is nothing to train on or no test row, or if training rows cannot be split.
    """
    _check_parts(task, rows)
    labels = encode_labels(rows.rows, rows.label_names, label_type=rows.label_type)
    try:
        data = build_sequences(
            rows.rows,
            labels,
            rows.roles,
            SequenceSplit(SplitConfig(), seed=SPLIT_SEED),
            max_n_fraction=MOST_N,
            conflicts="drop",
            duplicates="keep",
        )
    except InputError as error:
        raise InputError(f"{task.name}: {error}") from error
    read = {"rows_read": rows.counts.get("rows_read", len(rows.rows))}
    data.counts = dict(rows.counts) | data.counts | read
    return data


def _check_parts(task: Task, rows: LabelledRows) -> None:
    is_test = rows.roles == SPLITS.index("test")
    for name, number in (("training", int((~is_test).sum())), ("test", int(is_test.sum()))):
        if not number:
            left = ", ".join(f"{key.replace('_', ' ')} {n:,}" for key, n in rows.counts.items())
            raise InputError(f"{task.name}: no {name} row is left ({left or 'none was read'})")


class _Lengths:
    """Chromosome lengths as far as the rows show them; all that a set with its own sequences needs."""

    def __init__(self, data: LabelledData) -> None:
        windows = data.intervals
        ends = np.zeros(len(windows.chromosomes), dtype=np.int64)
        np.maximum.at(ends, windows.chrom, windows.end.astype(np.int64))
        # A row that starts at 0 must not look like a sequence without coordinates.
        self.lengths = {
            name: max(int(end), data.window_bp + 1)
            for name, end in zip(windows.chromosomes, ends, strict=True)
        }
