"""Long-range distances: clusters searched in the sequences again, classes balanced, k-mers at chance."""

from pathlib import Path

import numpy as np
import pytest
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.preprocessing import StandardScaler

from dna_bigbird.bench.suites import long_range
from dna_bigbird.bench.suites.genomes import Genomes
from dna_bigbird.bench.suites.suite import Task
from dna_bigbird.core.errors import InputError
from dna_bigbird.genome.motifs import load_motifs

ZONES = {"right": (0.9, 1.0), "near": (0.6, 0.7), "far": (1.2, 1.3)}


def read(name):
    (task,) = (task for task in long_range.tasks(Path("nowhere")) if task.name == name)
    return long_range.read(Path("nowhere"), task, Genomes({}))


@pytest.fixture(scope="module", params=["0.5kb", "2kb"])
def made(request):
    return request.param, read(request.param)


def middle_of_cluster(sequence: str) -> float:
    """Middle of the stretch of 120 bp with the most strong sites, both strands, base by base."""
    motif = load_motifs()["JUN"]
    codes = np.array(["ACGT".index(base) for base in sequence])
    windows = np.lib.stride_tricks.sliding_window_view(codes, motif.width)
    columns = np.arange(motif.width)
    forward = motif.log_odds[windows, columns].sum(axis=1)
    reverse = motif.log_odds[::-1, ::-1][windows, columns].sum(axis=1)
    strong = np.flatnonzero(np.maximum(forward, reverse) >= 0.85 * motif.max_score)
    inside = [strong[(strong >= first) & (strong < first + 120)] for first in strong]
    best = max(inside, key=len)
    return (best[0] + best[-1] + motif.width) / 2


def test_the_distance_of_the_cluster_decides_the_label(made):
    name, rows = made
    distance = 1000 * float(name.removesuffix("kb"))
    right = []
    for row in rows.rows[:120]:
        share = abs(middle_of_cluster(row.sequence) - len(row.sequence) // 2) / distance
        slack = 25 / distance  # a strong site by chance next to the cluster
        zones = [z for z, (low, high) in ZONES.items() if low - slack <= share <= high + slack]
        expected = [["right"]] if row.labels == ("1",) else [["near"], ["far"]]
        right.append(zones in expected)
    assert len(right) == 120
    assert np.mean(right) >= 0.95  # elsewhere background has as many strong sites in 120 bp


def test_splits_and_classes_are_balanced(made):
    _, rows = made
    labels = np.array([row.labels[0] for row in rows.rows])
    for role, count in ((0, 600), (1, 200), (2, 400)):
        here = labels[rows.roles == role]
        assert len(here) == count
        assert (here == "1").sum() == count // 2
    assert rows.assembly.startswith("demo")
    assert rows.label_type == "binary"
    assert len({row.sequence for row in rows.rows}) == 1200


def test_words_are_at_chance(made):
    """Counts of words of 1 to 4 bases and scikit-learn's logistic regression, test rows."""
    _, rows = made
    words = CountVectorizer(analyzer="char", ngram_range=(1, 4), lowercase=False)
    table = StandardScaler().fit_transform(
        words.fit_transform([r.sequence for r in rows.rows]).toarray()
    )
    labels = np.array([int(row.labels[0]) for row in rows.rows])
    train, test = rows.roles == 0, rows.roles == 2
    fitted = LogisticRegression(C=0.01, max_iter=500).fit(table[train], labels[train])
    area = roc_auc_score(labels[test], fitted.decision_function(table[test]))
    assert abs(area - 0.5) < 0.09  # 3 standard errors of 200 against 200


def test_windows_reach_the_farthest_cluster():
    for name, distance in long_range.DISTANCES.items():
        assert distance == 1000 * float(name.removesuffix("kb"))
        assert long_range.window_bp(distance) >= 2 * 1.3 * distance + 200


def test_equal_calls_give_equal_rows(made):
    name, rows = made
    again = read(name)
    assert [row.sequence for row in again.rows] == [row.sequence for row in rows.rows]


def test_an_unknown_distance():
    with pytest.raises(InputError, match=r"3kb: no such task; expected one of 0\.5kb, 1kb"):
        long_range.read(Path(), Task("3kb", "auroc"), Genomes({}))
    assert all(task.about.startswith("Semi-synthetic") for task in long_range.tasks(Path()))
