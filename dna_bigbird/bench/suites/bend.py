"""BEND (Marin et al. 2024): the three tasks with one set of labels per window of 512 bp.

Format (the repository's README and bend/io/sequtils.py): `data/TASK/TASK.bed`, tab-separated with a header,
columns chromosome, start, end (0-based, half-open), split, and optionally strand and label; `label` lists
the numbers of the labels that are 1, between commas, nothing for none. Without that column the labels are the
data set `labels` of `TASK.hdf5`, row i of both belongs together. Published metric: the mean over labels of
the area under the ROC curve (bend/utils/task_trainer.py).

The order of the columns and the exact split names of the published files could not be confirmed; columns are
read by name. `UNSUPPORTED` lists the other supervised tasks; `bend_variants` has the variants.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import h5py
import numpy as np
from numpy.typing import NDArray

from dna_bigbird.bench.suites.genomes import Genomes
from dna_bigbird.bench.suites.suite import LabelledRows, Suite, Task, check_size, published_scores
from dna_bigbird.bench.suites.tables import Cells, check_length, read_table
from dna_bigbird.core.errors import InputError, shortened
from dna_bigbird.core.files import check_readable
from dna_bigbird.core.hdf5 import read_hdf5
from dna_bigbird.core.plain_numbers import whole_number
from dna_bigbird.genome import Interval
from dna_bigbird.labelled.sequences.files import SequenceRow
from dna_bigbird.labelled.splits import TEST, TRAIN, VALIDATION
from dna_bigbird.models.label_types import MULTI_LABEL

# A matrix of 0/1 labels in an HDF5 file of others, whose rows are those of a table next to it.


def read_label_matrix(
    path: Path, name: str, rows: int, labels: int, table: Path
) -> NDArray[np.uint8]:
    """Return the 0/1 labels of data set `name`, (rows, labels); `table` has the intervals."""
    check_readable(path)
    try:
        with read_hdf5(path) as file:
            if not isinstance(file.get(name), h5py.Dataset):
                raise InputError(
                    f"{path}: no data set {name!r} in it; it has {', '.join(file) or 'nothing'}"
                )
            values = file[name][()]
    except OSError as error:
        raise InputError(
            f"{path}: this is not a whole HDF5 file: {error}. Copy it again"
        ) from error
    if values.ndim != 2 or values.shape[1] != labels:
        raise InputError(
            f"{path}: {name} has the shape {values.shape}; expected {rows} rows with {labels} labels"
        )
    if len(values) != rows:
        raise InputError(
            f"{path}: {name} has {len(values):,} rows, {table.name} has {rows:,}; row i of one belongs to row i of "
            "the other. Are both files of one version, and whole?"
        )
    wrong = np.flatnonzero(~np.isin(values, (0, 1)).all(axis=1))
    if len(wrong):
        raise InputError(
            f"{path}: row {wrong[0] + 1} of {name} has other values than 0 and 1; expected 0/1 labels"
        )
    return values.astype(np.uint8)


NAME = "bend"
COLUMNS = ("chromosome", "start", "end", "split")
OPTIONAL = ("strand", "label")
SPLITS = {"train": TRAIN, "valid": VALIDATION, "test": TEST}
WINDOW_BP = 512
"""Length of every window (conf/datadims/seq_lengths.yaml)."""
DATASET = "labels"
UNSUPPORTED = {
    "gene_finding": "it has one of nine classes per base of a gene, and a model here has labels per window",
    "enhancer_annotation": "it has labels per 128 bp of windows of 100,096 bp, which a model must read at once",
}
"""Supervised tasks that are not read, and why."""


@dataclass(frozen=True)
class LabelSet:
    """What the labels of a task are."""

    labels: int
    """Number of labels (conf/datadims/label_dims.yaml)."""
    assembly: str
    about: str


LABEL_SETS = {
    "chromatin_accessibility": LabelSet(125, "GRCh37", "Open chromatin, 125 labels."),
    "histone_modification": LabelSet(18, "GRCh38", "Histone marks, 18 labels."),
    "cpg_methylation": LabelSet(7, "GRCh38", "Methylation of CpG sites, 7 labels."),
}


def task_file(folder: Path, task: str) -> Path | None:
    """Return the BED file of a task below a folder; None if absent."""
    roots = (folder, folder / "data")
    paths = (root / below for root in roots for below in (f"{task}/{task}.bed", f"{task}.bed"))
    return next((path for path in paths if path.is_file()), None)


def tasks(folder: Path) -> list[Task]:
    """Return the tasks that have a BED file."""
    listed = [
        Task(
            name,
            "macro_auroc",
            labels.about,
            published=published_scores(NAME, name),
            assembly=labels.assembly,
        )
        for name, labels in LABEL_SETS.items()
        if task_file(folder, name)
    ]
    if not listed:
        others = [f"{name}: {why}" for name, why in UNSUPPORTED.items() if task_file(folder, name)]
        advice = f"; not supported is {'; '.join(others)}" if others else ""
        raise InputError(
            f"{folder}: no task of BEND in it; expected files such as "
            f"data/histone_modification/histone_modification.bed{advice}"
        )
    return listed


def read(folder: Path, task: Task, genomes: Genomes) -> LabelledRows:
    """Read the windows of a task, their labels, and their bases from the genome."""
    path = task_file(folder, task.name)
    if path is None:
        raise InputError(f"{folder}: no {task.name}.bed")
    labels = LABEL_SETS[task.name]
    table = list(read_table(path, COLUMNS, OPTIONAL))
    bits = _labels(path, table, labels.labels)
    target = genomes.open(labels.assembly)
    counts: Counter[str] = Counter(rows_read=len(table))
    rows: list[SequenceRow] = []
    roles: list[int] = []
    for (line, cells), row_bits in zip(table, bits, strict=True):
        where = f"{path}:{line}"
        role = split_of(cells["split"], where)
        located = target.locate(window_of(cells, where), where)
        if isinstance(located, str):
            counts[f"left_out_{located}"] += 1
            continue
        check_size(path, len(rows) + 1, labels.labels)
        bases, name = target.genome.fetch(located), f"{cells['split']}:{line}"
        rows.append(SequenceRow(bases, row_bits, where, name, "", located))
        roles.append(role)
    if not rows:
        raise InputError(f"{path}: none of its rows is on {target.genome.path.name}")
    names = tuple(f"label_{i}" for i in range(labels.labels))
    splits = np.array(roles, dtype=np.int8)
    return LabelledRows(rows, splits, MULTI_LABEL, names, target.assembly, dict(counts))


def _labels(
    path: Path, table: Sequence[tuple[int, Cells]], labels: int
) -> Iterator[tuple[str, ...]]:
    """Yield '0' or '1' of each label for the rows of a BED file, from its column or the HDF5 file."""
    if "label" in table[0][1]:
        for line, cells in table:
            positive = set(listed_labels(cells["label"], labels, f"{path}:{line}"))
            yield tuple("01"[i in positive] for i in range(labels))
    else:
        matrix = read_label_matrix(path.with_suffix(".hdf5"), DATASET, len(table), labels, path)
        for values in matrix:
            yield tuple("01"[value] for value in values)


def split_of(text: str, where: str) -> int:
    """Return the number of a split."""
    if text not in SPLITS:
        raise InputError(
            f"{where}: the split is {shortened(text)!r}; expected the word train, valid or test"
        )
    return SPLITS[text]


def window_of(cells: Cells, where: str) -> Interval:
    """Return the interval of a row, 0-based and half-open; without a strand it is on +."""
    start, end = whole_number(cells["start"]), whole_number(cells["end"])
    if start is None or end is None or start < 0:
        raise InputError(
            f"{where}: start {shortened(cells['start'])!r} and end {shortened(cells['end'])!r}; expected whole numbers"
        )
    check_length(start, end, WINDOW_BP, where)
    strand = cells.get("strand", "+") or "+"
    if strand not in ("+", "-", "."):
        raise InputError(f"{where}: strand {shortened(strand)!r}; expected +, - or .")
    return Interval(cells["chromosome"], start, end, strand.replace(".", "+"))


def listed_labels(text: str, labels: int, where: str) -> list[int]:
    """Return the numbers of the labels that are 1; none for an empty text.

    Example:
        >>> listed_labels("1,4,17", 18, "a.bed:2"), listed_labels("", 18, "a.bed:3")
        ([1, 4, 17], [])
    """
    numbers = []
    for part in text.split(",") if text else []:
        number = whole_number(part.strip())
        if number is None or not 0 <= number < labels:
            raise InputError(
                f"{where}: {shortened(part)!r} in the column label; expected numbers from 0 to {labels - 1} "
                "between commas, those of the labels that are 1"
            )
        numbers.append(number)
    return numbers


SUITE = Suite(
    name=NAME,
    title="BEND",
    about="windows of 512 bp: open chromatin, histone marks, CpG methylation",
    where="the data folder that the README of the repository frederikkemarin/BEND on GitHub links to",
    licence="not stated for the data; the code is BSD-3-Clause",
    layout="data/TASK/TASK.bed with chromosome,start,end,split and strand,label; labels also as TASK.hdf5",
    source="Marin et al. 2024, ICLR 2024, arXiv 2311.12570",
    tasks=tasks,
    read=read,
    faults=(
        "The paper trains a small CNN on the embeddings of a frozen encoder: compare its scores with --method "
        "probe. Gene finding and enhancer annotation are not supported: "
        + "; ".join(f"{name}: {why}" for name, why in UNSUPPORTED.items())
        + "."
    ),
)
