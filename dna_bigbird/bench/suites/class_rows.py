"""Rows of tasks whose label is the number of a class, as GUE and the Nucleotide Transformer tasks have."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dna_bigbird.bench.suites.suite import LabelledRows
from dna_bigbird.core.errors import InputError, shortened
from dna_bigbird.core.plain_numbers import shortest, whole_number
from dna_bigbird.genome.fasta_stream import FastaRecord, dna_of
from dna_bigbird.labelled.sequences.files import SequenceRow
from dna_bigbird.labelled.splits import TEST, VALIDATION
from dna_bigbird.models.label_types import MULTI_CLASS


def class_row(
    path: Path, line: int, part: str, letters: str, label: str, classes: int
) -> SequenceRow:
    """Return a row: bases in upper case, the number of the class as text.

    Args:
        line: Line or row in the file, from 1.
        part: Such as `train`; begins the row's name.
        letters: N and lower case are accepted; IUPAC codes become N, U becomes T.
        classes: Labels are 0 to classes - 1.

    Raises:
        InputError: With file and line, if there are no letters or other letters, or the label is not one
            of the numbers.
    """
    where = f"{path}:{line}"
    if not letters:
        raise InputError(f"{where}: no sequence; expected letters of DNA")
    number = whole_number(shortest(label))
    if number is None or not 0 <= number < classes:
        raise InputError(
            f"{where}: the label is {shortened(label)!r}; expected a whole number from 0 to {classes - 1}, "
            "the number of the class"
        )
    bases = dna_of(FastaRecord(part, letters, line), path)
    return SequenceRow(bases, (str(number),), where, f"{part}:{line}")


def labelled_classes(rows: list[SequenceRow], roles: Sequence[int], classes: int) -> LabelledRows:
    """Return the rows of a task with how many were read, and how many classes have no training row.

    Raises:
        InputError: If a class has training rows and no test row: the score would be one of fewer classes.
    """
    splits: NDArray[np.int8] = np.array(roles, dtype=np.int8)
    counts = {"rows_read": len(rows)}
    is_training = (splits != TEST) & (splits != VALIDATION)
    training = {rows[i].labels[0]: rows[i] for i in np.flatnonzero(is_training)[::-1]}
    tested = {rows[i].labels[0] for i in np.flatnonzero(splits == TEST)}
    for label in sorted(training.keys() - tested):
        path = rows[int(np.argmax(splits == TEST))].where.rpartition(":")[0]
        raise InputError(
            f"{path}: no row of class {label}, which {training[label].where} has; expected test rows of "
            "every class, or the score would be one of fewer classes. Is the copy complete?"
        )
    if len(training) < classes:
        counts["classes_without_training_rows"] = classes - len(training)
    return LabelledRows(rows, splits, MULTI_CLASS, counts=counts)
