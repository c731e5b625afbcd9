"""Planting the whole demo into the real background."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from dna_bigbird.core.choices import check_fields
from dna_bigbird.core.settings import Range
from dna_bigbird.demo import grammar
from dna_bigbird.demo.elements import Canvas, Element, Site
from dna_bigbird.demo.grammar import Unit
from dna_bigbird.demo.label_rules import Peak, derive_peaks
from dna_bigbird.demo.planted_promoters import Variant, draw_variants, plant_promoter, start_sites
from dna_bigbird.genome import embedded_sequence
from dna_bigbird.genome.motifs import Motif, load_motifs

Placed = tuple[str, int]
"""A factor and the offset of its site from the unit's first base."""


def shuffled_deck(rng: np.random.Generator) -> list[Unit]:
    """Return one deck in random order, its CTCF units in pairs a loop's distance apart."""
    ctcf = Unit("cluster", "CTCF")
    others = [unit for unit, times in grammar.DECK for _ in range(times) if unit != ctcf]
    times = sum(times for unit, times in grammar.DECK if unit == ctcf)
    deck = [others[i] for i in rng.permutation(len(others))]
    step = len(deck) // (times // 2)
    for pair in reversed(range(times // 2)):  # from the right, so that places to the left stay
        first = pair * step + int(rng.integers(0, step - grammar.CTCF_STRIDE))
        deck.insert(first + grammar.CTCF_STRIDE - 1, ctcf)
        deck.insert(first, ctcf)
    if times % 2:
        deck.insert(int(rng.integers(len(deck))), ctcf)
    return deck


def plant_distal(
    free: list[tuple[int, int]], canvas: Canvas, motifs: dict[str, Motif], rng: np.random.Generator
) -> list[Element]:
    """Fill free intervals with distal units, from left to right."""
    elements: list[Element] = []
    deck: list[Unit] = []
    planned: list[tuple[Unit, int, list[list[Placed]]]] = []
    for start, end in free:
        cursor = start + int(rng.integers(*grammar.UNIT_SPACING_BP)) // 2
        while True:
            while len(deck) < 8:
                deck += shuffled_deck(rng)
            # The first of the next units that still fits here; the others wait for the next gap.
            for index in range(8):
                parts, length = _plan(deck[index], motifs, rng)
                if cursor + length + grammar.UNIT_SPACING_BP[0] // 2 <= end:
                    planned.append((deck.pop(index), cursor, parts))
                    cursor += length + int(rng.integers(*grammar.UNIT_SPACING_BP))
                    break
            else:
                break
    centres = [start for unit, start, _ in planned if unit == Unit("cluster", "CTCF")]
    ctcf_strands = iter(orient_ctcf(centres, rng))
    for unit, start, parts in planned:
        for part in parts:
            name = f"D{len(elements) + 1:04d}"
            element = Element(name, unit.category)
            same = next(ctcf_strands) if unit == Unit("cluster", "CTCF") else None
            for factor, offset in part:
                strand = same or str(rng.choice(["+", "-"]))
                decoy = unit.category == "decoy"
                site = _plant(motifs[factor], start + offset, strand, name, decoy, canvas, rng)
                element.sites.append(site)
            elements.append(element)
    return elements


def orient_ctcf(positions: list[int], rng: np.random.Generator) -> list[str]:
    """Choose the strand of each CTCF element: some neighbours convergent, the others never."""
    # Two elements 1 to 3 kb apart make a loop if the left one is on '+', the right one on '-'.
    low, high = grammar.LONG_PAIR_BP
    strands: list[str] = []
    for index, position in enumerate(positions):
        near = [i for i in range(index) if low <= position - positions[i] <= high]
        if near and strands[near[-1]] == "+":
            strands.append("-" if rng.random() < grammar.CONVERGENT_SHARE else "+")
        else:
            # A coming neighbour can only close a loop on a '+'.
            coming = any(low <= later - position <= high for later in positions[index + 1 :])
            strands.append("+" if coming and rng.random() < 0.8 else str(rng.choice(["+", "-"])))
    return strands


def _plan(
    unit: Unit, motifs: dict[str, Motif], rng: np.random.Generator
) -> tuple[list[list[Placed]], int]:
    """Return the sites of a unit, by element, and its length."""
    planners: dict[str, Callable] = {"cluster": _cluster, "short": _short, "mid": _mid}
    if unit.category == "decoy":
        return [[(unit.first, 0)]], motifs[unit.first].width
    return planners[unit.category](unit, motifs, rng)


def _cluster(unit: Unit, motifs: dict[str, Motif], rng: np.random.Generator):
    low, high = grammar.CLUSTER_COPIES.get(unit.first, grammar.DEFAULT_COPIES)
    width = motifs[unit.first].width
    sites, offset = [], 0
    for _ in range(rng.integers(low, high, endpoint=True)):
        sites.append((unit.first, offset))
        offset += width + int(rng.integers(*grammar.CLUSTER_GAP_BP))
    return [sites], sites[-1][1] + width


def _short(unit: Unit, motifs: dict[str, Motif], rng: np.random.Generator):
    """Two pairs one after the other; in each, either factor may come first."""
    low, high = grammar.SHORT_PAIR_BP
    sites, offset = [], 0
    for _ in range(2):
        pair = [unit.first, unit.second]
        rng.shuffle(pair)
        left, right = (motifs[factor].width for factor in pair)
        distance = int(rng.integers(low + 2, high - 2))
        second = offset + left // 2 + distance - right // 2
        sites += [(pair[0], offset), (pair[1], second)]
        offset = second + right + int(rng.integers(*grammar.CLUSTER_GAP_BP))
    return [sites], sites[-1][1] + motifs[sites[-1][0]].width


def _mid(unit: Unit, motifs: dict[str, Motif], rng: np.random.Generator):
    """A cluster of each factor; the nearest sites of the two are 160 to 220 bp apart."""
    pair = [unit.first, unit.second]
    rng.shuffle(pair)
    (left,), left_length = _cluster(Unit("cluster", pair[0]), motifs, rng)
    (right,), right_length = _cluster(Unit("cluster", pair[1]), motifs, rng)
    shift = left_length + int(rng.integers(150, 210))
    return [left, [(factor, offset + shift) for factor, offset in right]], shift + right_length


def _plant(
    motif: Motif,
    start: int,
    strand: str,
    element: str,
    decoy: bool,
    canvas: Canvas,
    rng: np.random.Generator,
) -> Site:
    site = motif.draw(rng, grammar.LEAST_SHARE)
    intact = ""
    while decoy:
        offset, base = motif.worst_change(site)
        damaged = site[:offset] + base + site[offset + 1 :]
        if motif.share(damaged) < grammar.DECOY_SHARE:
            site, intact = damaged, site
            break
        site = motif.draw(rng, grammar.LEAST_SHARE)
    canvas.plant(start, site, strand)
    end = start + motif.width
    return Site(motif.factor, start, end, strand, element, motif.score(site), intact)


EDGE_BP = 1000
"""Nothing is planted this close to an end of the sequence or to the gap."""
MIN_SPACING_BP = 1600
"""Least mean distance between start sites, so that promoters never overlap."""
MIN_PROMOTERS = 20
"""With fewer, labels that sit at promoters may have no peak at all."""
MOST_VARIANTS = 10_000
"""Each has a position of its own in a sequence of 1 Mb, half of them in peaks."""


def segments() -> list[tuple[int, int]]:
    """Return the parts of the sequence that may be planted into."""
    left, right = embedded_sequence.GAP
    return [(EDGE_BP, left - EDGE_BP), (right + EDGE_BP, embedded_sequence.LENGTH - EDGE_BP)]


MOST_PROMOTERS = sum(end - start for start, end in segments()) // MIN_SPACING_BP


@dataclass(frozen=True)
class DemoConfig:
    """What to plant."""

    seed: int = 0
    promoters: Annotated[int, Range(MIN_PROMOTERS, most=MOST_PROMOTERS)] = 300
    """Start sites, spread evenly over the sequence without its gap."""
    variants: Annotated[int, Range(1, most=MOST_VARIANTS)] = 300
    """Neutral variants, and at most as many that break sites; decoys give those that create."""

    def __post_init__(self) -> None:
        check_fields(self)


@dataclass(frozen=True)
class Demo:
    """The planted genome and everything known about it; all intervals 0-based, half-open."""

    config: DemoConfig
    sequence: str
    elements: list[Element]
    peaks: dict[str, list[Peak]]
    variants: list[Variant]


def build_demo(config: DemoConfig) -> Demo:
    """Plant promoters, fill the space between them, derive labels, draw variants."""
    motifs = load_motifs()
    canvas = Canvas(embedded_sequence.load_background())
    rng = np.random.default_rng([config.seed, 1])
    promoters = [
        plant_promoter(f"P{index:04d}", tss, strand, canvas, motifs, rng)
        for index, (tss, strand) in enumerate(start_sites(segments(), config.promoters, rng), 1)
    ]
    distal_rng = np.random.default_rng([config.seed, 2])
    elements = promoters + plant_distal(_free(promoters), canvas, motifs, distal_rng)
    peaks = derive_peaks(elements, len(canvas), config.seed)
    variant_rng = np.random.default_rng([config.seed, 4])
    variants = draw_variants(str(canvas), elements, peaks, motifs, config.variants, variant_rng)
    return Demo(config, str(canvas), elements, peaks, variants)


def _free(promoters: list[Element]) -> list[tuple[int, int]]:
    """Return the intervals between the zones of promoters."""
    zones = sorted(
        p.span(-grammar.PROMOTER_UPSTREAM_BP, grammar.PROMOTER_DOWNSTREAM_BP) for p in promoters
    )
    free = []
    for start, end in segments():
        cursor = start
        for left, right in zones:
            if start <= left < end:
                free.append((cursor, left))
                cursor = right
        free.append((cursor, end))
    return [(start, end) for start, end in free if end > start]
