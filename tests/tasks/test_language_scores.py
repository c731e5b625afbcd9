"""Scores of a masked model by example; overfitting shows that the pretraining task can learn."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from dna_bigbird.corpus.batches import collate_pretraining
from dna_bigbird.evaluation.evaluate_lm_parts import HiddenTokens
from dna_bigbird.evaluation.evaluate_lm_run import score_examples
from dna_bigbird.models.config import EncoderConfig
from dna_bigbird.models.pretraining_model import PretrainingModel
from dna_bigbird.models.train_config import TrainConfig
from dna_bigbird.training.data_modules import pretraining_data
from dna_bigbird.training.fit import fit
from dna_bigbird.training.pretraining_task import PretrainingTask

ENCODER = EncoderConfig(
    vocab_size=12,
    hidden_size=32,
    num_layers=2,
    num_heads=2,
    ffn_size=64,
    max_tokens=16,
    block_size=4,
    num_random=1,
    dropout=0.0,
)


class FourExamples:
    """The same four examples again and again."""

    def __init__(self, examples):
        self.examples = examples

    def __getitem__(self, index):
        return self.examples[index % 4]


def test_a_few_examples_are_learned_by_heart(tiny, tmp_path):
    config = TrainConfig(
        max_steps=150, batch_size=4, learning_rate=5e-3, warmup_steps=10, validate_every=150
    )
    task = PretrainingTask(PretrainingModel(ENCODER, seed=0), config, tiny.piece_bp)
    few = FourExamples(tiny.Examples(3))
    data = pretraining_data(few, few, batch_size=4, validation_examples=4)
    result = fit(task, data, config, checkpoints=tmp_path, seed=0, settings={})
    assert result.best_metrics["bits_per_base_masked"] < 0.05
    assert result.best_metrics["mlm_accuracy"] == 1.0
    assert result.best_metrics["nsp_accuracy"] == 1.0


class Located:
    """Examples on a chromosome: the three tokens of example i begin at 5,000 times i, plus 0, 100, 200."""

    store = SimpleNamespace(chromosomes=["chr1"])

    def __init__(self, examples, piece_bp):
        self.examples, self.piece_bp = examples, piece_bp

    def __getitem__(self, index):
        return self.examples[index]

    def predicted_spans(self, index, piece_bp):
        start = 5000 * index + np.array([0, 100, 200])
        bounds = np.stack([start, start + piece_bp[self.examples[index]["labels"]]], axis=1)
        return np.zeros(3, np.int64), bounds


@pytest.mark.parametrize("batch_size", [1, 3, 20])
def test_scores_add_up_and_do_not_depend_on_batches(tiny, batch_size):
    task = PretrainingTask(tiny.Model(), TrainConfig(), tiny.piece_bp)
    examples = Located(tiny.Examples(4), tiny.piece_bp)
    scores = score_examples(task, examples, 10, batch_size=batch_size)
    task.eval()
    with torch.no_grad():
        nll = [
            task.predict_batch(collate_pretraining([(i, tiny.Examples(4)[i])]))[0].sum()
            for i in range(10)
        ]
    # TinyModel averages over the padded width, so only batches of one are exact.
    if batch_size == 1:
        assert scores.nll_nats == pytest.approx([float(x) for x in nll], rel=1e-6)
    labels = [tiny.Examples(4)[i]["labels"] for i in range(10)]
    assert scores.base_pairs.tolist() == [tiny.piece_bp[x].sum() for x in labels]
    assert scores.predicted.tolist() == [3] * 10
    assert [float(x.sum()) for x in scores.token_nats] == pytest.approx(scores.nll_nats.tolist())
    assert [len(x) for x in scores.token_nats] == [3] * 10
    assert [len(x) for x in scores.token_right] == [3] * 10
    assert [x.sum() for x in scores.token_right] == scores.right.tolist()
    hidden = HiddenTokens(examples, 10, tiny.piece_bp)
    metrics = scores.metrics(0, hidden)
    expected = scores.nll_nats.sum() / (math.log(2) * scores.base_pairs.sum())
    assert metrics["bits_per_base_masked"] == pytest.approx(expected, abs=1e-6)
    assert (metrics["n_masked_tokens"], metrics["n_blocks"]) == (30, 5)
    other = scores.metrics(0, hidden, "all_masked")
    assert other["bits_per_base_all_masked"] == metrics["bits_per_base_masked"]
    assert other["mlm_accuracy_all_masked"] == metrics["mlm_accuracy"]
    # One next-sentence prediction per example, in the block of its first token: two in each.
    sums = hidden.examples_by_block(np.ones((10, 1)))
    assert sums.ravel().tolist() == [2] * 5
