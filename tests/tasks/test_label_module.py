"""Labels: the loss by hand, and a small model that must be able to learn."""

import math

import numpy as np
import pytest
import torch
from torch import nn

from dna_bigbird.corpus.batches import LabelledBatch
from dna_bigbird.labelled.tokenized import TokenizedRows
from dna_bigbird.metrics.label_objectives import macro_auroc
from dna_bigbird.models.classifier import SequenceClassifier
from dna_bigbird.models.config import EncoderConfig, HeadConfig
from dna_bigbird.models.train_config import TrainConfig
from dna_bigbird.training.data_modules import labelled_data
from dna_bigbird.training.fit import fit
from dna_bigbird.training.label_training import LabelModule, start_at_base_rates


class Fixed(nn.Module):
    def __init__(self, logits):
        super().__init__()
        self.logits = torch.tensor(logits)

    def forward(self, token_ids, is_padding):
        return self.logits


def test_positives_weigh_more():
    """Mean over rows and labels of -(w y log p + (1 - y) log(1 - p)), p = 1/2 and 3/4."""
    task = LabelModule(Fixed([[0.0, math.log(3.0)]]), TrainConfig(positive_weight=8))
    batch = LabelledBatch(
        token_ids_BT=torch.zeros(1, 4, dtype=torch.long),
        is_padding_BT=torch.zeros(1, 4, dtype=torch.bool),
        labels_BL=torch.tensor([[1.0, 0.0]]),
        examples_B=torch.tensor([0]),
    )
    loss, _ = task.loss_and_sums(batch)
    assert loss.item() == pytest.approx((8 * math.log(2) + math.log(4)) / 2, rel=1e-6)


def test_the_loss_of_validation_is_the_mean_over_measured_cells():
    """However they fall into batches: -log p of cells, p = 1/2, 3/4 and 7/8."""
    missing = float("nan")
    task = LabelModule(Fixed([[0.0, math.log(3.0), math.log(7.0)]]), TrainConfig())
    sums = [
        task.loss_and_sums(
            LabelledBatch(
                token_ids_BT=torch.zeros(1, 4, dtype=torch.long),
                is_padding_BT=torch.zeros(1, 4, dtype=torch.bool),
                labels_BL=torch.tensor([labels]),
                examples_B=torch.tensor([0]),
            )
        )[1]["loss"]
        for labels in ([1.0, 1.0, missing], [missing, missing, 0.0], [missing] * 3)
    ]
    above, below = sum(sums).tolist()
    assert above / below == pytest.approx((math.log(2) + math.log(4 / 3) + math.log(8)) / 3)


def test_labels_without_both_kinds_are_left_out_of_the_mean():
    labels = np.array([[0, 1], [1, 1], [0, 1], [1, 1]])
    scores = np.array([[0.1, 0.5], [0.2, 0.5], [0.3, 0.5], [0.4, 0.5]])
    assert macro_auroc(labels, scores) == 0.75
    assert math.isnan(macro_auroc(labels[:, 1:], scores[:, 1:]))


def test_the_start_at_base_rates_is_the_best_constant():
    """No other constant has a smaller loss: its slope is 0, but for the half rows added."""
    labels = (np.random.default_rng(0).random((4000, 3)) < [0.5, 0.02, 0.0]).astype(np.uint8)
    layer = nn.Linear(5, 3)
    start_at_base_rates(layer, labels.sum(axis=0), np.full(3, 4000), positive_weight=8)
    logits = layer(torch.randn(4000, 5, generator=torch.Generator().manual_seed(0)))
    assert (logits == logits[0]).all()
    constant = logits[0].detach().requires_grad_()
    loss = nn.functional.binary_cross_entropy_with_logits(
        constant.expand(4000, 3), torch.from_numpy(labels).float(), pos_weight=torch.tensor(8.0)
    )
    loss.backward()
    assert constant.grad.abs().max() < 8 / 4000
    assert constant[2].sigmoid().item() == pytest.approx(8 * 0.5 / (4000.5 + 8 * 0.5), rel=1e-4)


MOTIF = [9, 9, 7, 9]


def planted_rows(count, seed):
    """Windows of 30 to 60 tokens of 4 letters; those with a motif somewhere are positive."""
    rng = np.random.default_rng(seed)
    ids, labels = [], np.arange(count)[:, None] % 2
    for label in labels[:, 0]:
        row = rng.integers(5, 9, size=rng.integers(30, 60))
        if label:
            place = rng.integers(1, len(row) - len(MOTIF))
            row[place : place + len(MOTIF)] = MOTIF
        ids.append(np.concatenate([[2], row, [3]]).astype(np.uint16))
    offsets = np.cumsum([0, *map(len, ids)])
    return TokenizedRows(
        np.arange(count), labels.astype(np.uint8), [(np.concatenate(ids), offsets)]
    )


@pytest.mark.parametrize("pooling", ["cls", "mean"])
def test_a_planted_motif_is_learned(tmp_path, pooling):
    """Rows it has not seen; the training loss falls to nearly nothing."""
    config = TrainConfig(
        max_steps=120,
        batch_size=16,
        learning_rate=3e-3,
        warmup_steps=10,
        validate_every=60,
        log_every=15,
        both_strands=False,
    )
    encoder = EncoderConfig(
        vocab_size=10,
        hidden_size=32,
        num_layers=2,
        num_heads=2,
        ffn_size=64,
        max_tokens=64,
        block_size=8,
        num_random=1,
        dropout=0.0,
    )
    model = SequenceClassifier(encoder, 1, HeadConfig(pooling=pooling, dropout=0.0), seed=0)
    data = labelled_data(
        planted_rows(64, seed=1),
        planted_rows(40, seed=2),
        seed=0,
        batch_size=16,
        both_strands=False,
    )
    task = LabelModule(model, config)
    result = fit(task, data, config, checkpoints=tmp_path, seed=0, settings={})
    rows = [line.split("\t") for line in result.history.splitlines()]
    training = [float(r[3]) for r in rows if r[1:3] == ["train", "loss"]]
    assert result.best_metrics["macro_auroc"] == 1.0
    assert training[-1] < 0.05 < training[0]
