"""Genomic Benchmarks (Grešová et al. 2023): intervals by class, `NAME/{train,test}/CLASS.csv.gz`.

Format: datasets/README.md of the suite's repository. Published metric: accuracy on the test rows.
"""

import csv
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

from dna_bigbird.bench.suites.genomes import Genomes
from dna_bigbird.bench.suites.suite import IntervalRow, LabelledRows, Suite, Task, published_scores
from dna_bigbird.bench.suites.tables import check_length
from dna_bigbird.core.errors import InputError, shortened
from dna_bigbird.core.files import numbered_lines
from dna_bigbird.genome import Interval
from dna_bigbird.labelled.sequences.files import SequenceRow, written_interval
from dna_bigbird.labelled.sequences.sets import UNASSIGNED
from dna_bigbird.labelled.splits import TEST
from dna_bigbird.models.label_types import MULTI_CLASS

NAME = "genomic-benchmarks"
COLUMNS = ("id", "region", "start", "end", "strand")
PARTS = ("train", "test")
ENDING = ".csv.gz"
TRANSCRIPTS = "transcripts"
"""Key of --genome for the FASTA of transcripts."""
HUMAN = "GRCh38"
ASSEMBLIES = {
    "demo_coding_vs_intergenomic_seqs": HUMAN,
    "demo_human_or_worm": HUMAN,
    "human_enhancers_cohn": HUMAN,
    "human_enhancers_ensembl": HUMAN,
    "human_ensembl_regulatory": HUMAN,
    "human_nontata_promoters": HUMAN,
    "human_ocr_ensembl": HUMAN,
    "drosophila_enhancers_stark": "BDGP6",
    "dummy_mouse_enhancers_ensembl": "GRCm38",
}
"""Tasks in the order of the paper's table, with the assembly of their intervals."""
OTHER_ASSEMBLIES = {"coding_seqs": TRANSCRIPTS, "worm": "WBcel235"}
"""Classes whose intervals are elsewhere than those of the task."""
LENGTHS_BP = {
    "demo_coding_vs_intergenomic_seqs": 200,
    "demo_human_or_worm": 200,
    "human_enhancers_cohn": 500,
    "human_nontata_promoters": 251,
}
"""Length of every published interval, of tasks that have one."""
ABOUT = {
    "demo_coding_vs_intergenomic_seqs": "Coding sequence of transcripts, or DNA between genes.",
    "demo_human_or_worm": "Human or C. elegans DNA.",
    "human_enhancers_cohn": "Enhancers, or random human DNA.",
    "human_enhancers_ensembl": "Enhancers, or random human DNA.",
    "human_ensembl_regulatory": "Enhancer, promoter, or other open chromatin.",
    "human_nontata_promoters": "Promoters without a TATA box, or other human DNA.",
    "human_ocr_ensembl": "Open chromatin, or random human DNA.",
    "drosophila_enhancers_stark": "Enhancers, or random fly DNA.",
    "dummy_mouse_enhancers_ensembl": "Enhancers, or random mouse DNA; for tests.",
}


def tasks(folder: Path) -> list[Task]:
    """Return the tasks with a folder below `folder` or `folder/datasets`."""
    root = datasets_folder(folder)
    return [
        Task(
            name,
            "accuracy",
            ABOUT[name],
            published=published_scores(NAME, name),
            assembly=assembly,
            other_assemblies=[
                other
                for class_name, other in OTHER_ASSEMBLIES.items()
                if (root / name / "train" / f"{class_name}{ENDING}").is_file()
            ],
        )
        for name, assembly in ASSEMBLIES.items()
        if (root / name / "train").is_dir()
    ]


def datasets_folder(folder: Path) -> Path:
    """Return the folder with a folder per task."""
    for root in (folder / "datasets", folder):
        if any((root / name / "train").is_dir() for name in ASSEMBLIES):
            return root
    raise InputError(
        f"{folder}: no task of Genomic Benchmarks in it; expected folders such as "
        "human_nontata_promoters/train"
    )


def read(folder: Path, task: Task, genomes: Genomes) -> LabelledRows:
    """Read the intervals of a task, and their bases from the genomes."""
    rows: list[SequenceRow] = []
    roles: list[int] = []
    counts: Counter[str] = Counter()
    for part, class_name, path in class_files(folder, task.name):
        assembly = OTHER_ASSEMBLIES.get(class_name, task.assembly)
        target = genomes.open(assembly)
        for line, name, interval in read_intervals(path, LENGTHS_BP.get(task.name)):
            counts["rows_read"] += 1
            where = f"{path}:{line}"
            located = target.locate(interval, where)
            if isinstance(located, str):
                counts[f"left_out_{located}"] += 1
                continue
            bases = target.genome.fetch(located)
            if assembly != task.assembly:
                located = replace(located, chrom=f"{assembly}:{located.chrom}")
            label = (class_name,)
            rows.append(SequenceRow(bases, label, where, f"{part}:{name}", "", located))
            roles.append(TEST if part == "test" else UNASSIGNED)
    return LabelledRows(
        rows,
        np.array(roles, dtype=np.int8),
        MULTI_CLASS,
        assembly=genomes.open(task.assembly).assembly,
        counts=dict(counts),
    )


def intervals(folder: Path, task: Task) -> Iterator[IntervalRow]:
    """Yield the rows of a task; chromosomes of another assembly are named with it."""
    for part, class_name, path in class_files(folder, task.name):
        prefix = OTHER_ASSEMBLIES.get(class_name, "")
        for _, _, interval in read_intervals(path, LENGTHS_BP.get(task.name)):
            chrom = f"{prefix}:{interval.chrom}" if prefix else interval.chrom
            yield IntervalRow(replace(interval, chrom=chrom), class_name, part == "test")


def class_files(folder: Path, task: str) -> Iterator[tuple[str, str, Path]]:
    """Yield part, class and file of a task, training first."""
    root = datasets_folder(folder) / task
    names = {
        part: sorted(path.name.removesuffix(ENDING) for path in (root / part).glob(f"*{ENDING}"))
        for part in PARTS
    }
    if len(names["train"]) < 2:
        raise InputError(
            f"{root / 'train'}: {len(names['train'])} files *{ENDING}; expected one per class, at least two"
        )
    for part, other in (PARTS, PARTS[::-1]):
        for name in sorted(set(names[part]) - set(names[other])):
            raise InputError(
                f"{root / other}: no {name}{ENDING}, and {root / part} has one; is the copy complete?"
            )
    for part in PARTS:
        for name in names[part]:
            yield part, name, root / part / f"{name}{ENDING}"


def read_intervals(path: Path, length_bp: int | None) -> Iterator[tuple[int, str, Interval]]:
    """Yield line, identifier and interval of each row; without a strand it is on +."""
    lines = numbered_lines(path)
    number, header = next(lines, (1, ""))
    names = tuple(name.strip() for name in header.split(","))
    if names != COLUMNS:
        raise InputError(
            f"{path}:{number}: the header is {shortened(header.strip()) or 'empty'}; expected {','.join(COLUMNS)}"
        )
    for line, text in lines:
        if not text.strip():
            continue
        cells = next(csv.reader([text]))
        yield line, cells[0], _interval(cells, length_bp, f"{path}:{line}")


def _interval(cells: list[str], length_bp: int | None, where: str) -> Interval:
    if len(cells) != len(COLUMNS):
        raise InputError(f"{where}: {len(cells)} columns, the header has {len(COLUMNS)}")
    interval = written_interval(*cells[1:], where=where)
    if length_bp is not None:
        check_length(interval.start, interval.end, length_bp, where)
    return interval


SUITE = Suite(
    name=NAME,
    title="Genomic Benchmarks",
    about="eight sets of regulatory and coding DNA, and a small one for tests",
    where="the repository ML-Bioinfo-CEITEC/genomic_benchmarks on GitHub, folder datasets",
    licence="Apache-2.0",
    layout="datasets/NAME/{train,test}/CLASS.csv.gz with id,region,start,end,strand; sequences from --genome",
    source="Grešová et al. 2023, BMC Genomic Data 24:25",
    tasks=tasks,
    read=read,
    intervals=intervals,
    faults=(
        "Test intervals overlap training intervals (human_nontata_promoters: 49 %) or are training rows again "
        "(human_enhancers_ensembl: 38 %); human_enhancers_ensembl also repeats rows within training. "
        "In human_ensembl_regulatory the length of a sequence alone has an accuracy of 0.915 (0.37: the majority class)."
    ),
)
