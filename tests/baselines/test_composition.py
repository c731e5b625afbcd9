"""The composition baseline: numbers counted by loops, the kernel regression by its closed formula."""

import math
from collections import Counter
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.metrics import roc_auc_score

from dna_bigbird.baselines.composition import SMOOTHING, CompositionBaseline, composition_features
from dna_bigbird.baselines.config import KmerConfig
from dna_bigbird.baselines.kmer import KmerBaseline
from dna_bigbird.baselines.kmer_baseline import baselines_of, fitted_kmers
from dna_bigbird.genome import reverse_complement

WHOLE = KmerConfig(strands="apart", centre_bp=0)


def kmers(sequence, length):
    """Shares of the k-mers without N."""
    found = [sequence[i : i + length] for i in range(len(sequence) - length + 1)]
    known = Counter(x for x in found if "N" not in x)
    return Counter({x: n / known.total() for x, n in known.items()})


def counted(sequence):
    one, two, three = (kmers(sequence, k) for k in (1, 2, 3))

    def ratio(*pairs):
        observed = sum(two[x] for x in pairs)
        expected = sum(one[a] * one[b] for a, b in pairs)
        return (observed + SMOOTHING) / (expected + SMOOTHING)

    return [
        one["G"] + one["C"],
        (one["G"] - one["C"]) / (one["G"] + one["C"]),
        (one["A"] - one["T"]) / (one["A"] + one["T"]),
        ratio("CG"),
        ratio("TG", "CA"),
        -math.log2(sum(x * x for x in three.values())),
    ]


def test_six_numbers_against_counting(random_dna):
    for length in (40, 200):
        sequence = random_dna(length, length) + "NCGCGTGNNACACAT"
        ours = composition_features(sequence, together=False)
        assert ours.tolist() == pytest.approx(counted(sequence), abs=1e-5)
        both = composition_features(sequence, together=True)
        assert both.tolist() == pytest.approx(np.abs(counted(sequence)).tolist(), abs=1e-5)
        other = composition_features(reverse_complement(sequence), together=True)
        assert other.tolist() == pytest.approx(both.tolist(), abs=1e-5)


@pytest.mark.parametrize("sequence", ["", "NNNN", "A", "AAAAAA", "ACN"])
def test_every_window_has_finite_numbers(sequence):
    assert np.isfinite(composition_features(sequence, together=False)).all()


def test_with_a_landmark_per_row_it_is_kernel_ridge_regression():
    """Centred kernel K, rows n: the targets are K (K + penalty n I)^-1 y, K divided by its mean diagonal over n."""
    rng = np.random.default_rng(0)
    x, new = rng.normal(size=(60, 6)), rng.normal(size=(20, 6))
    y = np.stack([x[:, 0] ** 2 * 5 + 40, x[:, 1] * x[:, 2]], axis=1)
    model = CompositionBaseline(WHOLE, label_type="regression").fit(x, y)
    scaled, other = ((z - x.mean(axis=0)) / x.std(axis=0) for z in (x, new))
    k, k_new = (
        np.exp(-cdist(z, scaled, "sqeuclidean") / (2 * 6 * model.width**2)) for z in (scaled, other)
    )
    column, total = k.mean(axis=0), k.mean()
    centred = k - column - column[:, None] + total
    centred_new = k_new - column - k_new.mean(axis=1, keepdims=True) + total
    spread = np.trace(centred) / 60**2
    target = (y - y.mean(axis=0)) / y.std(axis=0)
    alpha = np.linalg.solve(centred / spread + model.penalty * 60 * np.eye(60), target)
    expected = centred_new / spread @ alpha * y.std(axis=0) + y.mean(axis=0)
    assert model.predict(new) == pytest.approx(expected, rel=1e-4)


def test_it_learns_what_a_share_of_gc_cannot_rank(random_dna):
    """Positives have half of their bases G or C, negatives a quarter or three quarters."""
    rng = np.random.default_rng(0)
    gc = rng.choice([0.25, 0.5, 0.5, 0.75], 600)
    windows = [
        "".join(rng.choice(list("GCAT"), 200, p=[p / 2] * 2 + [0.5 - p / 2] * 2)) for p in gc
    ]
    labels = np.stack([gc == 0.5, np.zeros(600)], axis=1)
    train, validation, test = np.split(np.arange(600), [300, 400])
    scores = {}
    for name, model in (
        ("gc", KmerBaseline(WHOLE, method="gc")),
        ("composition", CompositionBaseline(WHOLE)),
    ):
        features = model.features(windows)
        model.fit(features[train], labels[train], features[validation], labels[validation])
        predicted = model.predict(features[test])
        assert (predicted[:, 1] == 0).all(), "a label without a positive"
        assert model.predict(features[:0]).shape == (0, 2)
        scores[name] = roc_auc_score(labels[test, 0], predicted[:, 0])
    assert scores["gc"] < 0.65
    assert scores["composition"] > 0.98


@pytest.mark.parametrize("label_type", ["multi-label", "multi-class", "regression"])
def test_width_and_penalty_have_the_smallest_loss_on_validation(label_type, monkeypatch):
    rng = np.random.default_rng(1)
    x = rng.normal(size=(400, 6))
    y = np.stack([np.sin(3 * x[:, 0]), x[:, 1]], axis=1)
    if label_type != "regression":
        y = (y > 0).astype(float)
    if label_type == "multi-class":
        y = np.eye(2)[y[:, 0].astype(int)]
    rows = (x[:200], y[:200], x[200:], y[200:])
    losses = {}
    for width in (0.3, 8.0):
        monkeypatch.setattr("dna_bigbird.baselines.composition.WIDTHS", (width,))
        losses[width] = CompositionBaseline(WHOLE, label_type=label_type).fit(*rows).loss
    monkeypatch.setattr("dna_bigbird.baselines.composition.WIDTHS", (0.3, 8.0))
    both = CompositionBaseline(WHOLE, label_type=label_type).fit(*rows)
    assert both.width == min(losses, key=losses.get)
    assert both.loss == pytest.approx(min(losses.values()))
    assert f"kernel width {both.width:g}" in both.chosen


class Bins(SimpleNamespace):
    """A labelled set of bins in memory."""

    path, task, label_type, bin_bp, has_one_length = "x.h5", "chromatin", "multi-label", 200, True
    upstream_bp, num_bins = None, 0

    def rows(self, split):
        return np.arange(30) if split == "train" else np.arange(30, 40)

    def labels_of(self, rows):
        return np.asarray(rows)[:, None] % 2

    def sequence(self, row):
        return self.random_dna(self.window_bp, row)


@pytest.mark.parametrize(("window_bp", "centre_bp"), [(1000, 400), (300, 0)])
def test_two_bins_at_the_centre_are_read_on_their_own(random_dna, window_bp, centre_bp):
    labelled = Bins(window_bp=window_bp, random_dna=random_dna)
    model, shape = fitted_kmers(labelled, KmerConfig(), method="composition")
    assert (model.config.strands, model.config.centre_bp) == ("together", centre_bp)
    assert shape == (30, 12 if centre_bp else 6)
    assert (f"central {centre_bp} bp" in model.describe()) == bool(centre_bp)
    middle = labelled.sequence(0)[(window_bp - (centre_bp or window_bp)) // 2 :][
        : centre_bp or window_bp
    ]
    features = model.features([labelled.sequence(0)])[0]
    assert np.array_equal(features[-6:], composition_features(middle, together=True))


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        ({"bin_bp": 200}, ["kmer", "gc", "composition"]),
        ({"has_one_length": False}, ["kmer", "gc", "composition"]),
        ({}, ["kmer", "gc", "composition", "positional"]),
        ({"upstream_bp": 35}, ["kmer", "gc", "composition", "positional"]),
        ({"upstream_bp": 36}, ["kmer", "gc", "composition", "positional", "motif"]),
    ],
    ids=str,
)
def test_default_baselines_are_those_that_apply(facts, expected):
    labelled = SimpleNamespace(**{"bin_bp": 0, "has_one_length": True, "upstream_bp": None} | facts)
    assert baselines_of(labelled) == expected
