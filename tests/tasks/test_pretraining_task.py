"""Loss and figures of pretraining against a computation by hand."""

import math

import numpy as np
import pytest
import torch
from torch import nn

from dna_bigbird.corpus.batches import PretrainingBatch
from dna_bigbird.models.config import EncoderConfig
from dna_bigbird.models.pretraining_model import PretrainingModel
from dna_bigbird.models.train_config import TrainConfig
from dna_bigbird.training.objective import add_sums, ratios
from dna_bigbird.training.pretraining_task import PretrainingTask


class Fixed(nn.Module):
    """Gives the same logits whatever it reads."""

    def __init__(self, mlm, nsp):
        super().__init__()
        self.mlm = torch.tensor(mlm).log()
        self.nsp = None if nsp is None else torch.tensor(nsp).log()

    def forward(self, token_ids, is_padding, segment_ids, positions):
        return self.mlm, self.nsp


def batch(labels, is_random_next):
    count = len(is_random_next)
    return PretrainingBatch(
        token_ids_BT=torch.zeros(count, 4, dtype=torch.long),
        is_padding_BT=torch.zeros(count, 4, dtype=torch.bool),
        segment_ids_BT=torch.zeros(count, 4, dtype=torch.long),
        positions_P=torch.arange(len(labels)),
        labels_P=torch.tensor(labels),
        is_random_next_B=torch.tensor(is_random_next),
        predicted_B=torch.tensor([len(labels)]),
        examples_B=torch.arange(count),
    )


PIECE_BP = np.array([0, 3, 5])
FIRST = (
    Fixed([[0.5, 0.25, 0.25], [0.1, 0.1, 0.8]], [[0.9, 0.1]]),
    batch([1, 2], [0]),
)
SECOND = (
    Fixed([[0.2, 0.45, 0.35]], [[0.75, 0.25], [0.5, 0.5]]),
    batch([2], [1, 0]),
)


def figures(model, examples, **options):
    task = PretrainingTask(model, TrainConfig(), PIECE_BP, **options)
    return task.loss_and_sums(examples)


def test_loss_is_mean_over_tokens_plus_mean_over_examples():
    loss, _ = figures(*FIRST)
    expected = -(math.log(0.25) + math.log(0.8)) / 2 - math.log(0.9)
    assert loss.item() == pytest.approx(expected, rel=1e-6)


def test_the_weight_of_nsp_weighs_the_loss_and_no_figure():
    loss, sums = figures(*FIRST, nsp_weight=0.25)
    expected = -(math.log(0.25) + math.log(0.8)) / 2 - 0.25 * math.log(0.9)
    assert loss.item() == pytest.approx(expected, rel=1e-6)
    plain = ratios(figures(*FIRST)[1])
    assert {k: v for k, v in ratios(sums).items() if k != "loss"} == {
        k: v for k, v in plain.items() if k != "loss"
    }


def test_a_model_without_nsp_head():
    _, examples = FIRST
    loss, sums = figures(Fixed([[0.5, 0.25, 0.25], [0.1, 0.1, 0.8]], None), examples)
    assert loss.item() == pytest.approx(-(math.log(0.25) + math.log(0.8)) / 2, rel=1e-6)
    assert set(sums) == {"loss", "bits_per_base_masked", "mlm_accuracy"}


def test_weights_of_tokens_weigh_the_loss_and_no_figure():
    model, examples = FIRST
    weighted = examples._replace(weights_P=torch.tensor([0.1, 0.7]))
    loss, sums = figures(model, weighted)
    expected = -(0.1 * math.log(0.25) + 0.7 * math.log(0.8)) / 0.8 - math.log(0.9)
    assert loss.item() == pytest.approx(expected, rel=1e-6)
    plain = figures(model, examples)[1]
    for name in ("bits_per_base_masked", "mlm_accuracy", "nsp_accuracy"):
        assert torch.equal(sums[name], plain[name])


@pytest.mark.parametrize("weight", [0.5, 1.0])
def test_equal_weights_change_nothing(weight):
    model, examples = FIRST
    found, _ = figures(model, examples._replace(weights_P=torch.full((2,), weight)))
    assert found.item() == pytest.approx(figures(*FIRST)[0].item(), rel=1e-6)


def test_tokens_without_any_weight_give_no_loss():
    model, examples = FIRST
    found, _ = figures(model, examples._replace(weights_P=torch.zeros(2)), nsp_weight=0.0)
    assert found.item() == 0


def test_bits_per_base_over_two_batches():
    """Sum of the nats over ln 2 times the 3 + 5 + 5 base pairs predicted; not a mean of means."""
    total = {}
    for model, examples in (FIRST, SECOND):
        add_sums(total, figures(model, examples)[1])
    values = ratios(total)
    nats = -(math.log(0.25) + math.log(0.8) + math.log(0.35))
    assert values["bits_per_base_masked"] == pytest.approx(nats / (math.log(2) * 13), rel=1e-6)
    assert values["mlm_accuracy"] == pytest.approx(1 / 3)  # argmax: 0, 2, 1 against 1, 2, 2
    assert values["nsp_accuracy"] == pytest.approx(2 / 3)


def test_uniform_guess_over_bases_is_two_bits():
    task = PretrainingTask(Fixed([[0.25] * 4], [[0.5, 0.5]]), TrainConfig(), np.ones(4))
    _, sums = task.loss_and_sums(batch([3], [0]))
    assert ratios(sums)["bits_per_base_masked"] == pytest.approx(2)


def test_a_moved_batch_is_packed_ahead_and_scores_the_same():
    """What Lightning calls, then the loss; without it the encoder plans for itself."""
    config = EncoderConfig(
        vocab_size=30, hidden_size=32, num_layers=1, num_heads=2, ffn_size=48, max_tokens=64,
        block_size=16, num_random=1, dropout=0.0,
    )  # fmt: skip
    task = PretrainingTask(PretrainingModel(config), TrainConfig(), np.ones(30))
    lengths = torch.tensor([40, 64, 9])
    is_padding = torch.arange(64) >= lengths[:, None]
    ids = torch.randint(6, 30, (3, 64), generator=torch.Generator().manual_seed(0))
    positions = torch.tensor([1, 30, 70, 130])
    examples = torch.arange(3)
    batch = PretrainingBatch(
        ids, is_padding, torch.zeros_like(ids), positions, ids.flatten()[positions], examples % 2,
        torch.tensor([2, 1, 1]), examples,
    )  # fmt: skip
    with torch.no_grad():
        alone, _ = task.loss_and_sums(batch)
    moved = task.transfer_batch_to_device(batch, torch.device("cpu"), 0)
    copied = PretrainingBatch(*moved)  # as DDP does
    packing = task.planned(copied)["packing"]
    assert [group[:2] for group in packing.groups()] == [(1, 16), (1, 48), (1, 64)]
    with torch.no_grad():
        assert torch.equal(task.loss_and_sums(copied)[0], alone)
    del moved, copied, batch, is_padding
    assert not task._packings
