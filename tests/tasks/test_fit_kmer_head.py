"""Word counts added after a training: against scikit-learn, and what the sum is."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy.special import softmax
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from dna_bigbird.baselines.config import KmerConfig
from dna_bigbird.baselines.kmer import PENALTIES, KmerBaseline
from dna_bigbird.labelled.tokenized import TokenizedRows
from dna_bigbird.metrics.label_objectives import IndependentLabels, OneClass, Targets
from dna_bigbird.models.classifier import SequenceClassifier
from dna_bigbird.models.config import EncoderConfig, HeadConfig
from dna_bigbird.models.kmer_config import KmerHeadConfig
from dna_bigbird.models.kmer_head import N_CODE, NO_BASE
from dna_bigbird.models.label_types import MULTI_CLASS, MULTI_LABEL, REGRESSION
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


def fitted_labels(model, train, validation) -> dict[str, float]:
    """Scores of words that are added to a model of independent labels."""
    _, scores = fit_kmer_head(
        model, WORDS, BASES_VI, train, validation, IndependentLabels(), MULTI_LABEL,
        precision=torch.float32,
    )  # fmt: skip
    return scores


@pytest.fixture(scope="module")
def added():
    model, train, validation = model_of(), rows(400, 1), rows(200, 2)
    before = logits(model, validation)
    scores = fitted_labels(model, train, validation)
    return model, train, validation, before, scores


def test_words_are_the_regression_of_scikit_learn(added):
    model, train, validation, before, scores = added
    assert scores["penalty_of_words"] in PENALTIES
    x, held = frequencies(train), frequencies(validation)
    mean, std = x.mean(0), x.std(0)
    of_network = scores["network"] * before + scores["network_mean"] * before.mean(1, keepdims=True)
    part = logits(model, validation) - of_network
    for label in range(2):
        regression = LogisticRegression(
            C=1 / (len(x) * scores["penalty_of_words"]), tol=1e-9, max_iter=10_000
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
        MULTI_LABEL,
        precision=torch.float32,
    )
    assert model.training


def sum_of(network: torch.Tensor, words: torch.Tensor, labels: torch.Tensor) -> tuple:
    parts = {"network": network, "words": words}
    weights, shift = weights_of_sum(parts, labels, IndependentLabels())
    return (*weights.values(), shift)


def test_weights_are_those_that_made_the_labels():
    """Logistic regression on the two logits gives the weights with which the labels were drawn."""
    generator = torch.Generator().manual_seed(0)
    network, words = torch.randn(2, 40_000, 1, generator=generator)
    logit = 0.7 * network + 1.5 * words - 0.4
    labels = (torch.rand(logit.shape, generator=generator) < torch.sigmoid(logit)).float()
    weights = sum_of(network, words, labels)
    assert weights == pytest.approx((0.7, 1.5, -0.4), abs=0.05)


def test_what_labels_share_is_a_part_of_its_own():
    """Ten labels of one cause, which each output of the network knows badly: their mean has the weight that it has in
    the pooled regression of scikit-learn, and the sum is better."""
    generator = torch.Generator().manual_seed(0)
    cause, *noise = torch.randn(3, 4_000, 10, generator=generator)
    network, words = cause[:, :1] + 2 * noise[0], 0.5 * noise[1]
    parts = {"network": network, "words": words}
    parts["network_mean"] = network.mean(1, keepdim=True).expand_as(network)
    logit = 1.5 * cause[:, :1] + words
    labels = (torch.rand(logit.shape, generator=generator) < torch.sigmoid(logit)).float()
    weights, _ = weights_of_sum(parts, labels, IndependentLabels())
    columns = np.stack([parts[x].flatten().numpy() for x in weights], axis=1)
    pooled = LogisticRegression(C=np.inf, tol=1e-9).fit(columns, labels.flatten().numpy())
    assert list(weights.values()) == pytest.approx(pooled.coef_[0], abs=0.01)
    assert weights["network_mean"] > 5 * weights["network"]


def test_the_mean_over_labels_is_in_the_last_layer():
    model, windows = model_of(), rows(20, 9)
    before = logits(model, windows)
    model.mix_outputs(0.5, 2.0, -1.0)
    expected = 0.5 * before + 2 * before.mean(1, keepdims=True) - 1
    np.testing.assert_allclose(logits(model, windows), expected, atol=1e-5)


def test_one_validation_row_gives_weights():
    assert np.isfinite(sum_of(torch.ones(1, 1), torch.ones(1, 1), torch.ones(1, 1))).all()


def test_words_that_say_nothing_are_left_out():
    generator = torch.Generator().manual_seed(0)
    network = torch.randn(500, 2, generator=generator)
    labels = (torch.rand(network.shape, generator=generator) < torch.sigmoid(3 * network)).float()
    assert sum_of(network, -network.abs() * labels, labels) == (1, 0, 0)


def test_a_network_that_points_the_wrong_way_gets_no_weight():
    """The words have the weight that they have alone."""
    generator = torch.Generator().manual_seed(0)
    network, words = torch.randn(2, 40_000, 1, generator=generator)
    logit = 2 * words + 1 - 0.1 * network
    labels = (torch.rand(logit.shape, generator=generator) < torch.sigmoid(logit)).float()
    weights = sum_of(network, words, labels)
    assert weights == pytest.approx((0, 2, 1), abs=0.06)
    assert weights[0] == 0


def test_the_network_stays_as_it_is_if_all_parts_point_the_wrong_way():
    generator = torch.Generator().manual_seed(0)
    network, words = torch.randn(2, 40_000, 1, generator=generator)
    logit = -network - words
    labels = (torch.rand(logit.shape, generator=generator) < torch.sigmoid(logit)).float()
    assert sum_of(network, words, labels) == (1, 0, 0)


@pytest.mark.parametrize("label_type", [MULTI_CLASS, REGRESSION])
def test_classes_and_targets_are_added_as_the_baseline_predicts_them(label_type):
    """The logits of the counts alone are those of the regression: softmax of scikit-learn, or its Ridge."""
    rng = np.random.default_rng(0)
    windows = [rows(300, 5), rows(200, 6)]
    if label_type == REGRESSION:
        objective = Targets([10.0, 3.0], [3.0, 2.0])
        for x in windows:
            x.labels = frequencies(x)[:, [0, 6]] @ [[80, 10], [5, 90]] + rng.normal(
                size=(len(x), 2)
            )
    else:
        objective = OneClass()
        for x in windows:
            x.labels = np.eye(2)[(frequencies(x)[:, 0] > 0.25).astype(int)]
    model, (train, validation) = model_of(), windows
    with torch.no_grad():
        model.label_layer.weight.zero_()
    kept, scores = fit_kmer_head(
        model, WORDS, BASES_VI, train, validation, objective, label_type, precision=torch.float32
    )
    assert kept == WORDS
    baseline = KmerBaseline(KmerConfig(strands="together", centre_bp=0), label_type=label_type)
    x, held = frequencies(train).astype(np.float32), frequencies(validation).astype(np.float32)
    baseline.fit(x, train.labels, held, validation.labels)
    expected = baseline.predict(held)
    with torch.no_grad():
        of_words = model.words(tokens(validation), torch.zeros_like(tokens(validation)).bool())
    of_words = of_words.numpy() / scores["words"]
    if label_type == REGRESSION:
        mean, std = train.labels.mean(0), train.labels.std(0)
        np.testing.assert_allclose(of_words * std + mean, expected, atol=1e-4)
    else:
        np.testing.assert_allclose(softmax(of_words, axis=-1), expected, atol=1e-4)


def test_positions_are_found_where_k_mers_say_nothing():
    """A label that is one base at one place: the k-mers are left out or nearly so, the positions are kept."""
    train, validation = rows(400, 7), rows(200, 8)
    for x in (train, validation):
        first = tokens(x)[:, 11].numpy()
        x.labels = np.stack([first == 6, first == 8], axis=1).astype(np.uint8)
    model = model_of()
    kept, scores = fit_kmer_head(
        model, replace(WORDS, positions=TOKENS), BASES_VI, train, validation, IndependentLabels(), MULTI_LABEL,
        precision=torch.float32,
    )  # fmt: skip
    assert kept.positions == TOKENS
    assert scores["macro_auroc_of_words"] < 0.7
    assert scores["macro_auroc_of_positions"] > 0.99
    after = IndependentLabels().scores(validation.labels, logits(model, validation))["macro_auroc"]
    assert scores["macro_auroc"] == pytest.approx(after, abs=1e-6)
    assert after > 0.99


def test_cells_that_were_not_measured_are_neither_fitted_nor_scored():
    """Label 1 in half of the rows: loss and score are those of the other cells."""
    model, train, validation = model_of(), rows(200, 1), rows(120, 2)
    for part in (train, validation):
        part.labels = part.labels.astype(np.float32)
        part.labels[::2, 1] = np.nan
    scores = fitted_labels(model, train, validation)
    z, truth = logits(model, validation), validation.labels
    measured = ~np.isnan(truth)
    nats = np.logaddexp(0, z) - np.nan_to_num(truth) * z
    assert scores["loss"] == pytest.approx(nats[measured].mean(), rel=1e-3)
    areas = [roc_auc_score(truth[rows, i], z[rows, i]) for i, rows in enumerate(measured.T)]
    assert scores["macro_auroc"] == pytest.approx(np.mean(areas), abs=1e-3)
