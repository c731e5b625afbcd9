"""The paper's own tasks (Zaheer et al. 2020, sections 5 and appendix F): promoters, and chromatin labels.

Read from labelled sets that `promoter-set`, `chromatin-set` and `deepsea-set` wrote, `NAME.h5` each, so that
the project's own results are on one page with the others. The paper's promoters have negatives of the type
`random_base` and its score is F1 (Table 6); its chromatin scores are medians of the AUROC over the
labels of a group (Table 7), which are listed by their own names next to this suite's `macro_auroc`.
"""

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from dna_bigbird.bench.suites.genomes import Genomes
from dna_bigbird.bench.suites.suite import LabelledRows, Suite, Task, check_size, published_scores
from dna_bigbird.core.errors import InputError
from dna_bigbird.genome.sources.assemblies import usual_assembly
from dna_bigbird.labelled.labelled_set import LabelledSet, is_labelled_set
from dna_bigbird.labelled.sequences.files import SequenceRow
from dna_bigbird.models.label_types import BINARY, MULTI_LABEL

NAME = "paper"
ENDING = ".h5"
METRICS = {BINARY: "f1", MULTI_LABEL: "macro_auroc"}
"""Main score by type of labels."""


def tasks(folder: Path) -> list[Task]:
    """Return a task for each labelled set in a folder, by name."""
    sets = [path for path in sorted(folder.glob(f"*{ENDING}")) if is_labelled_set(path)]
    if not sets:
        raise InputError(
            f"{folder}: no labelled set {ENDING} in it; write some with: dna-bigbird promoter-set, chromatin-set, "
            "or deepsea-set"
        )
    return [_task(path) for path in sets]


def _task(path: Path) -> Task:
    labelled = _opened(path)
    semi = "Semi-synthetic: " if labelled.is_semi_synthetic else ""
    if labelled.label_type == BINARY:
        about = f"{semi}{labelled.label_names[0]}, or a negative ({labelled.negatives or 'of the set'})?"
    else:
        about = f"{semi}which of {len(labelled.label_names)} chromatin labels does a window have?"
    assembly = usual_assembly(labelled.assembly) if labelled.needs_genome else ""
    return Task(
        path.name.removesuffix(ENDING),
        METRICS[labelled.label_type],
        about,
        published=published_scores(NAME, _published_name(labelled)),
        assembly=assembly,
    )


def _opened(path: Path) -> LabelledSet:
    labelled = LabelledSet(path, verify=False)
    if labelled.label_type not in METRICS:
        raise InputError(
            f"{path}: its labels are {labelled.label_type}; expected a set of promoters or of chromatin labels. Such a "
            "set is trained and scored with: dna-bigbird finetune"
        )
    return labelled


def _published_name(labelled: LabelledSet) -> str:
    """Return the name under which scores are published for such data; empty if for none."""
    if labelled.is_semi_synthetic:
        return ""
    if labelled.label_type == BINARY:
        return f"promoters_{labelled.negatives}" if labelled.task == "promoter" else ""
    return f"chromatin_{len(labelled.label_names)}"


def read(folder: Path, task: Task, genomes: Genomes) -> LabelledRows:
    """Read the rows of a set with its splits; a positive and its negatives are a group."""
    path = folder / f"{task.name}{ENDING}"
    plain = _opened(path)
    check_size(path, len(plain), len(plain.label_names))
    if genomes.chain is not None and plain.needs_genome:
        raise InputError(f"{path}: a labelled set belongs to its own genome; leave out --chain")
    genome = genomes.open(usual_assembly(plain.assembly)).genome if plain.needs_genome else None
    labelled = LabelledSet(path, genome)
    return LabelledRows(
        list(_rows(labelled, path)),
        labelled.split.astype(np.int8),
        labelled.label_type,
        tuple(labelled.label_names),
        assembly=labelled.assembly if labelled.has_coordinates else "",
        counts={"rows_read": len(labelled)},
    )


def _rows(labelled: LabelledSet, path: Path) -> Iterator[SequenceRow]:
    pairs = labelled.pairs.tolist()
    for row, values in enumerate(labelled.labels):
        labels = tuple("01"[value] for value in values.tolist())
        name = labelled.name(row) or f"row_{row}"
        interval = labelled.interval(row) if labelled.has_coordinates else None
        where = f"{path}: row {row}"
        yield SequenceRow(
            labelled.sequence(row), labels, where, name, f"pair_{pairs[row]}", interval
        )


SUITE = Suite(
    name=NAME,
    title="The tasks of the BigBird paper",
    about="promoters with three types of negatives, and chromatin labels, of the project's own sets",
    where="EPDnew (epd.expasy.org) and the bundle of DeepSEA (deepsea.princeton.edu); docs/reference/labelled-sets.md",
    licence="as the sources",
    layout="NAME.h5, labelled sets of promoter-set, chromatin-set or deepsea-set; --genome for their bases",
    source="Zaheer et al. 2020, NeurIPS, arXiv:2007.14062, Tables 6 and 7",
    tasks=tasks,
    read=read,
    faults=(
        "Negatives of the type random_base have stretches of random bases, which counting words sees: F1 near 1 says "
        "little about promoters. The paper's own split of promoters was not published."
    ),
)
