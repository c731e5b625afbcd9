"""Examples with whole hidden sentences, and their batches."""

import numpy as np
import pytest
import torch

from dna_bigbird.corpus.batches import PretrainingBatch
from dna_bigbird.corpus.hidden_sentence_examples import (
    HiddenSentenceExamples,
    collate_hidden_sentences,
)
from dna_bigbird.corpus.masking import MaskingConfig
from dna_bigbird.corpus.pretraining_examples import PretrainExamples
from dna_bigbird.training.objective_config import CpcConfig

SIZE = 10
CPC = CpcConfig(sentence_share=0.2, fewest_sentences=5)


@pytest.fixture
def plain(toy_corpus) -> PretrainExamples:
    return PretrainExamples(
        toy_corpus.store, toy_corpus.tokenizer, 128, MaskingConfig(), 3, random_second=False
    )


@pytest.mark.parametrize("keeps_masks", [False, True])
def test_hidden_sentences_show_nothing_and_the_rest_is_masked_as_usual(plain, keeps_masks):
    mask = plain.vocabulary.mask_id
    hidden_tokens = 0
    for index, example in enumerate(
        HiddenSentenceExamples(plain, SIZE, CPC, keeps_masks=keeps_masks)[i] for i in range(30)
    ):
        original = plain.unmasked(index)
        read = example["hidden_ids" if keeps_masks else "token_ids"]
        assert example["sentences"].tolist() == [i // SIZE for i in range(len(read))]
        for number, tokens in zip(example["hidden"], example["originals"], strict=True):
            place = slice(SIZE * number, SIZE * (number + 1))
            assert (read[place] == mask).all()
            assert np.array_equal(tokens, original.token_ids[place])
            assert original.maskable[place].all()
            hidden_tokens += SIZE
        is_hidden = np.isin(example["sentences"], example["hidden"])
        labels = original.token_ids[example["positions"]]
        assert np.array_equal(example["labels"], labels)
        if keeps_masks:
            usual = plain[index]
            assert all(np.array_equal(example[name], x) for name, x in usual.items())
            assert np.array_equal(read[~is_hidden], usual["token_ids"][~is_hidden])
        else:
            assert not is_hidden[example["positions"]].any()
            assert len(labels) == max(1, round(0.15 * (original.maskable & ~is_hidden).sum()))
            untouched = ~is_hidden
            untouched[example["positions"]] = False
            assert np.array_equal(read[untouched], original.token_ids[untouched])
    assert hidden_tokens > 300


def test_an_example_is_a_function_of_its_number(plain):
    ahead, alone = (HiddenSentenceExamples(plain, SIZE, CPC) for _ in range(2))
    first = [ahead[i] for i in range(8)]
    for index in (5, 2):
        again = alone[index]
        assert np.array_equal(again["token_ids"], first[index]["token_ids"])
        assert np.array_equal(again["hidden"], first[index]["hidden"])
    later = alone[2 + plain.examples_per_epoch]
    assert (
        len(later["token_ids"]) != len(first[2]["token_ids"])
        or (later["token_ids"] != first[2]["token_ids"]).any()
    )


@pytest.mark.parametrize("keeps_masks", [False, True])
def test_a_batch(plain, keeps_masks):
    examples = HiddenSentenceExamples(plain, SIZE, CPC, keeps_masks=keeps_masks)
    numbered = [(i, examples[i]) for i in (4, 9, 1)]
    batch = collate_hidden_sentences(numbered)
    read = batch.hidden_ids_BT if keeps_masks else batch.token_ids_BT
    assert (batch.hidden_ids_BT.numel() > 0) == keeps_masks
    assert PretrainingBatch._fields == batch._fields[: len(PretrainingBatch._fields)]
    assert len(batch.rows_S) == sum(len(e["hidden"]) for _, e in numbered) > 3
    for row, number, ids, hidden in zip(
        batch.rows_S,
        batch.numbers_S,
        batch.sentence_ids_SU,
        batch.is_sentence_padding_SU,
        strict=True,
    ):
        of_sentence = batch.sentences_BT[row] == number
        assert (read[row][of_sentence] == plain.vocabulary.mask_id).all()
        original = plain.unmasked(int(batch.examples_B[row])).token_ids
        assert ids[~hidden].tolist() == original[of_sentence[: len(original)].numpy()].tolist()
    assert torch.equal(batch.sentences_BT < 0, batch.is_padding_BT)


def test_a_batch_without_hidden_sentences(plain):
    examples = HiddenSentenceExamples(plain, SIZE, CpcConfig(fewest_sentences=100))
    batch = collate_hidden_sentences([(i, examples[i]) for i in range(2)])
    assert len(batch.rows_S) == len(batch.numbers_S) == len(batch.sentence_ids_SU) == 0
