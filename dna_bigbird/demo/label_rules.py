"""From planted sites to peaks: the rules of `grammar.LABELS`, applied to what was planted."""

from dataclasses import dataclass

import numpy as np

from dna_bigbird.demo import grammar
from dna_bigbird.demo.elements import Element, Site


@dataclass(frozen=True)
class Peak:
    """A peak of one label; 0-based, half-open; `members` are the elements that caused it."""

    label: str
    start: int
    end: int
    members: tuple[str, ...]


PARTNERS = {
    "STAT1": ("IRF1", grammar.SHORT_PAIR_BP),
    "GATA1": ("RUNX1", grammar.SHORT_PAIR_BP),
    "FOXA1": ("HNF4A", grammar.MID_PAIR_BP),
    "MEF2A": ("TEAD1", grammar.MID_PAIR_BP),
}
"""TF labels whose sites need a partner, and its distance."""


class Rules:
    """The labels of a set of planted elements.

    Distances are between the centres of sites, or from a start site to the centre of a site;
    both ends of a range count as inside. Decoys count for nothing.
    """

    def __init__(self, elements: list[Element]) -> None:
        self.elements = {element.name: element for element in elements}
        self.promoters = [element for element in elements if element.tss is not None]
        self._sites: dict[str, list[Site]] = {}
        for element in elements:
            for site in element.sites:
                if not site.is_decoy:
                    self._sites.setdefault(site.factor, []).append(site)

    def sites(self, *factors: str) -> list[Site]:
        """Return the intact sites of some factors, from left to right."""
        sites = [site for factor in factors for site in self._sites.get(factor, [])]
        return sorted(sites, key=lambda site: site.start)

    def with_partner(self, factor: str, partner: str, distance: tuple[int, int]) -> list[Site]:
        """Return the sites of `factor` that have a site of `partner` within a distance range."""
        centres = np.array([site.centre for site in self.sites(partner)])
        return [s for s in self.sites(factor) if _any_within(centres, s.centre, distance)]

    def bound(self, label: str) -> list[Site]:
        """Return the sites at which a TF label has its peaks (none for POLR2A)."""
        if label in PARTNERS:
            return self.with_partner(label, *PARTNERS[label])
        if label == "EP300":
            trio = ("JUN", "CEBPB", "TEAD1")
            pairs = [(a, b) for a in trio for b in trio if a != b]
            sites = {s for a, b in pairs for s in self.with_partner(a, b, grammar.MID_PAIR_BP)}
            return sorted(sites, key=lambda site: site.start)
        if label == "RAD21":
            return self._convergent_ctcf()
        return self.sites(label)

    def _convergent_ctcf(self) -> list[Site]:
        low, high = grammar.LONG_PAIR_BP
        ctcf = self.sites("CTCF")
        sites = {
            site
            for left in ctcf
            for right in ctcf
            if left.strand == "+" and right.strand == "-"
            if low <= right.centre - left.centre <= high
            for site in (left, right)
        }
        return sorted(sites, key=lambda site: site.start)

    def active(self) -> list[Element]:
        """Return the promoters with a FOS::JUN site 1 to 3 kb away (POLR2A)."""
        centres = np.array([site.centre for site in self.sites("JUN")])
        return [p for p in self.promoters if _any_within(centres, p.tss, grammar.LONG_PAIR_BP)]

    def open_promoters(self) -> list[Element]:
        """Return the promoters with at least two kinds of proximal factor."""
        return [
            promoter
            for promoter in self.promoters
            if sum(promoter.copies(factor) > 0 for factor in grammar.PROXIMAL_COPIES) >= 2
        ]

    def polycomb(self) -> list[tuple[Element, list[str]]]:
        """Return the promoters without POLR2A near REST sites, and the elements of these sites."""
        active = {promoter.name for promoter in self.active()}
        low, high = grammar.LONG_PAIR_BP
        promoters = []
        for promoter in self.promoters:
            near = {
                s.element for s in self.sites("REST") if low <= abs(s.centre - promoter.tss) <= high
            }
            if near and promoter.name not in active:
                promoters.append((promoter, sorted(near)))
        return promoters


BROAD = {
    "POLR2A": ((-100, 220), 0),
    "DNase_common": ((-230, 100), 130),
    "DNase_enhancer": ((0, 0), 160),
    "H3K4me3": ((-300, 900), 0),
    "H3K27ac": ((-400, 500), 350),
    "H3K27me3": ((-700, 700), 400),
    "H3K36me3": ((200, 1200), 0),
}
"""Offsets of the peaks from the start site, half-open; bases to either side of an element's middle."""
ELEMENTS = {
    "DNase_common": ("CTCF",),
    "DNase_enhancer": ("STAT1", "GATA1", "FOXA1", "MEF2A", "EP300"),
    "H3K27ac": ("EP300",),
}
"""TF labels whose elements have such peaks."""


def derive_peaks(elements: list[Element], length: int, seed: int) -> dict[str, list[Peak]]:
    """Return the peaks of every label, sorted and merged, cut to `length`; seeded TF widths."""
    rules = Rules(elements)
    peaks = {}
    for index, label in enumerate(grammar.LABELS):
        rng = np.random.default_rng([seed, 3, index])
        raw = (_broad if label.name in BROAD else _tf)(label.name, rules, rng)
        peaks[label.name] = _merged(raw, length)
    return peaks


def _any_within(positions: np.ndarray, centre: int, distance: tuple[int, int]) -> bool:
    apart = np.abs(positions - centre)
    return bool(((apart >= distance[0]) & (apart <= distance[1])).any())


def _tf(label: str, rules: Rules, rng: np.random.Generator) -> list[Peak]:
    """One peak per element with bound sites, centred on them, wider than they are."""
    groups: dict[str, list[Site]] = {}
    for site in rules.bound(label):
        groups.setdefault(site.element, []).append(site)
    peaks = []
    for name, sites in groups.items():
        start, end = min(s.start for s in sites), max(s.end for s in sites)
        width = max(int(rng.integers(*grammar.TF_PEAK_BP, endpoint=True)), end - start + 80)
        left = (start + end) // 2 - width // 2
        peaks.append(Peak(label, left, left + width, (name,)))
    return peaks


def _broad(label: str, rules: Rules, rng: np.random.Generator) -> list[Peak]:
    """Peaks at promoters, and around the middle of elements."""
    offsets, reach = BROAD[label]
    pairs = rules.polycomb() if label == "H3K27me3" else []
    promoters, names = [promoter for promoter, _ in pairs], {x for _, each in pairs for x in each}
    if label in ("POLR2A", "H3K27ac", "H3K36me3"):
        promoters = rules.active()
    elif label in ("DNase_common", "H3K4me3"):
        promoters = rules.open_promoters()
    for factor in ELEMENTS.get(label, ()):
        names |= {site.element for site in rules.bound(factor)}
    peaks = [Peak(label, *promoter.span(*offsets), (promoter.name,)) for promoter in promoters]
    for name in sorted(names):
        middle = (rules.elements[name].start + rules.elements[name].end) // 2
        peaks.append(Peak(label, middle - reach, middle + reach, (name,)))
    return peaks


def _merged(peaks: list[Peak], length: int) -> list[Peak]:
    merged: list[Peak] = []
    for peak in sorted(peaks, key=lambda p: (p.start, p.end, p.members)):
        start, end = max(0, peak.start), min(length, peak.end)
        if merged and start < merged[-1].end:
            last = merged.pop()
            members = last.members + tuple(m for m in peak.members if m not in last.members)
            merged.append(Peak(peak.label, last.start, max(last.end, end), members))
        else:
            merged.append(Peak(peak.label, start, end, peak.members))
    return merged
