"""Loss and validation scores of each type of label against closed formulas."""

import numpy as np
import pytest
import torch
from sklearn import metrics as sk

from dna_bigbird.labelled.labelled_data import standardisation
from dna_bigbird.metrics.label_objectives import IndependentLabels, OneClass, Targets, macro_auroc
from dna_bigbird.models.classifier import EnsembleClassifier, one_against_rest


def logits(rows=30, labels=3, seed=0):
    return torch.from_numpy(np.random.default_rng(seed).normal(size=(rows, labels)))


def one_hot(rows=30, labels=3, seed=1):
    return torch.eye(labels)[np.random.default_rng(seed).integers(labels, size=rows)].double()


def test_the_loss_of_classes_is_minus_the_log_of_the_softmax():
    outputs, labels = logits().numpy(), one_hot().numpy()
    softmax = np.exp(outputs) / np.exp(outputs).sum(axis=1)[:, None]
    expected = -np.log((softmax * labels).sum(axis=1)).mean()
    loss = OneClass().loss(torch.from_numpy(outputs), torch.from_numpy(labels))
    assert loss.item() == pytest.approx(expected)


def test_scores_of_classes_are_those_of_scikit_learn():
    outputs, labels = logits().numpy(), one_hot().numpy()
    scores = OneClass().scores(labels, outputs)
    truth = labels.argmax(axis=1)
    assert scores["mcc"] == pytest.approx(sk.matthews_corrcoef(truth, outputs.argmax(axis=1)))
    softmax = np.exp(outputs) / np.exp(outputs).sum(axis=1)[:, None]
    assert scores["macro_auroc"] == pytest.approx(
        sk.roc_auc_score(truth, softmax, multi_class="ovr")
    )


def test_the_loss_of_targets_is_the_squared_error_in_standard_deviations():
    truth = np.random.default_rng(0).normal(100, 5, size=(30, 2))
    objective = Targets(*standardisation(truth))
    outputs = logits(labels=2)
    standardised = (truth - truth.mean(axis=0)) / truth.std(axis=0)
    expected = ((outputs.numpy() - standardised) ** 2).mean()
    assert objective.loss(outputs, torch.from_numpy(truth)).item() == pytest.approx(expected)


def test_targets_are_predicted_and_scored_in_their_unit():
    truth = np.random.default_rng(0).normal(100, 5, size=(30, 1))
    objective = Targets(*standardisation(truth))
    standardised = (truth - truth.mean()) / truth.std()
    assert objective.predictions(torch.from_numpy(standardised)).numpy() == pytest.approx(truth)
    scores = objective.scores(truth, standardised + 0.5)
    assert scores["rmse"] == pytest.approx(0.5 * truth.std())
    assert scores["pearson"] == pytest.approx(1)


def test_a_constant_target_is_not_divided_by_zero():
    assert standardisation(np.full((4, 1), 7.0)) == ([7.0], [1.0])


def test_one_against_rest_gives_the_softmax_through_a_sigmoid():
    outputs = logits(labels=5) * 20
    assert torch.allclose(one_against_rest(outputs).sigmoid(), outputs.softmax(dim=1))


class Fixed(torch.nn.Module):
    """A member that returns given outputs."""

    def __init__(self, outputs):
        super().__init__()
        self.outputs = outputs

    def forward(self, token_ids_BT, is_padding_BT):
        return self.outputs


@pytest.mark.parametrize(
    ("label_type", "prediction"),
    [
        ("multi-class", lambda outputs: outputs.softmax(dim=1)),
        ("regression", lambda outputs: outputs),
        ("multi-label", lambda outputs: outputs.sigmoid()),
    ],
)
def test_an_ensemble_gives_the_mean_prediction(label_type, prediction):
    members = [logits(seed=seed).float() for seed in range(3)]
    ensemble = EnsembleClassifier([Fixed(x) for x in members], label_type)
    expected = torch.stack([prediction(x) for x in members]).mean(dim=0)
    assert torch.allclose(prediction(ensemble(None, None)), expected, atol=1e-6)


def test_labels_that_were_not_measured_are_not_in_the_loss():
    """The mean over the other cells, whatever the outputs; no gradient where there is no label."""
    outputs = logits().requires_grad_()
    labels = (logits(seed=1) > 0).double()
    missing = logits(seed=2) > 0.5
    loss = IndependentLabels(3.0).loss(outputs, labels.masked_fill(missing, float("nan")))
    loss.backward()
    p = 1 / (1 + np.exp(-outputs.detach().numpy()))
    cells = -np.where(labels == 1, 3 * np.log(p), np.log1p(-p))
    assert loss.item() == pytest.approx(cells[~missing.numpy()].mean())
    assert (outputs.grad[missing] == 0).all()
    assert (outputs.grad[~missing] != 0).all()
    nothing = IndependentLabels().loss(outputs, torch.full_like(labels, float("nan")))
    assert nothing.item() == 0


def test_labels_that_were_not_measured_are_not_in_the_score():
    outputs, labels = logits().numpy(), (logits(seed=1) > 0).double().numpy()
    labels[logits(seed=2).numpy() > 0.5] = np.nan
    each = [(labels[:, i], outputs[:, i], ~np.isnan(labels[:, i])) for i in range(3)]
    expected = np.mean([sk.roc_auc_score(truth[here], x[here]) for truth, x, here in each])
    assert macro_auroc(labels, outputs) == pytest.approx(expected)
