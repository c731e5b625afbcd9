"""benchmarks/shuffled_partner.py: a model that counts intact sites of the partner knows the answer."""

import csv
import re

import numpy as np
import pytest

from dna_bigbird.cli.main import main as command
from dna_bigbird.genome import Genome
from dna_bigbird.labelled.labelled_set import LabelledSet
from dna_bigbird.prediction.results import Predictions

JUN = re.compile("TGA[CG]TCA")


@pytest.fixture(scope="module", params=["absent", "misplaced"])
def run(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("run")
    command(f"demo-data --output {folder}/demo --long_range 40 --negatives {request.param}".split())
    command(
        f"chromatin-set --genome {folder}/demo/demo.fa --peaks {folder}/demo/peaks.tsv --output "
        f"{folder}/window_8000/set.h5 --assembly demolong --window 8000 --require_group Anchor "
        "--split.test ['demolong:60,001-400,000']".split()
    )
    return folder


def by_counts(sequences, model, labels, strand):
    """A model of POLR2A: the number of FOS::JUN consensus sites 1 to 3 kb from the middle."""
    counts = [
        sum(900 <= abs(hit.start() - len(text) // 2) <= 3100 for hit in JUN.finditer(text))
        for text in sequences.values()
    ]
    share = 1 / (1 + np.exp(3.0 - np.array(counts, dtype=float)))
    n = len(counts)
    return Predictions(np.array(list(sequences)), np.zeros(n), np.zeros(n), share[:, None], labels)


def test_only_the_partner_matters_to_a_model_of_the_rule(script, run, monkeypatch):
    shuffled = script("shuffled_partner")
    monkeypatch.setattr(shuffled, "predict", by_counts)
    rows = shuffled.table(run, 8000, seed=0, bundle=object())
    rows = {row["version"]: row for row in rows if row["label"] == "POLR2A"}
    assert float(rows["intact"]["change"]) == 0
    assert float(rows["intact"]["auroc"]) > 0.95
    assert float(rows["partner"]["change_high"]) < -2
    assert 0.3 < float(rows["partner"]["auroc"]) < 0.7
    assert abs(float(rows["elsewhere"]["change"])) < 0.3
    assert float(rows["elsewhere"]["change_low"]) <= 0.0 <= float(rows["elsewhere"]["change_high"])
    assert float(rows["elsewhere"]["auroc"]) > 0.95


def test_stretches_are_the_cluster_and_unplanted_bases(script, run):
    shuffled = script("shuffled_partner")
    data = LabelledSet(run / "window_8000" / "set.h5", Genome(run / "demo" / "demo.fa"))
    truth = shuffled.read_truth(run / "demo" / "truth.tsv")
    rows = data.rows("test")
    active = rows[data.labels_of(rows)[:, data.label_names.index("POLR2A")] > 0]
    with open(run / "demo" / "truth.tsv", newline="") as stream:
        planted = [r for r in csv.DictReader(stream, delimiter="\t") if r["kind"] == "site"]
    texts = shuffled.versions(data, active, "JUN", truth, seed=0)
    for row in active:
        first = data.interval(int(row)).start
        intact, partner, other = (np.array(list(texts[v][str(row)])) for v in texts)
        assert sorted(partner) == sorted(other) == sorted(intact)
        changed = first + np.flatnonzero(partner != intact)
        cluster = next(c for c in truth["cluster"] if c[0] == "JUN" and c[1] <= changed[0] < c[2])
        assert changed.max() < cluster[2]
        changed = first + np.flatnonzero(other != intact)
        assert np.ptp(changed) < cluster[2] - cluster[1]
        for site in planted:
            assert not ((changed >= int(site["start"])) & (changed < int(site["end"]))).any()


def test_a_promoter_without_the_partner_is_refused(script):
    truth = {"cluster": [("JUN", 9000, 9200)], "promoter": [(5000, 5001)], "flank": []}
    with pytest.raises(ValueError, match="promoter at 5000 has no JUN cluster 1 to 3 kb away"):
        script("shuffled_partner").partner_of("JUN", truth, (1000, 9000))
