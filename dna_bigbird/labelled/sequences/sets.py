"""Labelled sets of sequences that a user has: duplicates, splits, and the rows in memory."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dna_bigbird.core.errors import InputError
from dna_bigbird.genome import Genome, Interval
from dna_bigbird.genome.alphabet import reverse_complement
from dna_bigbird.genome.windows import Windows
from dna_bigbird.labelled.labelled_data import LabelledData, StoredSequences
from dna_bigbird.labelled.sequences.files import SequenceColumns, SequenceFile, SequenceRow
from dna_bigbird.labelled.sequences.labels import SequenceLabels, plain_labels
from dna_bigbird.labelled.splits import (
    SPLITS,
    STRADDLING,
    TEST,
    TRAIN,
    VALIDATION,
    SplitConfig,
    folds_of,
    group_windows,
)
from dna_bigbird.models.label_types import REGRESSION

TASK = "sequence"
USUAL_SHARE = 0.1
UNASSIGNED = -2
"""Split of rows that the command assigns."""


@dataclass(frozen=True)
class SequenceSplit:
    """How rows get their split where no file names it."""

    regions: SplitConfig
    """Regions, or folds; neither: shares of the rows."""
    validation_fraction: float | None = None
    test_fraction: float | None = None
    """None: a tenth, unless a file has those rows."""
    seed: int = 0

    def shares(self, has_validation: bool, has_test: bool) -> list[float]:
        """Return the share of each split in the rows to assign."""
        shares = [1.0]
        for name, share, has_file in (
            ("validation", self.validation_fraction, has_validation),
            ("test", self.test_fraction, has_test),
        ):
            if share is not None and has_file:
                raise InputError(f"--{name}_fraction {share}: the rows for it are in --{name}")
            shares.append(share if share is not None else USUAL_SHARE * (not has_file))
        shares[0] -= sum(shares[1:])
        if shares[0] <= 0:
            raise InputError(
                f"--validation_fraction and --test_fraction add up to {sum(shares[1:]):g}; nothing is left "
                "for training"
            )
        return shares


def build_sequences(
    rows: Sequence[SequenceRow],
    labels: SequenceLabels,
    roles: NDArray[np.int8],
    split: SequenceSplit,
    *,
    max_n_fraction: float,
    conflicts: str,
    duplicates: str = "drop",
) -> LabelledData:
    """Return the set: duplicates joined, every row in a split."""
    # Rows that are the same sequence on either strand, overlap in the genome or have the same group
    # are in one split, unless files name another.
    counts: dict[str, float] = {"rows_read": len(rows)}
    unknown = [x.sequence.count("N") for x in rows]
    lengths = np.array([len(x.sequence) for x in rows])
    has_n = np.array(unknown) > np.minimum(max_n_fraction * lengths, lengths - 1)
    counts["left_out_with_n"] = int(has_n.sum())
    kept = np.flatnonzero(~has_n)
    if duplicates == "drop":
        kept = kept[
            _distinct([rows[i] for i in kept], labels.keep(kept), roles[kept], conflicts, counts)
        ]
    rows, labels, roles = [rows[i] for i in kept], labels.keep(kept), roles[kept]
    windows = _windows(rows)
    belongs = _belongs_together(rows)
    splits = _splits(windows, belongs, labels, roles, split)
    outside = splits == STRADDLING
    counts["left_out_across_splits"] = int(outside.sum())
    data = _as_data(rows, windows, labels, splits, belongs, counts).keep(~outside)
    return with_counts(data)


def with_counts(data: LabelledData) -> LabelledData:
    """Return the set with the rows of each split counted."""
    rows = {f"rows_{name}": int((data.split == i).sum()) for i, name in enumerate(SPLITS)}
    if not rows["rows_train"]:
        raise InputError("no row is left for training; hold out fewer")
    return replace(data, counts=data.counts | rows)


def missing_notes(data: LabelledData) -> list[str]:
    """Return notes on classes or labels that a split lacks."""
    notes = []
    for number, name in enumerate(SPLITS):
        rows = np.flatnonzero(data.split == number)
        if not len(rows):
            notes.append(f"no row in the {name} split")
        elif data.label_type != REGRESSION:
            absent = [data.label_names[i] for i in np.flatnonzero(data.labels.positives(rows) == 0)]
            if absent:
                notes.append(f"no row of {', '.join(absent[:5])} in the {name} split")
    return notes


def _distinct(
    rows: Sequence[SequenceRow],
    labels: SequenceLabels,
    roles: NDArray[np.int8],
    conflicts: str,
    counts: dict[str, float],
) -> NDArray[np.int64]:
    """Return the rows to keep: of equal sequences the first of the split furthest held out."""
    values = labels.bits if labels.targets is None else labels.targets
    first: dict[str, int] = {}
    conflicting: set[str] = set()
    for number, row in enumerate(rows):
        other = first.setdefault(row.sequence, number)
        if (values[other] != values[number]).any():
            if conflicts == "error":
                raise InputError(
                    f"{row.where}: the sequence of {rows[other].where} with another label "
                    f"({', '.join(row.labels)}, before {', '.join(rows[other].labels)}). Correct one of "
                    "them, or leave such sequences out: --conflicts drop"
                )
            conflicting.add(row.sequence)
        if roles[number] > roles[other]:
            first[row.sequence] = number
    kept = [i for text, i in first.items() if text not in conflicting]
    dropped = sum(row.sequence in conflicting for row in rows)
    counts["left_out_conflicting_labels"] = dropped
    counts["left_out_duplicates"] = len(rows) - dropped - len(kept)
    return np.sort(np.array(kept, dtype=np.int64))


def _windows(rows: Sequence[SequenceRow]) -> Windows:
    """Return the intervals of the rows; a row without one is a chromosome of its own."""
    own = (Interval(f"sequence_{i}", 0, len(x.sequence)) for i, x in enumerate(rows, start=1))
    return Windows.of([x.interval or alone for x, alone in zip(rows, own, strict=True)])


def _belongs_together(rows: Sequence[SequenceRow]) -> NDArray[np.int64]:
    """(n,), equal for rows of one sequence on either strand, and for rows of one group."""
    alone = Windows(
        tuple(map(str, range(len(rows)))),
        np.arange(len(rows), dtype=np.uint32),
        np.zeros(len(rows), dtype=np.int64),
        1,
    )
    either = [min(x.sequence, reverse_complement(x.sequence)) for x in rows]
    return _joined(alone, either, [x.group for x in rows])


def _joined(windows: Windows, *keys: Sequence[str]) -> NDArray[np.int64]:
    """Return groups of rows that overlap or have one of several keys in common."""
    groups = group_windows(windows)
    for key in keys:
        labelled = Windows(windows.chromosomes, groups.astype(np.uint32), np.zeros_like(groups), 1)
        groups = group_windows(labelled, list(key))
    return groups


def _splits(
    windows: Windows,
    belongs: NDArray[np.int64],
    labels: SequenceLabels,
    roles: NDArray[np.int8],
    split: SequenceSplit,
) -> NDArray[np.int8]:
    has = {name: bool((roles == number).any()) for number, name in enumerate(SPLITS)}
    splits, free = roles.astype(np.int8), np.flatnonzero(roles == UNASSIGNED)
    config = split.regions
    if config.folds or config.validation or config.test:
        if has["validation"] or has["test"] or split.validation_fraction or split.test_fraction:
            raise InputError(
                "--split goes with --input alone; leave out the other files and fractions"
            )
        keys = [str(number) for number in belongs[free]]
        if config.folds:
            groups = _joined(windows[free], keys)
            splits[free] = config.split_of_groups(groups, labels.keep(free).strata)
        else:
            splits[free] = config.split_of_rows(windows[free], keys)
        return splits
    shares = split.shares(has["validation"], has["test"])
    if not len(free):  # each row's file names its split
        return splits
    used = [number for number in (TRAIN, VALIDATION, TEST) if shares[number] > 0]
    groups = _joined(windows[free], [str(number) for number in belongs[free]])
    if len(np.unique(groups)) < len(used):
        raise InputError(
            f"the rows of --input belong to {len(np.unique(groups))} groups; too few to split"
        )
    fold = folds_of(
        groups,
        len(used),
        split.seed,
        shares=[shares[number] for number in used],
        strata=labels.keep(free).strata,
    )
    splits[free] = np.array(used, dtype=np.int8)[fold]
    return splits


def _as_data(
    rows: Sequence[SequenceRow],
    windows: Windows,
    labels: SequenceLabels,
    splits: NDArray[np.int8],
    belongs: NDArray[np.int64],
    counts: dict[str, float],
) -> LabelledData:
    return LabelledData(
        task=TASK,
        window_bp=windows.window_bp,
        label_names=labels.names,
        label_groups=[TASK] * len(labels.names),
        intervals=windows,
        names=[x.name for x in rows],
        labels=labels.bits,
        split=np.where(splits == STRADDLING, 0, splits).astype(np.uint8),
        sequences=StoredSequences.of([x.sequence for x in rows]),
        stored=np.arange(len(rows)),
        pair=belongs,
        counts=counts,
        label_type=labels.label_type,
        targets=labels.targets,
        has_coordinates=bool(rows) and rows[0].interval is not None,
    )


def read_rows(
    files: Sequence[SequenceFile], columns: SequenceColumns, genome: Genome | None, missing: str
) -> tuple[list[SequenceRow], NDArray[np.int8], int]:
    """Return the rows with a label, their splits where files name them, and how many lack one."""
    rows: list[SequenceRow] = []
    roles: list[int] = []
    is_class: list[bool] = []
    for file in files:
        read = list(file.rows(columns, genome))
        if not read:
            raise InputError(f"{file.path}: no sequence in it; expected at least one")
        if rows and (read[0].interval is None) != (rows[0].interval is None):
            raise InputError(
                f"{file.path}: has {'no ' if read[0].interval is None else ''}coordinates, unlike "
                f"{files[0].path}; give files of one form"
            )
        if rows and len(read[0].labels) != len(rows[0].labels):
            raise InputError(f"{file.path}: has other label columns than {files[0].path}")
        rows += read
        role = SPLITS.index(file.role) if file.role in SPLITS else UNASSIGNED
        roles += [role] * len(read)
        is_class += [bool(file.class_name)] * len(read)
    of_class, in_cells = np.flatnonzero(is_class), np.flatnonzero(~np.array(is_class))
    plain, kept = plain_labels([rows[i] for i in in_cells], missing)
    order = np.concatenate([of_class, in_cells[kept]])
    if not len(order):
        raise InputError(f"{files[0].path}: no row has a label")
    some = [*(rows[i] for i in of_class), *plain]
    positions = np.argsort(order)
    splits = np.array(roles, dtype=np.int8)[order[positions]]
    return [some[i] for i in positions], splits, len(rows) - len(order)
