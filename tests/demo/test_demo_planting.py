"""What truth.tsv says lies in the FASTA, at its place, on its strand."""

import itertools

import numpy as np
import pytest

from dna_bigbird.demo.elements import Canvas
from dna_bigbird.genome.motifs import Motif, load_motifs

COMPLEMENT = {"A": "T", "C": "G", "G": "C", "T": "A"}


def read(sequence: str, row: dict) -> str:
    bases = sequence[row["start"] : row["end"]]
    if row["strand"] == "+":
        return bases
    return "".join(COMPLEMENT[base] for base in reversed(bases))


def offset(promoter: dict, position: int) -> int:
    """Distance of a position from the start site, in the direction of transcription."""
    ahead = position - promoter["start"]
    return ahead if promoter["strand"] == "+" else -ahead


def first_base(site: dict, promoter: dict) -> int:
    """Offset of the site's first base, read in the direction of transcription."""
    return offset(promoter, site["start"] if promoter["strand"] == "+" else site["end"] - 1)


def test_every_site_scores_high_where_the_truth_says(sequence, truth, score):
    checked = 0
    for row in truth:
        if row["kind"] != "site":
            continue
        matrix = row["note"]["matrix"]
        bits = score(matrix, read(sequence, row))
        least = 0.8 if row["name"] in ("INR", "DPE") else 0.85
        assert bits == pytest.approx(float(row["note"]["bits"]), abs=1e-3)
        assert bits >= least * score.best(matrix)
        checked += 1
    assert checked > 5000


def test_decoys_are_sites_with_one_changed_base(sequence, truth, score):
    decoys = [row for row in truth if row["kind"] == "decoy"]
    assert len(decoys) > 50
    for row in decoys:
        found, intact = read(sequence, row), row["note"]["intact"]
        assert sum(a != b for a, b in zip(found, intact, strict=True)) == 1
        assert score(row["note"]["matrix"], found) < 0.75 * score.best(row["note"]["matrix"])
        assert score(row["note"]["matrix"], intact) >= 0.85 * score.best(row["note"]["matrix"])


def test_sites_do_not_overlap_and_avoid_the_gap(truth, sequence):
    rows = [row for row in truth if row["kind"] in ("site", "decoy")]
    rows.sort(key=lambda row: row["start"])
    assert all(a["end"] <= b["start"] for a, b in itertools.pairwise(rows))
    assert all("N" not in sequence[row["start"] : row["end"]] for row in rows)
    assert all("N" not in sequence[r["start"] : r["end"]] for r in truth if r["kind"] == "flank")


@pytest.mark.parametrize("strand", ["+", "-"])
def test_core_elements_stand_at_their_distances(strand, sequence, truth, promoters):
    by_name = {p["name"]: p for p in promoters if p["strand"] == strand}
    assert len(by_name) == 150
    seen = {"INR": 0, "TBP": 0, "DPE": 0, "YY1": 0}
    for row in truth:
        promoter = by_name.get(row["belongs_to"])
        if row["kind"] != "site" or promoter is None:
            continue
        first = first_base(row, promoter)
        last = first + row["end"] - row["start"] - 1
        if row["name"] in seen:
            seen[row["name"]] += 1
            assert row["strand"] == strand
        if row["name"] == "INR":
            assert first == -2
            assert read(sequence, row)[2] == "A"  # the matrix has 95 % A at the first base
        elif row["name"] == "TBP":
            assert first == -32
            assert read(sequence, row)[1:5] == "TATA"  # T at -31
        elif row["name"] == "DPE":
            assert first == 25  # the literature's +26, since its +1 is offset 0
        elif row["name"] == "YY1":
            assert 40 <= first < 60
        else:
            assert row["name"] in ("SP1", "NRF1", "NFYA", "GABPA")
            assert -300 < first <= last < -40
    assert seen["INR"] == 150
    assert 30 <= seen["TBP"] <= 75
    assert 30 <= seen["DPE"] <= 75
    assert 35 <= seen["YY1"] <= 85


def test_flanks_run_from_400_before_to_300_after_the_start(truth, promoters, sequence):
    by_name = {p["name"]: p for p in promoters}
    flanks = [row for row in truth if row["kind"] == "flank"]
    assert len(flanks) == 300
    for row in flanks:
        promoter = by_name[row["belongs_to"]]
        ends = sorted([offset(promoter, row["start"]), offset(promoter, row["end"] - 1)])
        assert ends == [-400, 299]


def cpg_per_base(sequence: str, rows: list[dict]) -> float:
    text = [sequence[row["start"] : row["end"]] for row in rows]
    return sum(piece.count("CG") for piece in text) / sum(map(len, text))


def test_flanks_are_richer_in_cpg_than_before(truth, sequence, real_sequence):
    flanks = [row for row in truth if row["kind"] == "flank"]
    assert cpg_per_base(sequence, flanks) > 2.5 * cpg_per_base(real_sequence, flanks)


def test_both_strands_hold_every_factor(sites):
    for factor, rows in sites.items():
        plus = sum(row["strand"] == "+" for row in rows)
        assert 0.35 < plus / len(rows) < 0.65, factor


def test_drawing_stops_at_the_asked_score():
    motif = load_motifs()["FOXA1"]
    rng = np.random.default_rng(0)
    assert all(motif.share(motif.draw(rng, 0.9)) >= 0.9 for _ in range(20))


def test_worst_change_is_the_worst_of_all():
    motif = load_motifs()["CTCF"]
    site = motif.draw(np.random.default_rng(0), 0.85)
    changes = [site[:i] + base + site[i + 1 :] for i in range(len(site)) for base in "ACGT"]
    position, base = motif.worst_change(site)
    assert site[:position] + base + site[position + 1 :] == min(changes, key=motif.score)


def test_best_share_sees_both_strands_and_skips_n():
    motif = Motif("X", "X", np.array([[9.0, 0], [0, 9], [0, 0], [0, 0]]))
    assert motif.best_share("TTACTT") == pytest.approx(1)
    assert motif.best_share("TTGTTT") == pytest.approx(1)  # AC on the other strand
    assert motif.best_share("TTTNTT") < 0
    assert motif.best_share("A") == -np.inf


def test_canvas_refuses_what_a_layout_must_not_ask():
    canvas = Canvas("AACCNNGGTT")
    canvas.plant(0, "CAT", "-")
    assert str(canvas) == "ATGCNNGGTT"
    with pytest.raises(RuntimeError, match="2-4 overlaps a planted site"):
        canvas.plant(2, "AA", "+")
    with pytest.raises(RuntimeError, match="3-5 lies in a gap"):
        canvas.plant(3, "AA", "+")
    with pytest.raises(RuntimeError, match="outside the sequence"):
        canvas.plant(9, "AA", "+")
