"""The start at a probe: against scikit-learn on the same features, and what is kept of low rank."""

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import roc_auc_score
from sklearn.preprocessing import StandardScaler

from dna_bigbird.labelled.tokenized import TokenizedRows
from dna_bigbird.metrics.label_objectives import IndependentLabels, Targets
from dna_bigbird.models.classifier import SequenceClassifier
from dna_bigbird.models.config import EncoderConfig, HeadConfig
from dna_bigbird.training import probe

ENCODER = EncoderConfig(
    vocab_size=9,
    hidden_size=16,
    num_layers=1,
    num_heads=2,
    ffn_size=32,
    max_tokens=64,
    block_size=8,
)
TOKENS = 12


@pytest.fixture
def rows():
    """Windows of 12 tokens on both strands; a label follows from the number of one token."""

    def make(n: int, seed: int, num_labels: int = 1) -> TokenizedRows:
        rng = np.random.default_rng(seed)
        ids = rng.integers(2, 9, size=(n, TOKENS)).astype(np.uint16)
        noise = rng.normal(size=(n, num_labels))
        counts = np.stack([(ids == 3 + i).sum(axis=1) for i in range(num_labels)], axis=1)
        labels = (counts + noise > 2).astype(np.uint8)
        offsets = np.arange(n + 1) * TOKENS
        strands = [(ids.flatten(), offsets), (ids[:, ::-1].flatten(), offsets)]
        return TokenizedRows(np.arange(n), labels, strands)

    return make


def model_of(num_labels: int, **head) -> SequenceClassifier:
    return SequenceClassifier(ENCODER, num_labels, HeadConfig(pooling="mean", **head), seed=1)


def features(model, rows: TokenizedRows, strand: str) -> np.ndarray:
    ids = torch.from_numpy(
        np.stack([rows.ids(i, strand) for i in range(len(rows))]).astype(np.int64)
    )
    with torch.inference_mode():
        return model.eval().encoder(ids, torch.zeros_like(ids, dtype=torch.bool)).mean(1).numpy()


def logits(model, rows: TokenizedRows) -> np.ndarray:
    ids = torch.from_numpy(np.stack([rows.ids(i) for i in range(len(rows))]).astype(np.int64))
    with torch.inference_mode():
        return model.eval()(ids, torch.zeros_like(ids, dtype=torch.bool)).numpy()


def test_the_layer_is_the_logistic_regression_of_scikit_learn(rows, monkeypatch):
    monkeypatch.setattr(probe, "ITERATIONS", 200)
    model, train, held = model_of(1), rows(120, 0), rows(80, 1)
    found = probe.init_from_probe(
        model, train, held, IndependentLabels(), strands="+-", precision=torch.float32
    )
    assert all(module.training for module in model.modules()), "dropout is on in the training"
    x = np.concatenate([features(model, train, strand) for strand in "+-"])
    scaler = StandardScaler().fit(x)
    labels = np.tile(train.labels[:, 0], 2)
    scores = {}
    for penalty in probe.PENALTIES:
        # Its sum of losses times C, plus half the squared weights, is ours times N C.
        regression = LogisticRegression(C=1 / (penalty * len(x)), tol=1e-8, max_iter=10_000)
        regression.fit(scaler.transform(x), labels)
        own = regression.decision_function(scaler.transform(features(model, held, "+")))
        scores[penalty] = IndependentLabels().scores(held.labels, own[:, None])["macro_auroc"]
        if penalty == found["penalty"]:
            np.testing.assert_allclose(logits(model, held)[:, 0], own, atol=0.02)
    assert found["macro_auroc"] == pytest.approx(max(scores.values()), abs=0.003)
    assert found["macro_auroc"] > 0.8


def test_rows_where_the_label_was_not_measured_are_not_fitted(rows, monkeypatch):
    """scikit-learn's regression on the other rows."""
    monkeypatch.setattr(probe, "ITERATIONS", 200)
    monkeypatch.setattr(probe, "PENALTIES", (0.01,))
    model, train, held = model_of(1), rows(160, 0), rows(80, 1)
    for part in (train, held):
        part.labels = np.where(np.arange(len(part))[:, None] % 2, part.labels, np.nan)
    found = probe.init_from_probe(
        model, train, held, IndependentLabels(), strands="+", precision=torch.float32
    )
    x = StandardScaler().fit_transform(features(model, train, "+"))
    regression = LogisticRegression(C=1 / (0.01 * 80), tol=1e-8, max_iter=10_000)
    regression.fit(x[1::2], train.labels[1::2, 0])
    own = regression.decision_function(x)
    np.testing.assert_allclose(logits(model, train)[:, 0], own, atol=0.02)
    score = roc_auc_score(held.labels[1::2, 0], logits(model, held)[1::2, 0])
    assert found["macro_auroc"] == pytest.approx(score, abs=1e-3)


def test_targets_are_those_of_ridge_regression(rows, monkeypatch):
    monkeypatch.setattr(probe, "ITERATIONS", 200)
    monkeypatch.setattr(probe, "PENALTIES", (0.1,))
    model, train = model_of(1), rows(100, 0)
    rng = np.random.default_rng(3)
    train.labels = train.labels + rng.normal(size=train.labels.shape)
    objective = Targets([train.labels.mean()], [train.labels.std()])
    probe.init_from_probe(model, train, train, objective, strands="+", precision=torch.float32)
    x = StandardScaler().fit_transform(features(model, train, "+"))
    targets = (train.labels[:, 0] - train.labels.mean()) / train.labels.std()
    # Ours: mean of squares + penalty / 2 w². Its: sum of squares + alpha w².
    expected = Ridge(alpha=0.1 / 2 * len(x)).fit(x, targets).predict(x)
    np.testing.assert_allclose(logits(model, train)[:, 0], expected, atol=1e-3)


def test_a_head_of_low_rank_has_the_directions_that_vary_most(rows):
    train = rows(150, 0, num_labels=3)
    scores = {}
    full = model_of(3)
    probe.init_from_probe(
        full, train, train, IndependentLabels(), strands="+", precision=torch.float32
    )
    for rank in (1, 3):
        model = model_of(3, label_rank=rank)
        scores[rank] = probe.init_from_probe(
            model, train, train, IndependentLabels(), strands="+", precision=torch.float32
        )["macro_auroc"]
        centred = logits(model, train) - model.label_layer.bias.detach().numpy()
        assert np.linalg.matrix_rank(centred, tol=1e-3) == rank
    np.testing.assert_allclose(logits(model, train), logits(full, train), atol=1e-3)
    assert scores[3] > scores[1] > 0.5


def test_of_a_large_set_evenly_spaced_rows_are_read(rows, monkeypatch):
    monkeypatch.setattr(probe, "MOST_NUMBERS", 10 * ENCODER.hidden_size + 1)
    read = []
    original = probe.features
    monkeypatch.setattr(
        probe, "features", lambda *x, **settings: read.append(x[2]) or original(*x, **settings)
    )
    held = rows(7, 1)
    probe.init_from_probe(
        model_of(1), rows(100, 0), held, IndependentLabels(), strands="+", precision=torch.float32
    )
    assert [list(x) for x in read] == [[0, 11, 22, 33, 44, 55, 66, 77, 88, 99], list(range(7))]
