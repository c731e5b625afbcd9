"""The suites by name; a suite is tasks, and the rows, variants or pairs that its files contain.

A suite is one file with a reader and a `Suite`; docs/reference/bench.md describes its protocol.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Literal

import numpy as np
import yaml
from numpy.typing import NDArray

from dna_bigbird.bench.suites.genomes import Genomes
from dna_bigbird.core.choices import check_fields
from dna_bigbird.core.errors import InputError
from dna_bigbird.genome import Interval
from dna_bigbird.labelled.sequences.files import SequenceRow
from dna_bigbird.metrics.task_results import Published

# Published scores of the suites' tasks, from `data/published.yaml`. None was run here.


@cache
def _table() -> dict[str, dict]:
    path = Path(__file__).parent / "data/published.yaml"
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def published_scores(suite: str, task: str) -> tuple[Published, ...]:
    """Return what was published for a task, in its metric unless it names another."""
    entry = _table().get(suite, {})
    return tuple(
        Published(model, float(row["scores"][task]), row["source"], row.get("metric", ""))
        for model, row in entry.items()
        if task in row["scores"]
    )


Protocol = Literal["labels", "variants", "pairs"]
"""What a task consists of: labelled sequences; variants of a genome; sequences and their changed forms."""
ZeroShot = Literal["likelihood", "absolute_likelihood", "embedding", "embedding_cosine"]
"""How a variant is scored without training; higher is more likely positive. log p(REF) - log p(ALT) of the masked
base, or its absolute value; the Euclidean distance of the states of all bases of the window; the cosine
distance of the states of the variant's base."""

MOST_LABELS = 50_000_000
"""Values of labels that are read as rows: 54,000 windows of 919 labels."""


@dataclass(frozen=True)
class Task:
    """One task of a suite."""

    name: str
    metric: str
    """The published score: a key of what `bench.task_scores` returns."""
    about: str = ""
    """What is asked, in one sentence."""
    protocol: Protocol = "labels"
    published: Sequence[Published] = ()
    assembly: str = ""
    """Assembly of its coordinates; empty for files that have the sequences."""
    other_assemblies: Sequence[str] = ()
    """Assemblies of classes whose coordinates are elsewhere."""
    only_named: bool = False
    """Whether it is run only if it is asked for by name, such as a part of another task."""

    def __post_init__(self) -> None:
        check_fields(self)


@dataclass(frozen=True)
class LabelledRows:
    """The rows of a task of labelled sequences (protocol `labels`)."""

    rows: list[SequenceRow]
    roles: NDArray[np.int8]
    """(n,), a number of `labelled.splits.SPLITS`; `UNASSIGNED` where the suite names no split, for training
    rows of a suite without validation rows."""
    label_type: str
    """One of `label_types.LABEL_TYPES`."""
    label_names: tuple[str, ...] = ("label",)
    """Names of the label columns of the rows: one for classes, L for several labels or targets."""
    assembly: str = ""
    """Assembly of the rows' intervals as they are now, after a lift-over."""
    counts: dict[str, int] = field(default_factory=dict)
    """Rows read, and left out by reason."""


@dataclass(frozen=True)
class VariantRow:
    """One variant of a task of variants (protocol `variants`)."""

    chrom: str
    pos: int
    """1-based position of the first base of REF on the genome, as in VCF."""
    ref: str
    alt: str
    label: bool
    where: str
    """File and line or row, for messages."""
    group: str = ""
    """Variants of one text are matched: a positive and its negatives."""
    chromosome: str = ""
    """Chromosome by which scores are averaged, if it is not `chrom`."""


@dataclass(frozen=True)
class VariantRows:
    """The variants of a task."""

    rows: list[VariantRow]
    genome: Path
    assembly: str
    counts: dict[str, int] = field(default_factory=dict)
    zero_shot: ZeroShot = "likelihood"
    """The score of the suite's authors, which is the model's."""
    window_bp: int = 0
    """Bases around the variant in the suite's protocol; 0: what the model was trained on."""
    both_strands: bool = True
    """Whether the protocol averages the scores of both strands."""

    def __post_init__(self) -> None:
        check_fields(self)


@dataclass(frozen=True)
class PairRow:
    """One sequence and changed forms of it (protocol `pairs`)."""

    name: str
    """Of the sequence that both forms come from; rows of one name are drawn together by the bootstrap."""
    sequence: str
    """The real one, or the one with the motif."""
    changed: str
    """The form that should score lower."""
    control: str = ""
    """A form with an equally large change elsewhere that should change little; empty if there is none."""
    group: str = ""
    """Such as the motif; scores are also given per group."""
    interval: Interval | None = None
    """Where the real sequence is on a genome."""


@dataclass(frozen=True)
class PairRows:
    """The pairs of a task."""

    rows: list[PairRow]
    assembly: str = ""
    """Of the intervals; empty without."""
    counts: dict[str, int] = field(default_factory=dict)


TaskRows = LabelledRows | VariantRows | PairRows


def check_size(path: Path, rows: int, labels: int) -> None:
    """Raise InputError if a file has more labels than fit into memory as `LabelledRows`."""
    if rows * labels > MOST_LABELS:
        raise InputError(
            f"{path}: more than {MOST_LABELS // labels:,} rows of {labels} label{'s' * (labels != 1)}, too many for bench; use dna-bigbird "
            "finetune and evaluate, which read a set in parts"
        )


@dataclass(frozen=True)
class IntervalRow:
    """One row of a task as its file has it, before any lift-over."""

    interval: Interval
    class_name: str
    is_test: bool


@dataclass(frozen=True)
class Suite:
    """A suite: where its files come from, what they look like, and how they are read."""

    name: str
    """As on the command line."""
    title: str
    about: str
    """One line for the list of suites."""
    where: str
    """Where its files are published, without a host name that a program would call."""
    licence: str
    layout: str
    """The files expected below --data."""
    source: str
    """The paper."""
    tasks: Callable[[Path], list[Task]]
    """The tasks whose files are below a folder, in the order of the paper.

    Raises:
        InputError: If there is none.
    """
    read: Callable[[Path, Task, Genomes], TaskRows]
    """Read one task.

    Raises:
        InputError: With file and line, for anything that is not as the suite's format says.
    """
    faults: str = ""
    """Known faults of the suite, for the page."""
    needs_data: bool = True
    """False for a suite whose data are generated, which reads no files."""
    intervals: Callable[[Path, Task], Iterator[IntervalRow]] | None = None
    """Rows of a task without their sequences; None for suites without coordinates."""


MODULES = {
    "genomic-benchmarks": "genomic_benchmarks",
    "gue": "gue",
    "nt": "nucleotide_transformer:ORIGINAL",
    "nt-revised": "nucleotide_transformer:REVISED",
    "bend": "bend",
    "traitgym": "traitgym",
    "bend-variants": "bend_variants",
    "dart-eval": "dart_eval",
    "paper": "paper",
    "long-range": "long_range",
    "tata-displacement": "tata",
}
"""Name on the command line to module; after a colon the name of the `Suite` in it, `SUITE` without."""


def find_suite(name: str) -> Suite:
    """Return a suite.

    Raises:
        InputError: If there is none of this name.
    """
    if name not in MODULES:
        raise InputError(f"{name}: no such suite; expected one of {', '.join(MODULES)}")
    module, _, attribute = MODULES[name].partition(":")
    return getattr(import_module(f"dna_bigbird.bench.suites.{module}"), attribute or "SUITE")


def all_suites() -> list[Suite]:
    """Return every suite."""
    return [find_suite(name) for name in MODULES]
