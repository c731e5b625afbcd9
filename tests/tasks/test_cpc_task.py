"""The contrastive loss by hand, over processes, and what a model learns from hidden sentences."""

import math
from pathlib import Path

import numpy as np
import pytest
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn

from dna_bigbird.corpus.hidden_sentence_examples import (
    HiddenSentenceExamples,
    collate_hidden_sentences,
)
from dna_bigbird.corpus.masking import MaskingConfig
from dna_bigbird.corpus.pretraining_examples import Unmasked
from dna_bigbird.corpus.site_windows import Pair, Part
from dna_bigbird.models.attention_config import EtcConfig
from dna_bigbird.models.config import EncoderConfig
from dna_bigbird.models.etc_encoder import GlobalTokens
from dna_bigbird.models.pretraining_model import HiddenSentences, PretrainingModel
from dna_bigbird.models.train_config import TrainConfig
from dna_bigbird.training.objective_config import CpcConfig
from dna_bigbird.training.pretrain_run import CpcTask
from dna_bigbird.training.pretraining_task import contrast, loss_of

SIZE = 6
CONFIG = EncoderConfig(
    vocab_size=24, hidden_size=32, num_layers=2, num_heads=2, ffn_size=64, max_tokens=80,
    block_size=8, dropout=0.0, init_std=0.1, attention="etc",
    etc=EtcConfig(radius=4, max_distance=3, tokens_per_global=SIZE),
)  # fmt: skip


class Vocabulary:
    cls_id, sep_id, mask_id, first_piece_id, vocab_size = 1, 2, 3, 4, 24
    piece_bp = np.ones(24, dtype=np.int64)


class Repeating:
    """Stands for `PretrainExamples`: each text repeats a few letters of its own, so gaps can be told."""

    vocabulary, examples_per_epoch, seed = Vocabulary, 1000, 0

    def __init__(self, num_sentences=12):
        self.num_sentences = num_sentences

    def masking_of(self, index):
        return MaskingConfig()

    def unmasked(self, index):
        rng = np.random.default_rng(index)
        letters = rng.choice(np.arange(4, 24), size=2, replace=False)
        text = rng.choice(letters, size=self.num_sentences * SIZE - 2)
        ids = np.concatenate([[1], text, [2]])
        maskable = np.ones(len(ids), dtype=bool)
        maskable[[0, -1]] = False
        part = Part(0, 0, 1, 0, len(ids))
        return Unmasked(ids, np.zeros_like(ids), maskable, Pair(part, part, 0), rng)


def batch_of(numbers, **settings):
    examples = HiddenSentenceExamples(Repeating(**settings), SIZE, CpcConfig())
    return collate_hidden_sentences([(i, examples[i]) for i in numbers])


def task_of(weight=0.2, config=CONFIG):
    model = PretrainingModel(config, heads=("mlm", "cpc"))
    return CpcTask(model, TrainConfig(), Vocabulary.piece_bp, weight)


def test_the_loss_of_two_sentences_by_hand():
    context = torch.tensor([[2.0, 0.0], [0.0, 1.0]])
    target = torch.tensor([[1.0, 0.5], [3.0, 1.0]])
    # Products: 2 and 6 for the first, 0.5 and 1 for the second; divided by the root of 2.
    found = contrast(context, target, gather=False)
    expected = [math.log(1 + math.exp(4 / 2**0.5)), math.log(1 + math.exp(-0.5 / 2**0.5))]
    assert found.nll_S.tolist() == pytest.approx(expected)
    assert found.is_right_S.tolist() == [False, True]
    assert found.num_targets == 2
    assert float(loss_of(found)) == pytest.approx(sum(expected) / 2)


def test_products_are_float32_also_under_autocast():
    vectors = torch.randn(2, 6, 64, generator=torch.Generator().manual_seed(0)) * 3
    expected = contrast(*vectors, gather=False).nll_S
    with torch.autocast("cpu", torch.bfloat16):
        assert torch.equal(contrast(*vectors, gather=False).nll_S, expected)


def test_no_sentence_costs_nothing():
    nothing = torch.zeros(0, 2, requires_grad=True)
    loss = loss_of(contrast(nothing, nothing, gather=False))
    loss.backward()
    assert loss.item() == 0


def _vectors():
    generator = torch.Generator().manual_seed(0)
    data = torch.randn(7, 5, generator=generator, dtype=torch.float64)
    torch.manual_seed(1)
    return data, nn.Linear(5, 3).double(), nn.Linear(5, 3).double()


def _process(rank: int, each: list[list[int]], folder: str) -> None:
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{folder}/meet", rank=rank, world_size=2)
    results = [_loss_and_gradients(rank, sizes) for sizes in each]
    if rank == 0:
        torch.save(results, f"{folder}/results.pt")
    dist.barrier()
    dist.destroy_process_group()


def _loss_and_gradients(rank: int, sizes: list[int]) -> list[torch.Tensor]:
    data, first, second = _vectors()
    own = data[sum(sizes[:rank]) : sum(sizes[: rank + 1])]
    found = contrast(first(own), second(own), gather=True)
    loss = loss_of(found)
    (loss / len(sizes)).backward()  # DDP takes the mean over the processes
    gradients = [p.grad for p in (first.weight, second.weight)]
    for gradient in gradients:
        dist.all_reduce(gradient)
    total = loss.detach() / len(sizes)
    dist.all_reduce(total)
    return [total, *gradients]


def test_two_processes_have_the_loss_and_gradients_of_one(tmp_path: Path):
    """Targets of both are told apart; numbers differ, and one process may have none."""
    mp.spawn(_process, ([[4, 3], [7, 0]], str(tmp_path)), nprocs=2)
    data, first, second = _vectors()
    expected = nn.functional.cross_entropy(
        (first(data) @ second(data).T / 3**0.5).float(), torch.arange(7)
    )
    expected.backward()
    for loss, *gradients in torch.load(tmp_path / "results.pt"):
        assert float(loss) == pytest.approx(expected.item(), abs=1e-6)
        for found, layer in zip(gradients, (first, second), strict=True):
            torch.testing.assert_close(found, layer.weight.grad, atol=1e-6, rtol=1e-5)


@torch.no_grad()
def test_context_and_target_are_the_states_of_global_tokens():
    """The context: the sentence's global token among all; the target: that of the sentence alone."""
    task = task_of()
    batch = batch_of([0, 1, 2])
    _, (context, target) = task.model.eval()(
        batch.token_ids_BT, batch.is_padding_BT, None, batch.positions_P, **task.planned(batch)
    )
    encoder, head = task.model.encoder, task.model.cpc
    assert len(context) == 3
    for i, (row, number) in enumerate(zip(batch.rows_S, batch.numbers_S, strict=True)):
        ids = batch.token_ids_BT[row : row + 1]
        sentences = torch.arange(ids.shape[1])[None] // SIZE
        tokens = GlobalTokens.of_sentences(sentences, ids < 0)
        tokens.types_BG[0, number] = 1
        states = encoder.both(ids, ids < 0, global_tokens=tokens)[1]
        torch.testing.assert_close(
            context[i], head.context(states[0, number]), atol=1e-5, rtol=1e-5
        )
        alone = batch.sentence_ids_SU[i : i + 1]
        states = encoder.both(alone, alone < 0)[1]
        assert states.shape == (1, 1, 32)
        torch.testing.assert_close(target[i], head.target(states[0, 0]), atol=1e-5, rtol=1e-5)


def test_the_loss_is_the_weighted_sum_of_both():
    batch = batch_of(range(5))
    losses = {}
    for weight in (0.0, 0.2, 0.75):
        loss, sums = task_of(weight).loss_and_sums(batch)
        losses[weight] = float(loss.detach())
    cpc = float(sums["cpc_loss"][0] / sums["cpc_loss"][1])
    for weight in (0.2, 0.75):
        assert losses[weight] == pytest.approx((1 - weight) * losses[0.0] + weight * cpc, rel=1e-5)
    assert float(sums["cpc_chance"][0] / sums["cpc_chance"][1]) == pytest.approx(1 / 5)


def test_examples_that_are_too_short_have_no_hidden_sentence():
    task = task_of()
    batch = batch_of(range(3), num_sentences=6)
    loss, sums = task.loss_and_sums(batch)
    loss.backward()
    assert sums["cpc_loss"].tolist() == [0, 0]
    of_masks = float(sums["bits_per_base_masked"][0]) * math.log(2) / len(batch.labels_P)
    assert loss.item() == pytest.approx(0.8 * of_masks)
    assert all(p.grad is None or p.grad.isfinite().all() for p in task.parameters())


def retrieval(task, numbers, swapped: bool) -> tuple[float, float]:
    """Return the share of right sentences and the chance.

    Args:
        swapped: Give each gap a sentence of the next text as its own: it cannot be told then.
    """
    batch = batch_of(numbers)
    if swapped:
        batch = batch._replace(sentence_ids_SU=batch.sentence_ids_SU.roll(1, 0))
    with torch.no_grad():
        _, (context, target) = task.model.eval()(
            batch.token_ids_BT, batch.is_padding_BT, None, batch.positions_P, **task.planned(batch)
        )
        found = contrast(context, target, gather=False)
    return float(found.is_right_S.float().mean()), 1 / found.num_targets


def test_hidden_sentences_are_told_after_training_and_those_of_other_texts_are_not():
    torch.manual_seed(0)
    task = task_of(weight=0.5)
    optimizer = torch.optim.AdamW(task.parameters(), lr=3e-3)
    losses = []
    for step in range(120):
        loss, sums = task.train().loss_and_sums(batch_of(range(16 * step, 16 * step + 16)))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(float(sums["cpc_loss"][0] / sums["cpc_loss"][1]))
    assert losses[0] == pytest.approx(math.log(16), abs=0.3)
    held_out = range(100_000, 100_064)
    right, chance = retrieval(task, held_out, swapped=False)
    wrong, _ = retrieval(task, held_out, swapped=True)
    assert chance == 1 / 64
    assert right > 0.2
    assert wrong < 0.1


@pytest.mark.parametrize(
    ("heads", "config", "message"),
    [
        (
            ("mlm", "cpc"),
            EncoderConfig(vocab_size=24, hidden_size=8, num_heads=2),
            "needs attention etc",
        ),
        (("mlm", "cbc"), CONFIG, "heads must be some of mlm, pooler, nsp, cpc, got mlm, cbc"),
    ],
)
def test_heads_that_cannot_be(heads, config, message):
    with pytest.raises(ValueError, match=message):
        PretrainingModel(config, heads=heads)


def test_names_of_the_batch_are_those_of_the_model():
    batch = batch_of([0])
    assert HiddenSentences.of(batch).rows_S is batch.rows_S
