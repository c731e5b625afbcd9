"""Peaks follow from the sites by the written rules, worked out here a second time."""

import itertools

import numpy as np
import pytest

from dna_bigbird.demo.grammar import LABELS

SPLITS = {"train": (0, 730_000), "validation": (730_000, 850_000), "test": (850_000, 1_000_000)}
PROXIMAL = {"SP1", "NRF1", "NFYA", "GABPA"}


def elements_of(rows) -> set[str]:
    return {row["belongs_to"] for row in rows}


def near(sites, factor, partner, low, high) -> set[str]:
    """Elements of sites of `factor` with a `partner` site low to high bp away."""
    return elements_of(
        a
        for a in sites[factor]
        if any(low <= abs(a["centre"] - b["centre"]) <= high for b in sites[partner])
    )


def with_jun(sites, promoters) -> set[str]:
    return {
        p["name"]
        for p in promoters
        if any(1000 <= abs(p["start"] - s["centre"]) <= 3000 for s in sites["JUN"])
    }


def members(peaks, label) -> set[str]:
    return {name for _, _, names in peaks[label] for name in names}


@pytest.mark.parametrize(
    "label",
    ["SP1", "NRF1", "NFYA", "GABPA", "YY1", "TBP", "CTCF", "REST", "JUN", "CEBPB", "TEAD1"],
)
def test_own_sites(label, peaks, sites):
    assert members(peaks, label) == elements_of(sites[label])


@pytest.mark.parametrize(
    ("label", "partner", "low", "high"),
    [
        ("STAT1", "IRF1", 30, 60),
        ("GATA1", "RUNX1", 30, 60),
        ("FOXA1", "HNF4A", 150, 400),
        ("MEF2A", "TEAD1", 150, 400),
    ],
)
def test_sites_count_only_beside_their_partner(label, partner, low, high, peaks, sites):
    assert members(peaks, label) == near(sites, label, partner, low, high)
    alone = elements_of(sites[label]) - members(peaks, label)
    assert len(alone) >= 20  # so that the motif alone does not tell


def test_ep300_needs_two_kinds(peaks, sites):
    trio = ("JUN", "CEBPB", "TEAD1")
    expected = set()
    for a in trio:
        for b in trio:
            if a != b:
                expected |= near(sites, a, b, 150, 400)
    assert members(peaks, "EP300") == expected


def test_rad21_needs_convergent_ctcf(peaks, sites):
    expected = set()
    for left in sites["CTCF"]:
        for right in sites["CTCF"]:
            apart = right["centre"] - left["centre"]
            if (left["strand"], right["strand"]) == ("+", "-") and 1000 <= apart <= 3000:
                expected |= {left["belongs_to"], right["belongs_to"]}
    assert members(peaks, "RAD21") == expected
    assert 0.2 < len(expected) / len(elements_of(sites["CTCF"])) < 0.8


def test_polr2a_needs_a_far_enhancer(peaks, sites, promoters):
    active = with_jun(sites, promoters)
    assert members(peaks, "POLR2A") == active
    assert members(peaks, "H3K36me3") == active
    assert 0.3 < len(active) / len(promoters) < 0.8


def test_labels_of_promoters_with_two_kinds_of_factor(peaks, sites, promoters):
    names = {p["name"] for p in promoters}
    kinds = {name: set() for name in names}
    for factor in PROXIMAL:
        for site in sites[factor]:
            kinds[site["belongs_to"]].add(factor)
    several = {name for name in names if len(kinds[name]) >= 2}
    assert 0.5 < len(several) / len(names) < 0.9
    assert members(peaks, "H3K4me3") == several
    assert members(peaks, "DNase_common") == several | elements_of(sites["CTCF"])


def test_labels_of_bound_enhancers(peaks):
    bound = set()
    for label in ("STAT1", "GATA1", "FOXA1", "MEF2A", "EP300"):
        bound |= members(peaks, label)
    assert members(peaks, "DNase_enhancer") == bound
    assert members(peaks, "H3K27ac") == members(peaks, "EP300") | members(peaks, "POLR2A")


def test_h3k27me3_needs_rest_and_no_enhancer(peaks, sites, promoters):
    active = with_jun(sites, promoters)
    expected = set()
    for p in promoters:
        rest = [s for s in sites["REST"] if 1000 <= abs(s["centre"] - p["start"]) <= 3000]
        if rest and p["name"] not in active:
            expected |= {p["name"]} | elements_of(rest)
    assert members(peaks, "H3K27me3") == expected


def test_oriented_peaks_point_downstream(peaks, promoters):
    by_name = {p["name"]: p for p in promoters}
    for start, end, (name, *others) in peaks["POLR2A"]:
        tss, strand = by_name[name]["start"], by_name[name]["strand"]
        expected = (tss - 100, tss + 220) if strand == "+" else (tss - 219, tss + 101)
        assert not others
        assert (start, end) == expected


def test_peaks_are_sorted_disjoint_and_inside(peaks, sequence):
    for label, rows in peaks.items():
        assert all(0 <= start < end <= len(sequence) for start, end, _ in rows), label
        assert all(a[1] <= b[0] for a, b in itertools.pairwise(rows)), label


def test_tf_peaks_cover_their_sites_and_are_peak_sized(peaks, sites):
    for label in ("JUN", "CTCF", "SP1", "REST"):
        widths = [end - start for start, end, names in peaks[label] if len(names) == 1]
        assert min(widths) >= 240
        assert max(widths) <= 400
        for site in sites[label]:
            inside = [s <= site["start"] and site["end"] <= e for s, e, _ in peaks[label]]
            assert any(inside)


@pytest.fixture(scope="module")
def bins(peaks) -> dict[str, np.ndarray]:
    """More than half of a 200-bp bin in a peak."""
    labels = {}
    for label, rows in peaks.items():
        covered = np.zeros(1_000_000, dtype=bool)
        for start, end, _ in rows:
            covered[start:end] = True
        labels[label] = covered.reshape(-1, 200).sum(axis=1) > 100
    return labels


def test_there_are_enough_bins_for_every_label(bins):
    assert len(bins) == 24
    for label, positive in bins.items():
        assert positive.sum() >= 60, label
        for first, last in SPLITS.values():
            assert positive[first // 200 : last // 200].sum() >= 8, label
    tf = [bins[label.name] for label in LABELS if label.group == "TF"]
    assert 2500 <= np.any(tf, axis=0).sum() <= 3500


def test_every_stretch_of_100_kb_holds_all_labels(peaks):
    for start in [*range(0, 410_000, 20_000), *range(610_000, 910_000, 20_000)]:
        for label, rows in peaks.items():
            inside = [row for row in rows if start <= row[0] and row[1] <= start + 100_000]
            assert inside, (label, start)
