"""The downstream tasks of the Nucleotide Transformer (Dalla-Torre et al. 2025), original and revised.

Format: `TASK/{train,test}.fna`, the label after the last bar of the FASTA header (confirmed by the authors'
loading script of the original data set). Exports of the revised set as one table have the columns sequence,
name,label,task; that their files are called train* and test* could not be confirmed.

Published metrics. Original: Matthews correlation for histone marks and enhancers, F1 for promoters, donor and
acceptor sites, accuracy for all splice sites (as HyenaDNA and Caduceus, which follow the preprint, list them;
HyenaDNA averages F1 over classes, so does this). Revised: Matthews correlation (paper, figure 2a).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from dna_bigbird.bench.suites.genomes import Genomes
from dna_bigbird.bench.suites.gue import MARKS
from dna_bigbird.bench.suites.suite import LabelledRows, Suite, Task, published_scores
from dna_bigbird.bench.suites.tables import TABLE_ENDINGS, class_row, labelled_classes, read_table
from dna_bigbird.core.errors import InputError, shortened
from dna_bigbird.core.files import LONGEST_LINE, numbered_lines
from dna_bigbird.labelled.sequences.files import SequenceRow
from dna_bigbird.labelled.sequences.sets import UNASSIGNED
from dna_bigbird.labelled.splits import TEST

# FASTA whose headers end with the label after a bar, as `>name|1`; names may repeat.

BAR = "|"


def read_labelled_fasta(path: Path) -> Iterator[tuple[int, str, str]]:
    """Yield line of the header (from 1), label as text, and letters of each record."""
    # The label follows the last bar; the name may contain blanks and bars.
    header, header_line = "", 0
    parts: list[str] = []
    for number, raw in numbered_lines(path, LONGEST_LINE):
        line = raw.strip()
        if line.startswith(">"):
            if header:
                yield header_line, _label(header), "".join(parts)
            header, header_line, parts = line, number, []
            if BAR not in line:
                raise InputError(
                    f"{path}:{number}: the header {shortened(line)!r} has no label; expected >NAME|LABEL"
                )
        elif header:
            parts.append(line)
        elif line:
            raise InputError(
                f"{path}:{number}: {shortened(line)!r} before any header; a FASTA record starts with "
                ">NAME|LABEL"
            )
    if not header:
        raise InputError(
            f"{path}: no sequence in it; expected FASTA records that start with >NAME|LABEL"
        )
    yield header_line, _label(header), "".join(parts)


def _label(header: str) -> str:
    return header.rpartition(BAR)[2].strip()


PARTS = {"train": UNASSIGNED, "test": TEST}
FASTA_ENDINGS = (".fna", ".fasta", ".fna.gz")
THREE_CLASSES = ("enhancers_types", "splice_sites_all")
YEAST = "Yeast DNA with a histone mark, or without; 500 bp."
HUMAN = "Human DNA with a histone mark of K562, or without; 1 kb."
ABOUT = {
    "enhancers": "Human enhancers, or other human DNA.",
    "enhancers_types": "Two types of human enhancers, or other human DNA.",
    "promoter_all": "Human promoters, or sequences that are none; 300 bp.",
    "promoter_no_tata": "Human promoters without a TATA box, or sequences that are none; 300 bp.",
    "promoter_tata": "Human promoters with a TATA box, or sequences that are none; 300 bp.",
    "splice_sites_acceptors": "Acceptor sites, or sequences that are none; 600 bp.",
    "splice_sites_all": "Donor site, acceptor site, or neither.",
    "splice_sites_donors": "Donor sites, or sequences that are none; 600 bp.",
}


@dataclass(frozen=True)
class Version:
    """One of the two suites."""

    name: str
    marks: tuple[str, ...]
    about_marks: str
    others: dict[str, str]
    """Metric of the tasks that both have."""

    @property
    def metrics(self) -> dict[str, str]:
        """Metric of each task."""
        return dict.fromkeys(self.marks, "mcc") | self.others


ORIGINAL_TASKS = Version(
    "nt",
    MARKS,
    YEAST,
    dict.fromkeys(ABOUT, "macro_f1")
    | {"enhancers": "mcc", "enhancers_types": "mcc", "splice_sites_all": "accuracy"},
)
REVISED_TASKS = Version(
    "nt-revised",
    (
        "H2AFZ", "H3K27ac", "H3K27me3", "H3K36me3", "H3K4me1", "H3K4me2", "H3K4me3", "H3K9ac",
        "H3K9me3", "H4K20me1",
    ),
    HUMAN,
    dict.fromkeys(ABOUT, "mcc"),
)  # fmt: skip


def tasks(version: Version, folder: Path) -> list[Task]:
    """Return the tasks that have files."""
    present = _present(folder)
    other = REVISED_TASKS if version is ORIGINAL_TASKS else ORIGINAL_TASKS
    foreign = sorted((set(other.marks) - set(version.marks)) & present)
    if foreign:
        raise InputError(
            f"{folder}: {foreign[0]} is a task of {other.name}, not of {version.name}, and both have tasks of "
            f"the same names with other rows; expected a folder of one version. See: bench {other.name}"
        )
    listed = [
        Task(
            name,
            metric,
            ABOUT.get(name, version.about_marks),
            published=published_scores(version.name, name),
        )
        for name, metric in version.metrics.items()
        if name in present
    ]
    if not listed:
        raise InputError(
            f"{folder}: no task of {version.name} in it; expected files such as H3K4me1/train.fna, or "
            "train.parquet with sequence,name,label,task"
        )
    return listed


def read(version: Version, folder: Path, task: Task, genomes: Genomes) -> LabelledRows:
    """Read the rows of a task; validation rows are drawn from the training rows by the caller."""
    classes = 3 if task.name in THREE_CLASSES else 2
    rows: list[SequenceRow] = []
    roles: list[int] = []
    for part, role in PARTS.items():
        before = len(rows)
        for path, line, label, letters in _records(folder, task.name, part):
            rows.append(class_row(path, line, part, letters, label, classes))
            roles.append(role)
        if len(rows) == before:
            raise InputError(f"{folder}: no {part} row of {task.name}; is the copy complete?")
    return labelled_classes(rows, roles, classes)


def _records(folder: Path, task: str, part: str) -> Iterator[tuple[Path, int, str, str]]:
    """Yield file, line, label and letters of a part's rows."""
    own = folder / task
    fasta = next(
        (own / f"{part}{end}" for end in FASTA_ENDINGS if (own / f"{part}{end}").is_file()), None
    )
    if fasta is not None:
        for line, label, letters in read_labelled_fasta(fasta):
            yield fasta, line, label, letters
        return
    files = _tables(own, part) if own.is_dir() else _tables(folder, part)
    if not files:
        raise InputError(
            f"{own if own.is_dir() else folder}: no {part} file; expected {part}.fna in the folder of the task, "
            f"or a table {part}.parquet, .csv or .tsv"
        )
    columns = ("sequence", "label") if own.is_dir() else ("sequence", "label", "task")
    for path in files:
        for line, cells in read_table(path, columns):
            if cells.get("task", task) == task:
                yield path, line, cells["label"], cells["sequence"]


def _tables(folder: Path, part: str) -> list[Path]:
    """Return the tables of a part, several for one in shards; those of one ending only."""
    for root in (folder, folder / "data"):
        for ending in TABLE_ENDINGS:
            files = sorted(root.glob(f"{part}*{ending}"))
            if files:
                return files
    return []


def _present(folder: Path) -> set[str]:
    """Return the tasks that have a folder; without one, those of the test tables."""
    names = set(ORIGINAL_TASKS.metrics) | set(REVISED_TASKS.metrics)
    folders = {name for name in names if (folder / name).is_dir()}
    if folders:
        return folders
    tables = _tables(folder, "test")
    return {cells["task"] for path in tables for _, cells in read_table(path, ("task",))}


def _suite(version: Version, title: str, about: str, where: str, layout: str, faults: str) -> Suite:
    return Suite(
        name=version.name,
        title=title,
        about=about,
        where=where,
        licence="that of the repository: CC BY-NC-SA 4.0",
        layout=layout,
        source="Dalla-Torre et al. 2025, Nature Methods 22:287-297; preprint bioRxiv 2023.01.11.523679",
        tasks=partial(tasks, version),
        read=partial(read, version),
        faults=faults,
    )


ORIGINAL = _suite(
    ORIGINAL_TASKS,
    "Nucleotide Transformer tasks (original)",
    "18 sets: yeast histone marks, enhancers, promoters, splice sites",
    "InstaDeepAI/nucleotide_transformer_downstream_tasks on the Hugging Face hub",
    "TASK/{train,test}.fna with >NAME|LABEL",
    "The authors replaced it by the revised version. 6,000 enhancers and 6,000 other sequences for training are "
    "synthetic, from a generative model; negatives of the promoters are promoters with some parts replaced; the test "
    "set of the enhancers has 400 rows.",
)
REVISED = _suite(
    REVISED_TASKS,
    "Nucleotide Transformer tasks (revised)",
    "18 sets: human histone marks, enhancers, promoters, splice sites; chr20 and chr21 for test",
    "InstaDeepAI/nucleotide_transformer_downstream_tasks_revised on the Hugging Face hub",
    "TASK/{train,test}.fna with >NAME|LABEL, or {train,test}*.{parquet,csv,tsv} with sequence,name,label,task",
    "Some rows are repeated within a split (users count 13 among the 1,584 test rows of promoter_all). Chromosomes separate training "
    "from test, relatives of one sequence family do not.",
)
