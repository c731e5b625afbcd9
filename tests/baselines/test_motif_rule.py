"""The motif rule: matches found by loops, windows of both strands cut by hand, real promoters."""

import gzip
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from dna_bigbird.baselines.motif_rule import MotifRule
from dna_bigbird.cli.main import main
from dna_bigbird.core.errors import InputError
from dna_bigbird.genome import reverse_complement
from dna_bigbird.genome.motifs import load_motifs
from dna_bigbird.labelled.labelled_set import LabelledSet
from dna_bigbird.labelled.scores import read_scores

TATA = load_motifs()["TBP"]
BOX = "GTATAAAAGGCGGGG"
"""The most frequent bases of the matrix."""
FORMATS = Path(__file__).parents[1] / "formats/files"


def best_match(sequence, site):
    """Of all matches that begin 36 to 26 bases before the start site, whose offset is `site`."""
    starts = range(site - 36, site - 25)
    return max(TATA.score(sequence[start : start + 15]) for start in starts)


def test_best_match_against_scoring_every_place(random_dna):
    windows = [random_dna(120, seed) for seed in range(30)]
    found = MotifRule(60).features(windows)
    assert found[:, 0] == pytest.approx([best_match(x, 60) for x in windows])
    assert MotifRule(60).predict(found)[:, 0] == pytest.approx(1 / (1 + 2 ** -found[:, 0]))


@pytest.mark.parametrize(
    ("upstream", "offset", "is_read"),
    [(80, -37, False), (80, -36, True), (80, -26, True), (80, -25, False), (36, -36, True)],
)
def test_a_box_is_found_only_where_a_box_belongs(upstream, offset, is_read):
    start = upstream + offset
    window = "C" * start + BOX + "C" * 40
    (bits,) = MotifRule(upstream).features([window])[0]
    assert (bits == pytest.approx(TATA.max_score)) == is_read
    assert MotifRule(upstream).features(["N" * len(window)]).tolist() == [[0.0]]


def test_windows_of_both_strands_are_scored_at_their_start_site(tmp_path):
    rng = np.random.default_rng(0)
    genome = rng.choice(list("CG"), 12_000)
    sites = [(site, "+-"[i % 2]) for i, site in enumerate(range(500, 12_000, 500))]
    for site, strand in sites:
        if strand == "+":
            genome[site - 31 : site - 16] = list(BOX)
        else:
            genome[site + 17 : site + 32] = list(reverse_complement(BOX))
    text = "".join(genome)
    (tmp_path / "toy.fa").write_text(f">chr1\n{text}\n")
    rows = [f"chr1\t{s}\t{s + 1}\tp{s}\t0\t{strand}\n" for s, strand in sites]
    (tmp_path / "sites.bed").write_text("".join(rows))
    main(
        [
            *(
                "promoter-set",
                f"--genome={tmp_path / 'toy.fa'}",
                f"--sites={tmp_path / 'sites.bed'}",
            ),
            *(
                f"--output={tmp_path / 'set.h5'}",
                "--assembly=toy",
                "--upstream=60",
                "--downstream=20",
            ),
            *("--split.validation=[chr1:4001-8000]", "--split.test=[chr1:8001-12000]"),
        ]
    )
    main(
        [
            *("baseline", "--method=motif", f"--genome={tmp_path / 'toy.fa'}"),
            *(f"--data={tmp_path / 'set.h5'}", f"--output={tmp_path / 'motif.h5'}"),
        ]
    )
    labelled = LabelledSet(tmp_path / "set.h5")
    assert labelled.upstream_bp == 60
    scores = read_scores(tmp_path / "motif.h5")
    positive = scores.rows[labelled.labels_of(scores.rows)[:, 0] == 1]
    assert {labelled.interval(row).strand for row in positive} == {"+", "-"}
    assert scores.of(positive) == pytest.approx(1 / (1 + 2**-TATA.max_score), abs=1e-6)


def test_real_tata_promoters_rank_above_windows_of_the_genome(real_data):
    """AUROC 0.99 in docs/results/composition-and-motif-rule.md; 0.952 is known of a simpler match."""
    with gzip.open(real_data / "promoters/human_tata_promoters_300bp.txt.gz", "rt") as stream:
        promoters = stream.read().split()[:500]
    with gzip.open(real_data / "genome/hg19_chr22_1-21000000.fa.gz", "rt") as stream:
        chr22 = stream.read().partition("\n")[2].replace("\n", "").upper()
    starts = np.random.default_rng(0).integers(17_000_000, 20_000_000, 500).tolist()
    windows = [chr22[start : start + 300] for start in starts]
    rule = MotifRule(249)
    scores = rule.predict(rule.features([*promoters, *windows]))[:, 0]
    assert roc_auc_score([1] * 500 + [0] * 500, scores) > 0.95


@pytest.mark.parametrize("upstream_bp", [None, 35])
def test_windows_without_a_start_site_are_refused(upstream_bp):
    labelled = SimpleNamespace(path="x.h5", upstream_bp=upstream_bp)
    with pytest.raises(InputError, match=r"x\.h5: --method motif .* --method positional"):
        MotifRule.for_set(labelled)


def test_the_start_site_is_known_of_promoter_sets_of_earlier_versions():
    names = ("promoter", "chromatin", "deepsea", "sequences")
    found = {name: LabelledSet(FORMATS / f"{name}.h5").upstream_bp for name in names}
    assert found == {"promoter": 60, "chromatin": None, "deepsea": None, "sequences": None}
