"""Word counts added after a training: against scikit-learn, and what the sum is."""

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression

from dna_bigbird.baselines.kmer import PENALTIES
from dna_bigbird.labelled.tokenized import TokenizedRows
from dna_bigbird.metrics.label_objectives import IndependentLabels
from dna_bigbird.models.classifier import SequenceClassifier
from dna_bigbird.models.config import EncoderConfig, HeadConfig
from dna_bigbird.models.kmer_config import KmerHeadConfig
from dna_bigbird.models.kmer_head import N_CODE, NO_BASE
from dna_bigbird.training.kmer_counts import fit_kmer_head, weights_of_sum

ENCODER = EncoderConfig(
    vocab_size=10,
    hidden_size=16,
    num_layers=1,
    num_heads=2,
    ffn_size=32,
    max_tokens=64,
    block_size=8,
)
# Ids 5 to 9 are A, C, G, T, N.
BASES_VI = np.array([[NO_BASE]] * 5 + [[0], [1], [2], [3], [N_CODE]], dtype=np.int8)
WORDS = KmerHeadConfig(max_k=2, together=False)
TOKENS = 40


def rows(n: int, seed: int) -> TokenizedRows:
    """Windows of 40 bases; label 0 follows from the number of CG, label 1 from that of A."""
    rng = np.random.default_rng(seed)
    ids = rng.integers(5, 9, size=(n, TOKENS)).astype(np.uint16)
    pairs = ((ids[:, :-1] == 6) & (ids[:, 1:] == 7)).sum(1) + rng.normal(size=n)
    labels = np.stack([pairs > 2.5, (ids == 5).sum(1) + rng.normal(size=n) > 10], axis=1)
    return TokenizedRows(
        np.arange(n), labels.astype(np.uint8), [(ids.flatten(), np.arange(n + 1) * TOKENS)]
    )


def model_of() -> SequenceClassifier:
    return SequenceClassifier(ENCODER, 2, HeadConfig(pooling="mean"), seed=1)


def tokens(windows: TokenizedRows) -> torch.Tensor:
    return torch.from_numpy(
        np.stack([windows.ids(i) for i in range(len(windows))]).astype(np.int64)
    )


def logits(model: SequenceClassifier, windows: TokenizedRows) -> np.ndarray:
    ids = tokens(windows)
    with torch.no_grad():
        return model.eval()(ids, torch.zeros_like(ids, dtype=torch.bool)).numpy()


def frequencies(windows: TokenizedRows) -> np.ndarray:
    ids = tokens(windows).numpy() - 5
    pairs = ids[:, :-1] * 4 + ids[:, 1:]
    return np.stack(
        [
            np.concatenate(
                [np.bincount(a, minlength=4) / len(a), np.bincount(b, minlength=16) / len(b)]
            )
            for a, b in zip(ids, pairs, strict=True)
        ]
    )


@pytest.fixture(scope="module")
def added():
    model, train, validation = model_of(), rows(400, 1), rows(200, 2)
    before = logits(model, validation)
    scores = fit_kmer_head(
        model,
        WORDS,
        BASES_VI,
        train,
        validation,
        IndependentLabels(),
        precision=torch.float32,
    )
    return model, train, validation, before, scores


def test_words_are_the_regression_of_scikit_learn(added):
    model, train, validation, before, scores = added
    assert scores["penalty"] in PENALTIES
    x, held = frequencies(train), frequencies(validation)
    mean, std = x.mean(0), x.std(0)
    part = logits(model, validation) - scores["network"] * before
    for label in range(2):
        regression = LogisticRegression(
            C=1 / (len(x) * scores["penalty"]), tol=1e-9, max_iter=10_000
        ).fit((x - mean) / std, train.labels[:, label])
        expected = regression.decision_function((held - mean) / std)
        moved = part[:, label] - scores["words"] * expected
        # What remains is the shift, the same for both labels.
        np.testing.assert_allclose(moved, moved.mean(), atol=2e-3)


def test_the_sum_is_better_than_the_network(added):
    model, _, validation, before, scores = added
    objective = IndependentLabels()
    assert scores["words"] > 0
    after = objective.scores(validation.labels, logits(model, validation))["macro_auroc"]
    assert scores["macro_auroc"] == pytest.approx(after, abs=1e-6)
    together = torch.from_numpy(logits(model, validation))
    loss = objective.loss(together, torch.from_numpy(validation.labels).float())
    assert scores["loss"] == pytest.approx(float(loss), rel=1e-5)
    assert scores["macro_auroc_of_network"] == pytest.approx(
        objective.scores(validation.labels, before)["macro_auroc"], abs=1e-6
    )
    assert scores["macro_auroc"] > scores["macro_auroc_of_network"] + 0.1


def test_a_saved_part_is_the_same(added, tmp_path):
    model, _, validation, *_ = added
    torch.save(model.state_dict(), tmp_path / "weights")
    again = SequenceClassifier(ENCODER, 2, HeadConfig(pooling="mean"), seed=5, words=WORDS)
    again.load_state_dict(torch.load(tmp_path / "weights", weights_only=True))
    np.testing.assert_array_equal(logits(again, validation), logits(model, validation))


def test_the_training_mode_is_kept():
    model = model_of().train()
    fit_kmer_head(
        model,
        WORDS,
        BASES_VI,
        rows(60, 3),
        rows(40, 4),
        IndependentLabels(),
        precision=torch.float32,
    )
    assert model.training


def test_weights_are_those_that_made_the_labels():
    """Logistic regression on the two logits gives the weights with which the labels were drawn."""
    generator = torch.Generator().manual_seed(0)
    network, words = torch.randn(2, 40_000, 1, generator=generator)
    logit = 0.7 * network + 1.5 * words - 0.4
    labels = (torch.rand(logit.shape, generator=generator) < torch.sigmoid(logit)).float()
    weights = weights_of_sum(network, words, labels, IndependentLabels())
    assert weights == pytest.approx((0.7, 1.5, -0.4), abs=0.05)


def test_words_that_say_nothing_are_left_out():
    generator = torch.Generator().manual_seed(0)
    network = torch.randn(500, 2, generator=generator)
    labels = (torch.rand(network.shape, generator=generator) < torch.sigmoid(3 * network)).float()
    assert weights_of_sum(network, -network.abs() * labels, labels, IndependentLabels()) == (
        1,
        0,
        0,
    )


def test_a_network_that_points_the_wrong_way_gets_no_weight():
    """The words have the weight that they have alone."""
    generator = torch.Generator().manual_seed(0)
    network, words = torch.randn(2, 40_000, 1, generator=generator)
    logit = 2 * words + 1 - 0.1 * network
    labels = (torch.rand(logit.shape, generator=generator) < torch.sigmoid(logit)).float()
    weights = weights_of_sum(network, words, labels, IndependentLabels())
    assert weights == pytest.approx((0, 2, 1), abs=0.06)
    assert weights[0] == 0
