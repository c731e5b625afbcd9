"""Planting promoters: core elements at their distances, proximal sites, a CpG-rich flank."""

from dataclasses import dataclass

import numpy as np

from dna_bigbird.demo import grammar
from dna_bigbird.demo.elements import Canvas, Element, Site
from dna_bigbird.demo.label_rules import PARTNERS, Peak, Rules
from dna_bigbird.genome.alphabet import reverse_complement
from dna_bigbird.genome.motifs import LETTERS, Motif

NEUTRAL_SHARE = 0.7
"""No window over a neutral variant scores this share of a matrix's best, with either allele."""
NEUTRAL_MARGIN_BP = 20
"""A neutral variant outside the elements keeps this distance to every planted base."""
LEAST_LOSS_BITS = 3.0
"""A variant that breaks a site takes at least this from its score."""


@dataclass(frozen=True)
class Variant:
    """A substitution; `position` is 0-based, the bases are those of the forward strand."""

    position: int
    ref: str
    alt: str
    effect: str
    """`break`, `create` or `none`."""
    labels: tuple[str, ...] = ()
    """Labels that depend on the site; for `none` within a peak, the labels of that element."""
    factor: str = ""
    element: str = ""
    copies: int = 0
    """Intact sites of the factor in the element without the variant."""
    delta_bits: float = 0.0
    """Score of the site with `alt` minus its score with `ref`."""


def draw_variants(
    sequence: str,
    elements: list[Element],
    peaks: dict[str, list[Peak]],
    motifs: dict[str, Motif],
    count: int,
    rng: np.random.Generator,
) -> list[Variant]:
    """Draw up to `count` variants that break sites, one per decoy, `count` neutral ones."""
    # Half of the sites to break are the only copy in their element, as far as there are any.
    users = site_labels(elements)
    variants = _breaking(sequence, elements, users, motifs, count, rng)
    variants += _creating(sequence, elements, motifs)
    used_positions = {variant.position for variant in variants}
    variants += _neutral(sequence, elements, peaks, motifs, count, used_positions, rng)
    return sorted(variants, key=lambda variant: variant.position)


def site_labels(elements: list[Element]) -> dict[Site, tuple[str, ...]]:
    """Return the TF labels with a motif that each intact site carries, itself or as a partner."""
    rules = Rules(elements)
    users: dict[Site, list[str]] = {}
    for label in grammar.LABELS:
        if label.group != "TF" or label.name == "POLR2A":
            continue
        carriers = rules.bound(label.name)
        if label.name in PARTNERS:
            partner, distance = PARTNERS[label.name]
            carriers = carriers + rules.with_partner(partner, label.name, distance)
        for site in carriers:
            users.setdefault(site, []).append(label.name)
    return {site: tuple(names) for site, names in users.items()}


def _forward(position_in_site: int, base: str, site: Site) -> tuple[int, str]:
    """Return the genome position and forward base of a base that the site's strand reads."""
    if site.strand == "+":
        return site.start + position_in_site, base
    return site.end - 1 - position_in_site, reverse_complement(base)


def _breaking(
    sequence: str,
    elements: list[Element],
    users: dict[Site, tuple[str, ...]],
    motifs: dict[str, Motif],
    count: int,
    rng: np.random.Generator,
) -> list[Variant]:
    by_name = {element.name: element for element in elements}
    candidates = [(site, by_name[site.element].copies(site.factor)) for site in users]
    shuffled = rng.permutation(len(candidates))
    alone = [i for i in shuffled if candidates[i][1] == 1]
    beside = [i for i in shuffled if candidates[i][1] > 1]
    variants = []
    for index in alone[: count // 2] + beside + alone[count // 2 :]:
        site, copies = candidates[index]
        motif = motifs[site.factor]
        intact = _read(sequence, site)
        offset, base = motif.worst_change(intact)
        position, alt = _forward(offset, base, site)
        delta = motif.score(intact[:offset] + base + intact[offset + 1 :]) - site.score
        if delta > -LEAST_LOSS_BITS:
            continue
        of_site = (users[site], site.factor, site.element, copies, delta)
        variants.append(Variant(position, sequence[position], alt, "break", *of_site))
        if len(variants) == count:
            break
    return variants


def _creating(sequence: str, elements: list[Element], motifs: dict[str, Motif]) -> list[Variant]:
    """Repair every decoy: the changed base goes back to what the matrix asks for."""
    variants = []
    for element in elements:
        for site in element.sites:
            if not site.is_decoy:
                continue
            damaged = _read(sequence, site)
            offset = next(i for i in range(len(damaged)) if damaged[i] != site.intact[i])
            position, alt = _forward(offset, site.intact[offset], site)
            delta = motifs[site.factor].score(site.intact) - site.score
            of_site = ((site.factor,), site.factor, site.element, 0, delta)
            variants.append(Variant(position, sequence[position], alt, "create", *of_site))
    return variants


def _neutral(
    sequence: str,
    elements: list[Element],
    peaks: dict[str, list[Peak]],
    motifs: dict[str, Motif],
    count: int,
    used_positions: set[int],
    rng: np.random.Generator,
) -> list[Variant]:
    """Draw half of them between the sites of bound elements, half far from anything planted."""
    planted = np.zeros(len(sequence), dtype=bool)
    near = np.zeros(len(sequence), dtype=bool)
    for element in elements:
        for start, end in [(s.start, s.end) for s in element.sites] + [element.flank or (0, 0)]:
            near[max(0, start - NEUTRAL_MARGIN_BP) : end + NEUTRAL_MARGIN_BP] = True
        for site in element.sites:
            planted[site.start : site.end] = True
        near[element.start : element.end] = True
    labels: dict[str, list[str]] = {}
    for label in grammar.LABELS:
        for peak in peaks[label.name] if label.group == "TF" else []:
            for member in peak.members:
                labels.setdefault(member, []).append(label.name)
    bound = [element for element in elements if element.name in labels]
    variants: list[Variant] = []
    while len(variants) < count:
        inside = len(variants) < count // 2
        if inside:
            element = bound[rng.integers(len(bound))]
            position = int(rng.integers(element.start, element.end))
            allowed = not planted[position]
            name, names = element.name, tuple(labels[element.name])
        else:
            position = int(rng.integers(100, len(sequence) - 100))
            allowed = not near[position]
            name, names = "", ()
        ref = sequence[position]
        if not allowed or ref == "N" or position in used_positions:
            continue
        alt = LETTERS[(LETTERS.index(ref) + int(rng.integers(1, 4))) % 4]
        if _is_neutral(sequence, position, alt, motifs):
            used_positions.add(position)
            variants.append(Variant(position, ref, alt, "none", names, "", name))
    return variants


def _is_neutral(sequence: str, position: int, alt: str, motifs: dict[str, Motif]) -> bool:
    """Return True if neither allele takes part in anything like a site of any factor."""
    for factor, motif in motifs.items():
        if factor in ("INR", "DPE"):
            continue  # found everywhere by chance; they mean something at a start site only
        reach = motif.width - 1
        left = sequence[position - reach : position]
        right = sequence[position + 1 : position + 1 + reach]
        for base in (sequence[position], alt):
            if motif.best_share(left + base + right) >= NEUTRAL_SHARE:
                return False
    return True


def _read(sequence: str, site: Site) -> str:
    """Return the bases of a site as its strand reads them."""
    bases = sequence[site.start : site.end]
    return reverse_complement(bases) if site.strand == "-" else bases


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
    """Spread (0-based position, strand), half on '+', moved by up to an eighth of their spacing."""
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
    """Plant one promoter and return what was planted."""
    # The flank is redrawn first, so sites stay whole.
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
            chances = CPG_ISLAND_CHAIN[LETTERS.index(canvas.base(position - 1))]
            base = LETTERS[int(rng.choice(4, p=chances / chances.sum()))]
            canvas.repaint(position, base)
