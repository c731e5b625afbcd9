"""The long-range demo: labels worked out again from truth.tsv, bins shared by all windows."""

import random
from pathlib import Path

import numpy as np
import pytest

from dna_bigbird.cli.main import main as command
from dna_bigbird.core.errors import InputError
from dna_bigbird.demo.long_range import (
    ORDER,
    LongRangeConfig,
    build_long_range,
    draw_sequences,
    fit_chain,
)
from dna_bigbird.genome import Genome
from dna_bigbird.labelled.labelled_set import LabelledSet
from tests.demo.conftest import read_truth

UNITS = 40
WINDOWS = (1000, 2000, 8000)


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("long") / "demo"
    command(["demo-data", "--output", str(path), "--long_range", str(UNITS), "--copies", "3"])
    return path


@pytest.fixture(scope="module")
def truth(folder) -> list[dict]:
    return read_truth(folder)


@pytest.fixture(scope="module")
def promoters(truth) -> list[dict]:
    """Start sites with the distances of the partners' sites, and their own factors."""
    found = [row for row in truth if row["kind"] == "promoter"]
    sites = [row for row in truth if row["kind"] == "site"]
    for promoter in found:
        for factor in ("JUN", "REST"):
            middles = [(s["start"] + s["end"]) // 2 for s in sites if s["name"] == factor]
            distances = [abs(middle - promoter["start"]) for middle in middles]
            promoter[factor] = [d for d in distances if d <= 4000]
        promoter["own"] = {s["name"] for s in sites if s["belongs_to"] == promoter["name"]}
    return found


@pytest.fixture(scope="module")
def sets(folder, tmp_path_factory) -> dict[int, LabelledSet]:
    out = tmp_path_factory.mktemp("sets")
    found = {}
    for window in WINDOWS:
        command(
            f"chromatin-set --genome {folder}/demo.fa --peaks {folder}/peaks.tsv --output "
            f"{out}/{window}.h5 --assembly demolong --window {window} --require_group Anchor "
            "--split.test ['demolong:300,001-400,000']".split()
        )
        found[window] = LabelledSet(out / f"{window}.h5", Genome(folder / "demo.fa"))
    return found


def expected_labels(promoter) -> dict[str, bool]:
    active = any(1000 <= d <= 3000 for d in promoter["JUN"])
    polycomb = any(1000 <= d <= 3000 for d in promoter["REST"]) and not active
    return {
        "POLR2A": active,
        "H3K27me3": polycomb,
        "YY1": "YY1" in promoter["own"],
        "CpG_promoter": "TBP" not in promoter["own"],
        "TATA_promoter": "TBP" in promoter["own"],
    }


@pytest.mark.parametrize("window", WINDOWS)
def test_rows_are_the_promoters_with_the_labels_of_the_truth(window, sets, promoters):
    data = sets[window]
    assert len(data) == UNITS
    for row, promoter in enumerate(sorted(promoters, key=lambda p: p["start"])):
        interval = data.interval(row)
        assert abs((interval.start + interval.end) // 2 - promoter["start"]) < 200
        labels = dict(
            zip(data.label_names, map(bool, data.labels_of(np.array([row]))[0]), strict=True)
        )
        assert labels == expected_labels(promoter)


def test_every_window_holds_the_same_bins_in_the_same_splits(sets):
    first = sets[WINDOWS[0]]
    for data in sets.values():
        assert data.bin_starts.tolist() == first.bin_starts.tolist()
        assert data.split.tolist() == first.split.tolist()


def test_partners_are_far_enough_to_be_unseen_and_near_enough_to_be_seen(promoters):
    """A window of 2000 bp never shows a partner, one of 8000 bp shows all of it."""
    distances = [d for p in promoters for factor in ("JUN", "REST") for d in p[factor]]
    assert len(distances) > UNITS
    assert min(distances) >= 1100
    assert max(distances) <= 2900


def test_partners_come_with_about_half_of_the_promoters():
    peaks = build_long_range(LongRangeConfig(units=300, seed=1, copies=1)).peaks
    at_promoters = [p for p in peaks["POLR2A"] if p.members[0].startswith("P")]
    assert 120 <= len(at_promoters) <= 180  # 150 expected, standard deviation 9


def test_equal_seeds_give_equal_genomes():
    first, second, other = (
        build_long_range(LongRangeConfig(units=3, seed=seed)) for seed in (0, 0, 1)
    )
    assert (first.sequence, first.peaks) == (second.sequence, second.peaks)
    assert first.sequence != other.sequence


def test_the_chain_has_the_chances_of_its_sequence():
    text = "".join(random.Random(0).choices("ACGT", [5, 1, 1, 3], k=20_000)) + "N" * 7 + "ACGTAC"
    chain = fit_chain(text)
    context = "AATAT"
    number = sum("ACGT".index(base) * 4 ** (ORDER - 1 - i) for i, base in enumerate(context))
    counts = np.ones(4)
    for i in range(len(text) - ORDER):
        if text[i : i + ORDER] == context and text[i + ORDER] != "N":
            counts["ACGT".index(text[i + ORDER])] += 1
    np.testing.assert_allclose(chain[number], (counts / counts.sum()).cumsum())


def test_drawn_sequences_follow_the_chain():
    """A chain that only ever goes A C G T gives nothing else."""
    cycle = np.zeros((4**ORDER, 4))
    cycle[np.arange(4**ORDER), (np.arange(4**ORDER) + 1) % 4] = 1
    for text in draw_sequences(cycle.cumsum(axis=1), 3, 40, np.random.default_rng(0)):
        assert len(text) == 40
        assert text in "ACGT" * 11


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"units": 0}, "units 0"),
        ({"unit_bp": 5000}, "unit_bp 5000"),
        ({"partner_share": 1.0}, "partner_share 1.0"),
        ({"copies": 13}, "copies 13"),
        ({"negatives": "near"}, "negatives='near'"),
        ({"negatives": "misplaced", "copies": 7}, "copies 7: expected at most 6"),
    ],
)
def test_wrong_configs_are_refused(words, message):
    with pytest.raises(ValueError, match=message):
        LongRangeConfig(**words)


def test_the_command_says_what_is_wrong(tmp_path):
    from dna_bigbird.demo.demo_data import demo_data

    with pytest.raises(InputError, match="copies 99"):
        demo_data(tmp_path / "demo", long_range=5, copies=99)
    with pytest.raises(InputError, match=r"long_range 1000000000: this takes about 10,000\.0 GB"):
        demo_data(tmp_path / "demo", long_range=10**9)
    assert not (tmp_path / "demo").exists()
