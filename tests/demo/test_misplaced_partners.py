"""The long-range demo with misplaced negatives: the truth read again from truth.tsv and the genome."""

from pathlib import Path

import numpy as np
import pytest

from dna_bigbird.cli.main import main as command
from dna_bigbird.demo.long_range import LongRangeConfig, build_long_range
from dna_bigbird.genome import Genome
from dna_bigbird.labelled.labelled_set import LabelledSet
from tests.demo.conftest import read_truth

UNITS = 60
COPIES = 6
FACTORS = ("JUN", "REST")
ZONES = {"near": (600, 950), "right": (1100, 2900), "far": (3100, 3850)}


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("misplaced") / "demo"
    command(f"demo-data --output {path} --long_range {UNITS} --negatives misplaced".split())
    return path


@pytest.fixture(scope="module")
def truth(folder) -> list[dict]:
    return read_truth(folder)


@pytest.fixture(scope="module")
def sets(folder, tmp_path_factory) -> dict[int, LabelledSet]:
    out = tmp_path_factory.mktemp("sets")
    for window in (1000, 8000):
        command(
            f"chromatin-set --genome {folder}/demo.fa --peaks {folder}/peaks.tsv --output "
            f"{out}/{window}.h5 --assembly demolong --window {window} --require_group Anchor "
            "--split.test ['demolong:300,001-400,000']".split()
        )
    genome = Genome(folder / "demo.fa")
    return {window: LabelledSet(out / f"{window}.h5", genome) for window in (1000, 8000)}


def middles(truth, factor) -> np.ndarray:
    return np.array(
        [(r["start"] + r["end"]) // 2 for r in truth if r["kind"] == "site" and r["name"] == factor]
    )


def zone_of(sites, start) -> str:
    """Return the range of distances that contains all sites of a cluster."""
    apart = np.abs(sites - start)
    names = [
        z for z, (low, high) in ZONES.items() if (apart >= low).all() and (apart <= high).all()
    ]
    assert len(names) == 1
    return names[0]


def test_labels_follow_from_the_distance_alone(truth, sets):
    starts = sorted(row["start"] for row in truth if row["kind"] == "promoter")
    data = sets[8000]
    assert len(data) == UNITS == len(starts)
    seen = []
    for row, start in enumerate(starts):
        near_by = [middles(truth, f) for f in FACTORS]
        jun, rest = (zone_of(s[np.abs(s - start) < 5000], start) for s in near_by)
        labels = dict(zip(data.label_names, data.labels_of(np.array([row]))[0], strict=True))
        assert labels["POLR2A"] == (jun == "right")
        assert labels["H3K27me3"] == (rest == "right" and jun != "right")
        seen += [jun, rest]
    assert set(seen) == set(ZONES)


def test_every_8_kb_window_contains_both_clusters_whole_and_no_1_kb_window_any_of_it(truth, sets):
    """So what a window of either length contains does not depend on its labels."""
    for window, expected in ((8000, COPIES), (1000, 0)):
        data = sets[window]
        for row in range(len(data)):
            interval = data.interval(row)
            for factor in FACTORS:
                sites = [r for r in truth if r["kind"] == "site" and r["name"] == factor]
                inside = [
                    r for r in sites if r["start"] >= interval.start and r["end"] <= interval.end
                ]
                cut = [r for r in sites if r["start"] < interval.end and r["end"] > interval.start]
                assert len(inside) == len(cut) == expected


def test_shares_of_the_distances():
    """A half at the right distance, a quarter too near, a quarter too far; both sides equally."""
    units = 400
    demo = build_long_range(LongRangeConfig(units=units, seed=1, copies=1, negatives="misplaced"))
    starts = {e.name[1:]: e.tss for e in demo.elements if e.tss is not None}
    clusters = [e for e in demo.elements if e.category == "cluster"]
    assert len(clusters) == len(FACTORS) * units
    zones = [
        zone_of(
            np.array([e.sites[0].centre]), starts[e.name.removeprefix("JUN").removeprefix("REST")]
        )
        for e in clusters
    ]
    counts = {zone: zones.count(zone) for zone in ZONES}
    assert abs(counts["right"] - units) <= 57  # 4 standard deviations of 14.1
    assert abs(counts["near"] - units / 2) <= 49  # of 12.2
    left = sum(e.start < starts[e.name[-5:]] for e in clusters)
    assert abs(left - units) <= 57


def test_the_readme_names_the_option_and_the_distances(folder):
    text = (folder / "README.md").read_text()
    assert "--negatives misplaced`" in text
    assert "600 to 950 or 3,100 to 3,850 bp" in text
