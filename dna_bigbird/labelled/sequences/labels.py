"""Labels that a table has as text: which type they are, and their values."""

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dna_bigbird.core.errors import InputError, note, shortened
from dna_bigbird.core.plain_numbers import decimal_number, shortest
from dna_bigbird.labelled.sequences.files import SequenceRow
from dna_bigbird.models.label_types import BINARY, MULTI_CLASS, MULTI_LABEL, REGRESSION

MOST_CLASSES = 50
"""If the label column has more different whole numbers, the type must be named."""
TRUTH = {"false": "0", "true": "1"}
_MISSING = re.compile(
    r"\.?|None|NONE|(?i:[-+]?nan|#?n/?a|<na>|null|#N/A N/A|-?1\.#(IND|QNAN)|#(DIV/0|NULL|NUM|REF|VALUE)!|#NAME\?)"
)
"""What pandas, R, SQL, Excel and BED write for no value; `none` is a class."""
_DECIMAL_COMMA = re.compile(r"[-+]?[0-9]*(\.[0-9]{3})*,[0-9]+([eE][-+]?[0-9]+)?")


@dataclass(frozen=True)
class SequenceLabels:
    """The labels of n rows."""

    label_type: str
    names: list[str]
    """Labels, classes or targets, L."""
    bits: NDArray[np.uint8]
    """(n, L), 0 or 1, exactly one 1 per row for classes; (n, 0) for targets."""
    targets: NDArray[np.float64] | None = None
    """(n, L)."""

    @property
    def strata(self) -> NDArray[np.int64]:
        """(n,), equal for rows of one class, one set of labels, or one tenth of the first target."""
        if self.targets is not None:
            edges = np.quantile(self.targets[:, 0], np.linspace(0, 1, 11)[1:-1])
            return np.searchsorted(edges, self.targets[:, 0])
        packed = np.packbits(self.bits, axis=1)
        return np.unique(packed, axis=0, return_inverse=True)[1].reshape(-1)

    def keep(self, rows: NDArray) -> "SequenceLabels":
        """Return the labels of some rows."""
        targets = None if self.targets is None else self.targets[rows]
        return SequenceLabels(self.label_type, self.names, self.bits[rows], targets)


def plain_labels(
    rows: Sequence[SequenceRow], missing: str
) -> tuple[list[SequenceRow], NDArray[np.int64]]:
    """Return the rows that have all labels, each value in one spelling, and their indices."""
    # If some labels are not numbers, those with an exponent stay: 1E5 among names is one of them.
    kept = _with_labels(rows, missing)
    texts = {text for i in kept for text in rows[i].labels}
    if {text.lower() for text in texts} <= {*TRUTH, "0", "1"}:
        spelling = {text: TRUTH.get(text.lower(), text) for text in texts}
    else:
        names = {text for text in texts if decimal_number(text) is None}
        if names and all(map(_DECIMAL_COMMA.fullmatch, names)):
            _refuse_comma([rows[i] for i in kept], names)
        spelling = {
            text: text if names and "e" in text.lower() else shortest(text) for text in texts
        }
    plain = [replace(rows[i], labels=tuple(spelling[x] for x in rows[i].labels)) for i in kept]
    return plain, np.array(kept, dtype=np.int64)


def _with_labels(rows: Sequence[SequenceRow], missing: str) -> list[int]:
    first: dict[int, str] = {}
    for number, row in enumerate(rows):
        if text := [x for x in row.labels if _MISSING.fullmatch(x)]:
            first[number] = text[0]
    if first:
        spellings = ", ".join(
            f"{n:,} {text!r}" for text, n in Counter(first.values()).most_common()
        )
        where = rows[next(iter(first))].where
        if missing == "error":
            raise InputError(
                f"{where}: no label; {len(first):,} of {len(rows):,} rows have none ({spellings}). Leave them out with "
                "--missing drop; give a class another name than these"
            )
        note(
            f"{len(first):,} of {len(rows):,} rows have no label ({spellings}), the first at {where}; left out"
        )
    return [number for number in range(len(rows)) if number not in first]


def _refuse_comma(rows: Sequence[SequenceRow], commas: set[str]) -> None:
    row, text = next((row, text) for row in rows for text in row.labels if text in commas)
    raise InputError(
        f"{row.where}: the label is {shortened(text)!r}, with a decimal comma; write a point, "
        f"{text.replace('.', '').replace(',', '.')}, and thousands without a mark"
    )


def encode_labels(
    rows: Sequence[SequenceRow],
    columns: Sequence[str],
    *,
    label_type: str = "auto",
    positive: str = "",
) -> SequenceLabels:
    """Return the labels of rows; `positive` makes a binary label of two classes."""
    if positive:
        return _binary_class(rows, positive, label_type)
    chosen = _inferred(rows, columns) if label_type == "auto" else label_type
    if chosen == REGRESSION:
        values = np.array([[_target(text, row) for text in row.labels] for row in rows])
        return SequenceLabels(chosen, list(columns), np.zeros((len(rows), 0), np.uint8), values)
    if chosen == MULTI_CLASS:
        return _classes(rows, columns)
    if chosen == BINARY and len(columns) != 1:
        raise InputError(
            f"--type binary: there are {len(columns)} label columns; expected one, or --type multi-label"
        )
    bits = np.array([[_bit(text, row) for text in row.labels] for row in rows], dtype=np.uint8)
    return SequenceLabels(BINARY if len(columns) == 1 else MULTI_LABEL, list(columns), bits)


def _inferred(rows: Sequence[SequenceRow], columns: Sequence[str]) -> str:
    texts = {text for row in rows for text in row.labels}
    if texts <= {"0", "1"}:
        return BINARY if len(columns) == 1 else MULTI_LABEL
    numbers = {text: number for text in texts if (number := decimal_number(text)) is not None}
    is_numeric = len(numbers) == len(texts)
    if any(not math.isfinite(number) or number % 1 for number in numbers.values()):
        if not is_numeric:
            row, text = next((x, text) for x in rows for text in x.labels if text not in numbers)
            raise InputError(
                f"{row.where}: the label is {shortened(text)!r}, and others are numbers with decimals; correct it, or "
                "name the type: --type multi-class"
            )
        return REGRESSION
    if len(columns) > 1:
        row = next(x for x in rows if not set(x.labels) <= {"0", "1"})
        wrong = next(text for text in row.labels if text not in ("0", "1"))
        raise InputError(
            f"{row.where}: {shortened(wrong)!r} in a label column; several label columns have 0 and 1, or "
            "numbers with --type regression"
        )
    if is_numeric and len(texts) > MOST_CLASSES:
        raise InputError(
            f"{rows[0].where}: the column {columns[0]} has {len(texts)} different whole numbers; name "
            "what they are: --type regression or --type multi-class"
        )
    return MULTI_CLASS


def _classes(rows: Sequence[SequenceRow], columns: Sequence[str]) -> SequenceLabels:
    if len(columns) != 1:
        raise InputError(
            f"--type multi-class: there are {len(columns)} label columns; expected one with the class"
        )
    counts: dict[str, list[SequenceRow]] = {}
    for row in rows:
        counts.setdefault(row.labels[0], []).append(row)
    for name, members in counts.items():
        if len(members) < 2:
            raise InputError(
                f"{members[0].where}: the only row of the class {shortened(name)!r}; a class needs rows "
                "to learn from and rows to score. Leave the row out, or join the class with another"
            )
    if len(counts) < 2:
        raise InputError(
            f"{rows[0].where}: every row has the class {shortened(rows[0].labels[0])!r}; expected at least "
            "two classes. Give one file per class, or rows of several"
        )
    is_numeric = all(decimal_number(text) is not None for text in counts)
    names = sorted(counts, key=float) if is_numeric else sorted(counts)
    number = {name: column for column, name in enumerate(names)}
    bits = np.zeros((len(rows), len(names)), dtype=np.uint8)
    bits[np.arange(len(rows)), [number[row.labels[0]] for row in rows]] = 1
    return SequenceLabels(MULTI_CLASS, names, bits)


def _binary_class(rows: Sequence[SequenceRow], positive: str, label_type: str) -> SequenceLabels:
    classes = sorted({text for row in rows for text in row.labels})
    label = TRUTH.get(positive.lower(), shortest(positive))
    label = positive if positive in classes else label
    if label_type not in ("auto", BINARY) or len(classes) != 2 or label not in classes:
        raise InputError(
            f"--positive {positive}: expected the name of one of two classes, as written; the classes are "
            f"{shortened(', '.join(classes))}"
        )
    bits = np.array([[row.labels[0] == label] for row in rows], dtype=np.uint8)
    name = positive if positive in classes else shortest(positive)
    return SequenceLabels(BINARY, [name], bits)


def _target(text: str, row: SequenceRow) -> float:
    number = decimal_number(text)
    if number is None or not math.isfinite(number):
        raise InputError(
            f"{row.where}: the target is {shortened(text)!r}; expected a finite number"
        )
    return number


def _bit(text: str, row: SequenceRow) -> int:
    if text not in ("0", "1"):
        raise InputError(
            f"{row.where}: the label is {shortened(text)!r}; expected 0 or 1. Of two classes name one: "
            "--positive NAME; for more: --type multi-class"
        )
    return int(text)
