"""gkm-SVM: scikit-learn on a list of features as oracle, probabilities, the command line."""

import numpy as np
import pytest
from scipy.special import expit
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.svm import LinearSVC

from dna_bigbird.baselines import gkm
from dna_bigbird.baselines.config import GkmConfig
from dna_bigbird.baselines.gkm import GkmBaseline, fit_sigmoid, fit_squared_hinge
from dna_bigbird.cli.main import main
from dna_bigbird.genome import Genome
from dna_bigbird.labelled.labelled_set import LabelledSet
from dna_bigbird.labelled.scores import read_scores

from .test_gapped_kmers import drawn, features

SMALL = GkmConfig(word_length=5, informative=3, read_bp=0)


def oracle_scores(rows, signs, costs, others):
    scores = []
    for i in range(signs.shape[1]):
        model = LinearSVC(C=1.0, tol=1e-9, max_iter=200_000, dual=True)
        model.fit(rows, signs[:, i], sample_weight=costs[:, i])
        scores.append(model.decision_function(others))
    return np.stack(scores, axis=1)


@pytest.mark.parametrize("cost", [0.01, 1.0, 100.0])
def test_same_solution_as_scikit_learn(cost):
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(60, 12)).astype(np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    signs = np.where(rows[:, :3] + 0.3 * rng.normal(size=(60, 3)) > 0.2, 1, -1).astype(np.float32)
    costs = (cost * rng.uniform(0.5, 2, signs.shape)).astype(np.float32)
    matrix = rows @ rows.T + 1
    coefficients = fit_squared_hinge(lambda x: matrix @ x, signs, costs)
    expected = oracle_scores(rows, signs, costs, rows)
    np.testing.assert_allclose(matrix @ coefficients, expected, atol=3e-3)
    warm = fit_squared_hinge(lambda x: matrix @ x, signs, costs, coefficients / 2)
    np.testing.assert_allclose(matrix @ warm, expected, atol=3e-3)


def labelled_rows(seed, number):
    """Sequences with two labels: a word on either strand, and T at the start."""
    rng = np.random.default_rng(seed)
    sequences = drawn(rng, number, 40, "ACGT")
    for i in range(0, number, 2):
        word = ("TGACTCA", "TGAGTCA")[i // 2 % 2]
        sequences[i] = sequences[i][:15] + word + sequences[i][22:]
    labels = [[i % 2 == 0, x.startswith("T")] for i, x in enumerate(sequences)]
    return sequences, np.array(labels, float)


@pytest.mark.parametrize("matrix_rows", [gkm.MATRIX_ROWS, 10])
def test_scores_are_those_of_scikit_learn_on_all_gapped_words(monkeypatch, matrix_rows):
    """With and without the matrix of all pairs."""
    monkeypatch.setattr(gkm, "MATRIX_ROWS", matrix_rows)
    monkeypatch.setattr(gkm, "ROWS_PER_LABEL", matrix_rows)
    monkeypatch.setattr(gkm, "COSTS", (1.0,))
    sequences, labels = labelled_rows(0, 120)
    model = GkmBaseline(SMALL)
    train, validation = (model.count(x) for x in (sequences[:80], sequences[80:]))
    model.fit(train, labels[:80], validation, labels[80:])
    vectors = features(sequences, 5, 3, together=True)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    share = labels[:80].mean(axis=0)
    costs = np.where(labels[:80] == 1, 0.5 / share, 0.5 / (1 - share))
    scores = oracle_scores(vectors[:80], 2 * labels[:80] - 1, costs, vectors[80:])
    slopes, biases = fit_sigmoid(scores, labels[80:])
    np.testing.assert_allclose(
        model.predict(validation), expit(scores * slopes + biases), atol=3e-3
    )


def test_cost_is_chosen_on_validation_and_motifs_are_found():
    (sequences, labels), (others, truth) = labelled_rows(1, 400), labelled_rows(2, 200)
    model = GkmBaseline(GkmConfig(word_length=7, informative=5, read_bp=0))
    rows, known, none = model.count(sequences), model.count(others), model.count([])
    chosen = model.fit(rows, labels, known, truth)
    assert chosen.cost in gkm.COSTS
    assert roc_auc_score(truth[:, 0], chosen.predict(known)[:, 0]) > 0.95
    assert chosen.predict(none).shape == (0, 2)
    assert model.fit(rows, labels, none, np.zeros((0, 2))).cost == gkm.COST_WITHOUT_VALIDATION


def test_a_label_that_never_varies_scores_its_value():
    sequences, labels = labelled_rows(0, 40)
    labels[:, 1] = 1
    model = GkmBaseline(SMALL)
    rows = model.count(sequences)
    scores = model.fit(rows, labels, rows, labels).predict(rows)
    assert (scores[:, 1] == 1).all()
    assert scores[:, 0].std() > 0
    labels[:, 0] = 0
    assert model.fit(rows, labels, rows, labels).predict(rows)[:2].tolist() == [[0, 1], [0, 1]]


def test_each_label_is_fitted_on_the_rows_where_it_was_measured(monkeypatch):
    """The same as a fit on these rows alone, with validation rows of the same kind."""
    monkeypatch.setattr(gkm, "COSTS", (1.0,))
    sequences, labels = labelled_rows(0, 160)
    labels[np.random.default_rng(1).random(labels.shape) < [0.3, 0]] = np.nan
    rows, known = slice(0, 100), slice(100, 150)
    asked = GkmBaseline(SMALL).count(sequences[150:])

    def probabilities(train, validation, columns):
        model = GkmBaseline(SMALL)
        counted = [model.count([sequences[i] for i in part]) for part in (train, validation)]
        return model.fit(
            counted[0], labels[train][:, columns], counted[1], labels[validation][:, columns]
        ).predict(asked)

    together = probabilities(np.arange(160)[rows], np.arange(160)[known], [0, 1])
    for label in (0, 1):
        measured = np.flatnonzero(~np.isnan(labels[:, label]))
        train, validation = (
            measured[(measured >= x.start) & (measured < x.stop)] for x in (rows, known)
        )
        alone = probabilities(train, validation, [label])
        np.testing.assert_allclose(together[:, [label]], alone, atol=3e-3)


def test_a_label_that_no_validation_row_has_measured_keeps_the_order_of_its_scores():
    sequences, labels = labelled_rows(0, 80)
    held = labels.copy()
    held[:, 1] = np.nan
    model = GkmBaseline(SMALL)
    rows = model.count(sequences)
    scores = model.fit(rows, labels, rows, held).predict(rows)
    assert np.isfinite(scores).all()
    assert roc_auc_score(labels[:, 1], scores[:, 1]) > 0.9


def test_sigmoid_against_scikit_learn():
    """With Platt's targets as weights of the two classes, and no penalty."""
    rng = np.random.default_rng(0)
    scores = rng.normal(3, 2, size=(80, 1))
    labels = (scores + rng.normal(0, 2, size=scores.shape) > 4).astype(float)
    positive, negative = labels.sum(), (1 - labels).sum()
    target = np.where(labels == 1, (positive + 1) / (positive + 2), 1 / (negative + 2))[:, 0]
    oracle = LogisticRegression(C=1e9, tol=1e-10).fit(
        np.vstack([scores, scores]),
        np.repeat([1, 0], len(scores)),
        sample_weight=np.concatenate([target, 1 - target]),
    )
    slope, bias = fit_sigmoid(scores, labels)
    expected = oracle.predict_proba(scores)[:, 1]
    np.testing.assert_allclose(expit(scores * slope + bias)[:, 0], expected, atol=1e-4)


def test_sigmoid_keeps_the_order():
    """Also where the scores are wrong, and where all rows are negative."""
    scores = np.arange(10.0)[:, None] + np.zeros(2)
    labels = np.stack([np.arange(10) < 5, np.zeros(10)], axis=1)
    slope, bias = fit_sigmoid(scores, labels)
    assert (slope > 0).all()
    assert (expit(scores * slope + bias)[:, 1] < 0.2).all()


def test_settings():
    assert GkmConfig().for_set(window_bp=8000, bin_bp=200).read_bp == 1000
    assert GkmConfig().for_set(window_bp=1000, bin_bp=200).read_bp == 0
    assert GkmConfig().for_set(window_bp=8000, bin_bp=0).read_bp == 0
    with pytest.raises(ValueError, match=r"--gkm\.informative 7"):
        GkmConfig(word_length=6, informative=7)
    with pytest.raises(ValueError, match=r"--gkm\.word_length 13"):
        GkmConfig(word_length=13)
    with pytest.raises(ValueError, match="fill in the -1 first"):
        GkmBaseline(GkmConfig())


def test_only_the_centre_is_read():
    model = GkmBaseline(GkmConfig(word_length=2, informative=2, read_bp=4))
    rows = model.count(["AAACGTTAAA", "CGTT", "CGT"]).kmers.toarray()
    np.testing.assert_array_equal(rows[0], rows[1])
    assert rows.sum(axis=1).tolist() == [6, 6, 4]


def test_command_line(promoters, capsys):
    outputs = [promoters / "gkm_a.h5", promoters / "gkm_b.h5"]
    arguments = [f"--genome={promoters / 'toy.fa'}", f"--data={promoters / 'set.h5'}"]
    arguments += ["--method=gkm", "--gkm.word_length=6", "--gkm.informative=4"]
    for output in outputs:
        main(["baseline", *arguments, f"--output={output}"])
    assert outputs[0].read_bytes() == outputs[1].read_bytes()
    assert "gkm baseline: " in capsys.readouterr().err
    labelled = LabelledSet(promoters / "set.h5", Genome(promoters / "toy.fa"))
    scores, test = read_scores(outputs[0]), labelled.rows("test")
    assert scores.name == "gkm"
    assert "gapped k-mers of 6 bases, 4 of them read, both strands together" in scores.description
    assert roc_auc_score(labelled.labels[test, 0], scores.of(test)[:, 0]) > 0.95
    for wrong, message in (
        (["--search=3"], "--method gkm has one recipe"),
        (["--gkm.informative=9"], "--gkm.informative 9 is more than"),
    ):
        with pytest.raises(SystemExit, match="2"):
            main(["baseline", *arguments, *wrong, f"--output={promoters / 'gkm_c.h5'}"])
        assert message in capsys.readouterr().err
        assert not (promoters / "gkm_c.h5").exists()
