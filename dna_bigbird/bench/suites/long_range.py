"""Long-range: is a cluster of sites at the right distance from a promoter? Semi-synthetic, for six distances.

Every sequence has one promoter with its start site in the middle and one cluster of FOS::JUN sites, drawn in
the same way in both classes. Only the distance decides: right is 0.9 to 1 times the task's distance, wrong is
nearer (0.6 to 0.7) or farther (1.2 to 1.3), on either side. So counting words is at chance, and a
window that is shorter than the distance does not see the cluster. This is the grammar of `demo.long_range`
with misplaced negatives, with one rule for each distance. Nothing is read from files, and no score is published.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dna_bigbird.bench.suites.genomes import Genomes
from dna_bigbird.bench.suites.suite import LabelledRows, Suite, Task
from dna_bigbird.core.errors import InputError
from dna_bigbird.demo import grammar
from dna_bigbird.demo.elements import Canvas
from dna_bigbird.demo.long_range import (
    CHROM,
    cluster_offsets,
    draw_sequences,
    fit_chain,
    plant_cluster,
)
from dna_bigbird.genome import embedded_sequence
from dna_bigbird.genome.motifs import Motif, load_motifs
from dna_bigbird.labelled.sequences.files import SequenceRow
from dna_bigbird.labelled.splits import TEST, TRAIN, VALIDATION
from dna_bigbird.models.label_types import BINARY

NAME = "long-range"
DISTANCES = {"0.5kb": 500, "1kb": 1000, "2kb": 2000, "4kb": 4000, "8kb": 8000, "16kb": 16_000}
"""Tasks and their distances in base pairs."""
ROWS = {TRAIN: 600, VALIDATION: 200, TEST: 400}
"""Promoters of each split; half of them have the cluster at the right distance."""
RIGHT, NEARER, FARTHER = (0.9, 1.0), (0.6, 0.7), (1.2, 1.3)
"""Distance of the middle of the cluster from the start site, as shares of the task's distance."""
MARGIN_BP = 200
"""Least bases on either side of the farthest middle of a cluster."""
FACTOR, COPIES = "JUN", 4
CORE = {"TBP": grammar.TATA_OFFSET, "INR": grammar.INR_OFFSET, "DPE": grammar.DPE_OFFSET}
"""Elements of the promoter and their offsets from the start site."""
LABEL = "cluster_at_the_right_distance"
SEED = 20


@dataclass(frozen=True)
class Planted:
    """One sequence and what was planted; offsets in it are 0-based."""

    sequence: str
    is_right: bool
    cluster: tuple[int, int]
    """First base and end of the cluster."""


def window_bp(distance_bp: int) -> int:
    """Return the length of a sequence: it has a cluster at the farthest distance on either side.

    Example:
        >>> window_bp(500)
        1700
    """
    return 2 * (round(FARTHER[1] * distance_bp) + MARGIN_BP)


def tasks(folder: Path) -> list[Task]:
    """Return the six tasks; `folder` is not used."""
    return [
        Task(
            name,
            "auroc",
            f"Semi-synthetic: is a cluster of sites {distance:,} bp from the promoter, not nearer or farther?",
        )
        for name, distance in DISTANCES.items()
    ]


def read(folder: Path, task: Task, genomes: Genomes) -> LabelledRows:
    """Generate the rows of a task; they are the same in every call."""
    if task.name not in DISTANCES:
        raise InputError(f"{task.name}: no such task; expected one of {', '.join(DISTANCES)}")
    rows, roles = [], []
    for planted, role in plant_rows(DISTANCES[task.name]):
        name = f"promoter_{len(rows) + 1}"
        label = str(int(planted.is_right))
        rows.append(SequenceRow(planted.sequence, (label,), f"{NAME} {task.name} {name}", name))
        roles.append(role)
    return LabelledRows(
        rows,
        np.array(roles, dtype=np.int8),
        BINARY,
        (LABEL,),
        assembly=CHROM,
        counts={"rows_read": len(rows)},
    )


def plant_rows(distance_bp: int) -> list[tuple[Planted, int]]:
    """Return all sequences of a distance with their splits."""
    motifs = load_motifs()
    chain = fit_chain(embedded_sequence.load_background())
    rng = np.random.default_rng([SEED, distance_bp, 1])
    total = sum(ROWS.values())
    length = window_bp(distance_bp)
    texts = iter(draw_sequences(chain, total, length, np.random.default_rng([SEED, distance_bp])))
    rows = []
    for role, count in ROWS.items():
        for number in range(count):
            zone = RIGHT if number % 2 else (NEARER, FARTHER)[number // 2 % 2]
            rows.append((_plant(next(texts), zone, distance_bp, motifs, rng), role))
    return rows


def _plant(
    background: str,
    zone: tuple[float, float],
    distance_bp: int,
    motifs: dict[str, Motif],
    rng: np.random.Generator,
) -> Planted:
    canvas = Canvas(background)
    tss = len(background) // 2
    for factor, offset in CORE.items():
        canvas.plant(tss + offset, motifs[factor].draw(rng, grammar.LEAST_SHARE_CORE), "+")
    offsets, length = cluster_offsets(motifs[FACTOR].width, COPIES, rng)
    side = 1 if rng.random() < 0.5 else -1
    middle = tss + side * round(distance_bp * rng.uniform(*zone))
    start = middle - length // 2
    plant_cluster("cluster", motifs[FACTOR], offsets, start, canvas, rng)
    return Planted(str(canvas), zone == RIGHT, (start, start + length))


SUITE = Suite(
    name=NAME,
    title="Long-range partners",
    about="semi-synthetic: the distance of a cluster of sites from a promoter, 0.5 to 16 kb",
    where="generated by the command",
    licence="Apache-2.0, with the background of UCSC hg19 and matrices of JASPAR (CC BY 4.0)",
    layout="no files, and no --data",
    source="dna-bigbird, docs/results/long-range-distance.md",
    tasks=tasks,
    read=read,
    needs_data=False,
    faults=(
        "Semi-synthetic: the background is generated and the sites are planted, so a score says what a model can "
        "learn from 600 sequences and not how real genomes work. The start site is in the middle of every sequence."
    ),
)
