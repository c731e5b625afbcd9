"""Planting promoters: core elements at their distances, proximal sites, a CpG-rich flank."""

import numpy as np

from dna_bigbird.demo import grammar
from dna_bigbird.demo.elements import Canvas, Element, Site
from dna_bigbird.genome.motifs import LETTERS, Motif

# First-order Markov chain of human CpG islands: Durbin, Eddy, Krogh, Mitchison (1998),
# Biological Sequence Analysis, section 3.1. Rows: previous base, columns: next base, A C G T.
CPG_ISLAND_CHAIN = np.array(
    [
        [0.180, 0.274, 0.426, 0.120],
        [0.171, 0.368, 0.274, 0.188],
        [0.161, 0.339, 0.375, 0.125],
        [0.079, 0.355, 0.384, 0.182],
    ]
)


def start_sites(
    segments: list[tuple[int, int]], count: int, rng: np.random.Generator
) -> list[tuple[int, str]]:
    """Spread start sites evenly over segments, moved by up to an eighth of their spacing.

    Half of them (rounded up) are on '+'.

    Returns:
        (0-based position, strand), from left to right.
    """
    lengths = [end - start for start, end in segments]
    spacing = sum(lengths) / count
    offsets = (np.arange(count) + 0.5 + rng.uniform(-0.125, 0.125, count)) * spacing
    strands = np.array(["+", "-"] * ((count + 1) // 2))[:count]
    rng.shuffle(strands)
    sites, passed = [], 0
    reach = max(grammar.PROMOTER_UPSTREAM_BP, grammar.PROMOTER_DOWNSTREAM_BP)
    for (start, end), length in zip(segments, lengths, strict=True):
        inside = (offsets >= passed) & (offsets < passed + length)
        for offset, strand in zip(offsets[inside], strands[inside], strict=True):
            position = start + int(offset) - passed
            sites.append((min(max(position, start + reach), end - reach - 1), str(strand)))
        passed += length
    return sites


def plant_promoter(
    name: str,
    tss: int,
    strand: str,
    canvas: Canvas,
    motifs: dict[str, Motif],
    rng: np.random.Generator,
) -> Element:
    """Plant one promoter and return what was planted.

    Every promoter has an initiator. A share has a TATA box at -31 (literature count), half of
    the others a DPE at +28. One to three kinds of SP1, NRF1, NFYA and GABPA are upstream of
    -40, some promoters have YY1 downstream. The flank is redrawn first, so sites stay whole.
    """
    has_tata = rng.random() < grammar.TATA_PROMOTERS
    element = Element(name, "promoter", strand, tss, "TATA" if has_tata else "CpG")
    _redraw_flank(element, canvas, rng)

    def plant(factor: str, offset: int, turned: bool = False, core: bool = False) -> None:
        motif = motifs[factor]
        least = grammar.LEAST_SHARE_CORE if core else grammar.LEAST_SHARE
        site = motif.draw(rng, least)
        start, end = element.span(offset, offset + motif.width)
        site_strand = strand if not turned else ("-" if strand == "+" else "+")
        canvas.plant(start, site, site_strand)
        element.sites.append(Site(factor, start, end, site_strand, name, motif.score(site)))

    plant("INR", grammar.INR_OFFSET, core=True)
    if has_tata:
        plant("TBP", grammar.TATA_OFFSET)
    elif rng.random() < grammar.DPE_PROMOTERS:
        plant("DPE", grammar.DPE_OFFSET, core=True)
    if rng.random() < grammar.YY1_PROMOTERS:
        plant("YY1", int(rng.integers(*grammar.YY1_OFFSETS)))
    offset = grammar.PROXIMAL_START
    for factor in _proximal_factors(rng):
        offset -= motifs[factor].width
        plant(factor, offset, turned=bool(rng.random() < 0.5))
        offset -= int(rng.integers(*grammar.PROXIMAL_GAP_BP))
    return element


def _proximal_factors(rng: np.random.Generator) -> list[str]:
    """Draw the proximal sites, in the order in which they go upstream."""
    num_factors = 1 + int(rng.choice(3, p=grammar.PROXIMAL_KINDS))
    chosen = rng.choice(list(grammar.PROXIMAL_COPIES), size=num_factors, replace=False)
    sites = [
        str(factor)
        for factor in chosen
        for _ in range(rng.integers(*grammar.PROXIMAL_COPIES[factor], endpoint=True))
    ]
    rng.shuffle(sites)
    return sites


def _redraw_flank(element: Element, canvas: Canvas, rng: np.random.Generator) -> None:
    """Redraw a share of the flank's bases from the CpG-island chain; the rest stays real."""
    first, last = grammar.FLANK_OFFSETS
    element.flank = element.span(first, last)
    start, end = element.flank
    share = grammar.FLANK_SHARE[element.promoter_class]
    for position in range(start, end):
        from_edge = min(position - start, end - 1 - position)
        if rng.random() < share * min(1.0, from_edge / grammar.FLANK_TAPER_BP):
            previous = LETTERS.index(canvas.base(position - 1))
            base = LETTERS[
                int(rng.choice(4, p=CPG_ISLAND_CHAIN[previous] / CPG_ISLAND_CHAIN[previous].sum()))
            ]
            canvas.repaint(position, base)
