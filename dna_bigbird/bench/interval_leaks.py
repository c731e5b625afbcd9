"""Steps of `bench leakage`: the intervals of one task, compared."""

from pathlib import Path

import numpy as np

from dna_bigbird.baselines.sequence_length import length_scores
from dna_bigbird.bench.suites.suite import Suite, Task
from dna_bigbird.genome.windows import Windows
from dna_bigbird.labelled.interval_overlaps import overlaps, repeated


def task_leaks(suite: Suite, data: Path, task: Task) -> dict[str, int | float | str]:
    """Return the counts of one task, by column of the table of `bench leakage`."""
    rows = list(suite.intervals(data, task))
    classes = np.unique([row.class_name for row in rows], return_inverse=True)[1]
    windows = Windows.of([row.interval for row in rows])
    is_test = np.array([row.is_test for row in rows])
    train, test = windows[~is_test], windows[is_test]
    labels = np.eye(classes.max() + 1)[classes[~is_test]]
    lengths = windows.end - windows.start
    by_length = length_scores(lengths[~is_test], labels, lengths[is_test]).argmax(axis=1)
    shared = overlaps(test, classes[is_test], train, classes[~is_test])
    return {
        "task": task.name,
        "train": len(train),
        "test": len(test),
        "test_repeats_training": int(shared.equal.sum()),
        "test_overlaps": int(shared.shared.sum()),
        "test_overlaps_half": int(shared.half.sum()),
        "test_overlaps_other_class": int(shared.other_class.sum()),
        "repeated_in_training": int(repeated(train).sum()),
        "accuracy_by_length": round(float((by_length == classes[is_test]).mean()), 4),
        "accuracy_of_majority": round(
            float((labels.mean(axis=0).argmax() == classes[is_test]).mean()), 4
        ),
    }
