"""Genome Understanding Evaluation (Zhou et al. 2024, DNABERT-2): 28 sets of sequences with a class.

Format: `GROUP/NAME/{train,dev,test}.csv` with the header sequence,label; confirmed by the authors'
finetune/scripts/run_dnabert2.sh, finetune/train.py and sample_data. Published metrics: the Matthews
correlation, for covid F1 averaged over classes (their train.py computes both).
"""

from dataclasses import dataclass
from pathlib import Path

from dna_bigbird.bench.suites.genomes import Genomes
from dna_bigbird.bench.suites.suite import LabelledRows, Suite, Task, published_scores
from dna_bigbird.bench.suites.tables import class_row, labelled_classes, read_table
from dna_bigbird.core.errors import InputError
from dna_bigbird.labelled.sequences.files import SequenceRow
from dna_bigbird.labelled.splits import TEST, TRAIN, VALIDATION

NAME = "gue"
PARTS = {"train": TRAIN, "dev": VALIDATION, "test": TEST}
COLUMNS = ("sequence", "label")
MARKS = (
    "H3", "H3K14ac", "H3K36me3", "H3K4me1", "H3K4me2", "H3K4me3", "H3K79me3", "H3K9ac", "H4", "H4ac",
)  # fmt: skip
"""Histone marks of yeast, which the original Nucleotide Transformer tasks also have."""


@dataclass(frozen=True)
class Group:
    """Sets in one folder."""

    folder: str
    names: tuple[str, ...]
    """Folders below it, in the order of the paper's tables."""
    about: str
    classes: int = 2
    metric: str = "mcc"
    prefix: str = ""
    """Of task names; empty where the folder's name says enough."""


GROUPS = (
    Group("EMP", MARKS, "Yeast DNA with a histone mark, or without; 500 bp.", prefix="emp_"),
    Group(
        "prom",
        ("prom_300_all", "prom_300_notata", "prom_300_tata"),
        "Human promoters, or sequences that are none; 300 bp.",
    ),
    Group(
        "prom",
        ("prom_core_all", "prom_core_notata", "prom_core_tata"),
        "Human core promoters, or sequences that are none; 70 bp.",
    ),
    Group("tf", tuple("01234"), "Human DNA bound by a transcription factor, or not.", prefix="tf_"),
    Group(
        "mouse",
        tuple("01234"),
        "Mouse DNA bound by a transcription factor, or not.",
        prefix="mouse_",
    ),
    Group("virus", ("covid",), "Variant of SARS-CoV-2, nine.", 9, "macro_f1", "virus_"),
    Group(
        "splice",
        ("reconstructed",),
        "Donor site, acceptor site, or neither; human, 400 bp.",
        3,
        prefix="splice_",
    ),
)


TASKS = {f"{group.prefix}{name}": (group, name) for group in GROUPS for name in group.names}
"""Name to group and folder."""


def task_folder(folder: Path, task: str) -> Path | None:
    """Return the folder with a task's files, None if it is absent."""
    # Copies on dataset hubs have a folder with the name of the task instead of GROUP/NAME.
    group, name = TASKS[task]
    roots = (folder, folder / "GUE", folder / "GUE" / "GUE")
    paths = (root / below for root in roots for below in (f"{group.folder}/{name}", task))
    return next((path for path in paths if path.is_dir()), None)


def tasks(folder: Path) -> list[Task]:
    """Return the tasks that have a folder."""
    listed = [
        Task(name, group.metric, group.about, published=published_scores(NAME, name))
        for name, (group, _) in TASKS.items()
        if task_folder(folder, name)
    ]
    if not listed:
        raise InputError(f"{folder}: no task of GUE in it; expected folders such as GUE/EMP/H3")
    return listed


def read(folder: Path, task: Task, genomes: Genomes) -> LabelledRows:
    """Read the rows of a task; dev.csv is the validation split."""
    here = task_folder(folder, task.name)
    if here is None:
        raise InputError(f"{folder}: no folder of the task {task.name}")
    classes = TASKS[task.name][0].classes
    rows: list[SequenceRow] = []
    roles: list[int] = []
    for part, role in PARTS.items():
        path = here / f"{part}.csv"
        if not path.is_file():
            raise InputError(f"{here}: no {part}.csv; expected train.csv, dev.csv and test.csv")
        for line, cells in read_table(path, COLUMNS):
            rows.append(class_row(path, line, part, cells["sequence"], cells["label"], classes))
            roles.append(role)
    return labelled_classes(rows, roles, classes)


SUITE = Suite(
    name=NAME,
    title="GUE",
    about="28 sets: promoters, transcription factors, splice sites, yeast marks, virus variants",
    where="the archive GUE.zip that the repository MAGICS-LAB/DNABERT_2 on GitHub links to",
    licence="not stated for the data; the repository is Apache-2.0",
    layout="GUE/{EMP,prom,splice,virus,mouse,tf}/TASK/{train,dev,test}.csv with sequence,label",
    source="Zhou et al. 2024, DNABERT-2, ICLR 2024, arXiv 2306.15006",
    tasks=tasks,
    read=read,
    faults=(
        "Published scores are of one seed, and re-runs differ by up to 7 points of MCC between seeds; runs on "
        "covid can stay near 0. Rows have no coordinates: the leak-free score compares sequences."
    ),
)
