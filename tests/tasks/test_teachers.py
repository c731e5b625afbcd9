"""Pretraining that learns from other models, against a computation by hand and the other strand written out."""

import math

import numpy as np
import pytest
import torch

from dna_bigbird.corpus.batches import collate_pretraining
from dna_bigbird.corpus.tokenizer import DnaTokenizer, TokenizerConfig, train_tokenizer
from dna_bigbird.genome.alphabet import reverse_complement
from dna_bigbird.models.config import EncoderConfig
from dna_bigbird.models.pretraining_model import PretrainingModel
from dna_bigbird.models.train_config import TrainConfig
from dna_bigbird.training.pretraining_task import PretrainingTask
from dna_bigbird.training.teachers import OnBothStrands, TaughtTask, complements_of
from tests.tasks.test_pretraining_task import FIRST, PIECE_BP, Fixed, figures

SETTINGS = {"hidden_size": 16, "num_layers": 2, "num_heads": 2, "ffn_size": 32}
CONFIG = EncoderConfig(vocab_size=10, max_tokens=32, block_size=4, num_random=0, **SETTINGS)
SEQUENCES = ("ACGTTGCANTTTGACC", "GGGTTTAACCAT")
HIDDEN = ([2, 7, 8, 15], [0, 5])


def tokenizer_of(algorithm, **settings):
    return DnaTokenizer.from_bytes(
        train_tokenizer(SEQUENCES * 20, TokenizerConfig(algorithm=algorithm, **settings))
    )


def example(vocabulary, sequence, hidden):
    """[CLS] A [SEP] B [SEP] with hidden bases, in the order in which they are named."""
    middle, ids = len(sequence) // 2, vocabulary.encode(sequence)
    labels, ids = ids[hidden], ids.copy()
    ids[hidden] = vocabulary.mask_id
    ends = [[vocabulary.cls_id], ids[:middle], [vocabulary.sep_id], ids[middle:]]
    return {
        "token_ids": np.concatenate([*ends, [vocabulary.sep_id]]),
        "segment_ids": np.repeat([0, 1], [middle + 2, len(sequence) - middle + 1]),
        "positions": np.array(hidden) + np.where(np.array(hidden) < middle, 1, 2),
        "labels": labels,
        "is_next": 0,
    }


def model_of(seed):
    return PretrainingModel(CONFIG, seed=seed, heads=("mlm",)).eval()


def read(model, examples):
    batch = collate_pretraining(list(enumerate(examples)))
    inputs = (batch.token_ids_BT, batch.is_padding_BT, batch.segment_ids_BT, batch.positions_P)
    with torch.no_grad():
        return model(*inputs)[0].softmax(-1)


def test_both_strands_are_those_of_the_sequences():
    """The mean of what the model says of the sequences and of their reverse complements, base by base."""
    vocabulary = tokenizer_of("bases")
    model = model_of(0)
    examples = [example(vocabulary, *one) for one in zip(SEQUENCES, HIDDEN, strict=True)]
    others = [
        example(vocabulary, reverse_complement(text), [len(text) - 1 - i for i in hidden])
        for text, hidden in zip(SEQUENCES, HIDDEN, strict=True)
    ]
    by_letter = [vocabulary.pieces.index(x) for x in "TGCAN"]
    own, other = read(model, examples), read(model, others)
    expected = (own[:, 5:] + other[:, by_letter]) / 2
    found = read(OnBothStrands(model, vocabulary), examples)
    assert torch.allclose(found[:, 5:], expected, atol=1e-6)
    assert not torch.allclose(own[:, 5:], expected, atol=1e-3)


def test_which_vocabularies_have_two_strands():
    symmetric = tokenizer_of("symmetric_bpe", vocab_size=16)
    numbers = complements_of(symmetric)
    assert len(numbers) == 16
    for number, piece in enumerate(symmetric.pieces[5:], start=5):
        assert symmetric.pieces[numbers[number]] == reverse_complement(piece)
    assert complements_of(tokenizer_of("bpe", vocab_size=16, max_piece_bp=4)) == []


@pytest.mark.parametrize("numbers", [(4, 5, 9), (3, 0, 6)])
def test_the_loss_is_the_cross_entropy_with_the_teacher_of_each_example(numbers):
    """Example 4 learns from teacher 4 mod 3; each teacher reads its example alone here."""
    vocabulary = tokenizer_of("bases")
    examples = [
        example(vocabulary, *one)
        for one in zip((*SEQUENCES, "CCGATATACGAA"), (*HIDDEN, [3]), strict=True)
    ]
    student, teachers = model_of(0), [model_of(seed) for seed in (1, 2, 3)]
    with torch.no_grad():
        for each in (student, *teachers):
            for weight in each.parameters():
                weight.mul_(8)
    expected = [
        -(read(teachers[number % 3], [one]) * read(student, [one]).log()).sum(1)
        for number, one in zip(numbers, examples, strict=True)
    ]
    task = TaughtTask(student, TrainConfig(), np.ones(10), 0.0, teachers)
    batch = collate_pretraining(list(zip(numbers, examples, strict=True)))
    loss, sums = task.loss_and_sums(batch)
    assert loss.item() == pytest.approx(torch.cat(expected).mean().item(), rel=1e-5)
    plain = PretrainingTask(student, TrainConfig(), np.ones(10), 0.0).loss_and_sums(batch)[1]
    assert all(torch.equal(sums[name], plain[name]) for name in plain.keys() - {"loss"})


def test_the_next_sentence_is_not_asked_of_teachers():
    """By hand; the teacher gives the same whatever it reads."""
    model, examples = FIRST
    teacher = Fixed([[0.4, 0.2, 0.4], [0.2, 0.5, 0.3]], None)
    loss, _ = TaughtTask(model, TrainConfig(), PIECE_BP, 0.5, [teacher]).loss_and_sums(examples)
    taught = [
        -(0.4 * math.log(0.5) + 0.2 * math.log(0.25) + 0.4 * math.log(0.25)),
        -(0.2 * math.log(0.1) + 0.5 * math.log(0.1) + 0.3 * math.log(0.8)),
    ]
    assert loss.item() == pytest.approx(sum(taught) / 2 - 0.5 * math.log(0.9), rel=1e-6)


def test_validation_asks_for_the_tokens():
    model, examples = FIRST
    teacher = Fixed([[0.2, 0.2, 0.6], [0.3, 0.3, 0.4]], None)
    task = TaughtTask(model, TrainConfig(), PIECE_BP, 1.0, [teacher]).eval()
    assert torch.equal(task.loss_and_sums(examples)[0], figures(model, examples)[0])


def test_checkpoints_have_no_teachers():
    task = TaughtTask(torch.nn.Linear(2, 2), TrainConfig(), PIECE_BP, 0.0, [torch.nn.Linear(3, 3)])
    assert {tuple(x.shape) for x in task.state_dict().values()} == {(2, 2), (2,)}
    assert len(list(task.parameters())) == 2
