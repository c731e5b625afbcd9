"""The long-range demo: promoters whose labels depend on a partner cluster 1 to 3 kb away.

Each unit is a generated piece of background with one promoter in its middle and, by two tosses
of a coin, a cluster of FOS::JUN sites and a cluster of REST sites 1 to 3 kb from the start on
either side. The labels POLR2A and H3K27me3 follow by the rules of the demo. Nothing within a
kilobase of the start says which partners there are.

With misplaced negatives every promoter has both clusters, and only their distances decide: a
cluster is 1 to 3 kb away, or nearer or farther.
"""

from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray

from dna_bigbird.core.choices import check_fields
from dna_bigbird.core.settings import Positive, Range
from dna_bigbird.demo import grammar
from dna_bigbird.demo.elements import Canvas, Element, Site
from dna_bigbird.demo.label_rules import Peak, derive_peaks
from dna_bigbird.demo.planted_promoters import plant_promoter
from dna_bigbird.genome import embedded_sequence
from dna_bigbird.genome.motifs import LETTERS, Motif, load_motifs

# Generated background: a Markov chain that was fitted on the real piece of the demo.

ORDER = 5
"""Bases that decide the next one."""


def fit_chain(sequence: str) -> NDArray[np.float64]:
    """Return the cumulated chances of the bases A C G T after ORDER bases: (4 ** ORDER, 4)."""
    # Windows with N are left out. Every count starts at 1, so that no base is impossible.
    codes = _codes(sequence)
    windows = np.lib.stride_tricks.sliding_window_view(codes, ORDER + 1)
    windows = windows[(windows >= 0).all(axis=1)]
    numbers = windows @ 4 ** np.arange(ORDER, -1, -1)
    counts = 1.0 + np.bincount(numbers, minlength=4 ** (ORDER + 1)).reshape(-1, 4)
    return (counts / counts.sum(axis=1, keepdims=True)).cumsum(axis=1)


def draw_sequences(
    chain: NDArray[np.float64], count: int, length: int, rng: np.random.Generator
) -> list[str]:
    """Draw independent sequences from a chain of `fit_chain`."""
    burn_in = 50  # bases, after which the chain has forgotten the first ones
    contexts = rng.integers(0, len(chain), count)
    drawn = np.empty((length, count), dtype=np.uint8)
    for step in range(-burn_in, length):
        uniform = rng.random((count, 1))
        bases = (uniform > chain[contexts, :3]).sum(axis=1)
        contexts = (contexts * 4 + bases) % len(chain)
        if step >= 0:
            drawn[step] = bases
    text = np.frombuffer(LETTERS.encode(), dtype=np.uint8)[drawn.T]
    return [row.tobytes().decode("ascii") for row in text]


def _codes(sequence: str) -> NDArray[np.int64]:
    table = np.full(256, -1, dtype=np.int64)
    table[np.frombuffer(LETTERS.encode(), dtype=np.uint8)] = range(4)
    return table[np.frombuffer(sequence.encode("ascii"), dtype=np.uint8)]


CHROM = "demolong"
"""Record name of the long-range genome, and the name of its assembly."""
BIN_BP = 200
"""The start sites are placed so that just one bin of this size is a row of each promoter."""
PARTNERS = ("JUN", "REST")
DISTANT = ("POLR2A", "H3K27me3")
"""Labels that partners 1 to 3 kb away decide."""
CONTROLS = ("YY1",)
"""Labels that the bases within 100 bp of the start decide, for comparison."""
CLASSES = {"CpG_promoter": "CpG", "TATA_promoter": "TATA"}
"""Two more labels: every start site has the peak of its class, so that their group says which
bins are rows without a label that is always on, from which a model can learn nothing."""
CLASS_OFFSETS = (-100, 220)
"""Reach of the peaks of a class, half-open: that of POLR2A peaks."""
SETBACK_BP = 100
"""Least distance of a partner cluster from both ends of the range of the rule, and from another."""
RIGHT_BP = (grammar.LONG_PAIR_BP[0] + SETBACK_BP, grammar.LONG_PAIR_BP[1] - SETBACK_BP)
"""Distances from the start to a cluster that counts, first base to end, half-open."""
WRONG_BP = ((600, 950), (3100, 3850))
"""The same of misplaced clusters: outside a window of 1000 bp, inside one of 8000 bp."""
MOST_MISPLACED_COPIES = 6
"""So many sites fit into the nearer of the wrong distances."""


@dataclass(frozen=True)
class LongRangeConfig:
    """What to plant."""

    units: Positive = 2000
    """Promoters, one per unit."""
    seed: int = 0
    unit_bp: Annotated[int, Range(7000)] = 10_000
    """Length of a unit: a window of 8000 bp around its promoter stays inside."""
    partner_share: Annotated[float, Range(above=0, below=1)] = 0.5
    """Chance of each partner cluster, independent of everything else."""
    copies: Annotated[int, Range(1, most=12)] = 6
    """Sites in a partner cluster."""
    negatives: Literal["absent", "misplaced"] = "absent"
    """A promoter that does not get a partner 1 to 3 kb away: without the cluster, or with the cluster
    at a distance that does not count."""

    def __post_init__(self) -> None:
        check_fields(self)
        if self.unit_bp % BIN_BP:
            raise ValueError(f"unit_bp {self.unit_bp}: expected a multiple of {BIN_BP}")
        if self.negatives == "misplaced" and self.copies > MOST_MISPLACED_COPIES:
            raise ValueError(
                f"--copies {self.copies}: expected at most {MOST_MISPLACED_COPIES} with misplaced "
                "negatives: more do not fit between the promoter and 1 kb"
            )


@dataclass(frozen=True)
class LongRange:
    """The planted genome and everything known about it; all intervals 0-based, half-open."""

    config: LongRangeConfig
    sequence: str
    elements: list[Element]
    peaks: dict[str, list[Peak]]


def build_long_range(config: LongRangeConfig) -> LongRange:
    """Draw the background, plant one promoter and its partners per unit, derive the labels."""
    motifs = load_motifs()
    chain = fit_chain(embedded_sequence.load_background())
    texts = draw_sequences(
        chain, config.units, config.unit_bp, np.random.default_rng([config.seed, 11])
    )
    canvas = Canvas("".join(texts))
    rng = np.random.default_rng([config.seed, 12])
    elements: list[Element] = []
    for unit in range(config.units):
        elements += _plant_unit(unit, config, canvas, motifs, rng)
    every = derive_peaks(elements, len(canvas), config.seed)
    peaks = {name: every[name] for name in DISTANT + CONTROLS}
    for name, promoter_class in CLASSES.items():
        own = [element for element in elements if element.promoter_class == promoter_class]
        peaks[name] = [Peak(name, *each.span(*CLASS_OFFSETS), (each.name,)) for each in own]
    return LongRange(config, str(canvas), elements, peaks)


def _plant_unit(
    unit: int,
    config: LongRangeConfig,
    canvas: Canvas,
    motifs: dict[str, Motif],
    rng: np.random.Generator,
) -> list[Element]:
    strand = str(rng.choice(["+", "-"]))
    tss = _start_site(unit, config, strand, rng)
    elements = [plant_promoter(f"P{unit + 1:05d}", tss, strand, canvas, motifs, rng)]
    for factor in PARTNERS:
        zone = _draw_zone(config, rng)
        if zone:
            name = f"{factor}{unit + 1:05d}"
            cluster = cluster_offsets(motifs[factor].width, config.copies, rng)
            elements.append(
                _plant_partner(name, motifs[factor], cluster, zone, elements, canvas, rng)
            )
    return elements


def _draw_zone(config: LongRangeConfig, rng: np.random.Generator) -> tuple[int, int] | None:
    """Return the range of distances for a cluster; None: there is no cluster."""
    if rng.random() < config.partner_share:
        return RIGHT_BP
    return WRONG_BP[rng.integers(len(WRONG_BP))] if config.negatives == "misplaced" else None


def _plant_partner(
    name: str,
    motif: Motif,
    cluster: tuple[list[int], int],
    zone: tuple[int, int],
    there: list[Element],
    canvas: Canvas,
    rng: np.random.Generator,
) -> Element:
    """Plant a cluster at a random distance in `zone` on a random side of `there[0]`."""
    offsets, length = cluster
    tss, others = there[0].tss, there[1:]
    low, high = zone
    while True:
        distance = int(rng.integers(low, high - length))
        start = tss - distance - length if rng.random() < 0.5 else tss + distance
        if all(start > x.end + SETBACK_BP or start + length < x.start - SETBACK_BP for x in others):
            break
    return plant_cluster(name, motif, offsets, start, canvas, rng)


def plant_cluster(
    name: str,
    motif: Motif,
    offsets: list[int],
    start: int,
    canvas: Canvas,
    rng: np.random.Generator,
) -> Element:
    """Plant sites of a motif at offsets from `start`, each on a random strand."""
    element = Element(name, "cluster")
    for offset in offsets:
        bases = motif.draw(rng, grammar.LEAST_SHARE)
        strand = str(rng.choice(["+", "-"]))
        first = start + offset
        canvas.plant(first, bases, strand)
        end = first + motif.width
        element.sites.append(Site(motif.factor, first, end, strand, name, motif.score(bases)))
    return element


def _start_site(unit: int, config: LongRangeConfig, strand: str, rng: np.random.Generator) -> int:
    """Return a start whose class peak covers one bin whole and its neighbours less than half."""
    middle = unit * config.unit_bp + (config.unit_bp // 2) // BIN_BP * BIN_BP
    first, last = CLASS_OFFSETS
    reach = (first + last) // 2  # from the start to the middle of the peak
    jitter = int(rng.integers(-30, 31))
    return middle + BIN_BP // 2 + jitter - (reach if strand == "+" else -reach)


def cluster_offsets(width: int, copies: int, rng: np.random.Generator) -> tuple[list[int], int]:
    """Return the offsets of the sites of a cluster and its length."""
    offsets, cursor = [], 0
    for _ in range(copies):
        offsets.append(cursor)
        cursor += width + int(rng.integers(*grammar.CLUSTER_GAP_BP))
    return offsets, offsets[-1] + width
