"""Planting the whole demo into the real background."""

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from dna_bigbird.core.choices import check_fields
from dna_bigbird.core.settings import Range
from dna_bigbird.demo import grammar
from dna_bigbird.demo.distal import plant_distal
from dna_bigbird.demo.elements import Canvas, Element
from dna_bigbird.demo.label_rules import Peak, derive_peaks
from dna_bigbird.demo.planted_promoters import plant_promoter, start_sites
from dna_bigbird.demo.planted_variants import Variant, draw_variants
from dna_bigbird.genome import embedded_sequence
from dna_bigbird.genome.motifs import load_motifs

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
