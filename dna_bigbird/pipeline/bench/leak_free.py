"""Which test rows of a benchmark task count for the leak-free score."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dna_bigbird.bundles.bundle import Bundle
from dna_bigbird.datasets.labelled import LabelledSet
from dna_bigbird.datasets.test_leaks import find_test_leaks
from dna_bigbird.evaluation.task_results import READ_WITH_LABELS, READ_WITHOUT_LABELS
from dna_bigbird.pipeline.rows_read import rows_read


@dataclass(frozen=True)
class LeakFree:
    """The test rows of a task, and which of them nothing was trained on."""

    test: NDArray[np.int64]
    """(n,), rows of the set."""
    keeps: NDArray[np.bool_]
    """(n,)."""
    counts: dict[str, int]
    """Rows left out by reason, each once, and rows that pretraining has read, which stay."""
    notes: tuple[str, ...] = ()

    def rows(self, subset: str) -> NDArray[np.int64]:
        """Return the rows of a subset of `evaluation.task_results.SUBSETS`."""
        return self.test if subset == "published" else self.test[self.keeps]


def leak_free(labelled: LabelledSet, bundle: Bundle) -> LeakFree:
    """Find the test rows that share something with other rows, or that the model has read."""
    leaks = find_test_leaks(labelled)
    read = rows_read(bundle, labelled, leaks.rows)
    counts = leaks.counts()
    counts[READ_WITH_LABELS] = int((read.with_labels & ~leaks.any).sum())
    keeps = ~leaks.any & ~read.with_labels
    counts[READ_WITHOUT_LABELS] = int((read.without_labels & keeps).sum())
    notes = ()
    if not read.is_known:
        notes = (
            "Not all that the model read in its trainings can be compared with the test rows: it is not recorded, "
            "on another assembly, or the rows have no coordinates.",
        )
    return LeakFree(leaks.rows, keeps, counts, notes)
