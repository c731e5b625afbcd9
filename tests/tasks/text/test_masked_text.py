"""Masked words of text: figures by hand, and that the real path learns."""

import json
import math

import numpy as np
import pytest
import torch
from torch import nn

from dna_bigbird.corpus.batches import collate_masked
from dna_bigbird.corpus.text_tokenizer import TextTokenizer
from dna_bigbird.corpus.text_vocabulary import VocabularyConfig, learn_vocabulary
from dna_bigbird.models.config import EncoderConfig
from dna_bigbird.models.pretraining_model import PretrainingModel
from dna_bigbird.models.train_config import TrainConfig
from dna_bigbird.text.data.store import text_store
from dna_bigbird.text.tasks.mlm import MaskedTextExamples, MaskedTextTask, evaluate_masked
from dna_bigbird.text.text_pretrain_run import characters_of, piece_characters
from dna_bigbird.text.whole_words import TextMaskingConfig
from dna_bigbird.training.objective import add_sums, ratios


class Fixed(nn.Module):
    """Gives the same logits whatever it reads."""

    def __init__(self, probabilities):
        super().__init__()
        self.logits = torch.tensor(probabilities).log()

    def forward(self, token_ids, is_padding, segment_ids, positions):
        return self.logits[: len(positions)], None


def example(length, positions, labels):
    ids = np.arange(length)
    return {"token_ids": ids, "positions": np.array(positions), "labels": np.array(labels)}


def test_positions_of_a_batch_count_its_padding():
    batch = collate_masked([(7, example(3, [1], [0])), (9, example(5, [0, 4], [1, 2]))])
    assert batch.token_ids_BT.shape == (2, 5)
    assert batch.is_padding_BT.tolist() == [[False] * 3 + [True] * 2, [False] * 5]
    assert batch.positions_P.tolist() == [1, 5, 9]
    assert batch.labels_P.tolist() == [0, 1, 2]
    assert batch.predicted_B.tolist() == [1, 2]
    assert batch.examples_B.tolist() == [7, 9]


def test_figures_are_ratios_of_sums():
    """Costs of 2, 1 and 3 bits over 3 pieces of 4 + 5 + 1 characters."""
    model = Fixed([[0.25, 0.5, 0.25], [0.25, 0.5, 0.25], [0.5, 0.375, 0.125]])
    task = MaskedTextTask(model, TrainConfig(), np.array([4, 5, 1]))
    total = {}
    batch = collate_masked([(0, example(3, [1], [0])), (1, example(5, [0, 4], [1, 2]))])
    loss, sums = task.loss_and_sums(batch)
    add_sums(total, sums)
    figures = ratios(total)
    assert loss.item() == pytest.approx(2 * math.log(2))
    assert figures["bits_per_token"] == pytest.approx(2)
    assert figures["bits_per_char"] == pytest.approx(6 / 10)
    assert figures["mlm_accuracy"] == pytest.approx(1 / 3)


def test_characters_of_pieces():
    assert piece_characters(["<unk>", "▁", "▁of", "x"], 0).tolist() == [1, 1, 3, 1]
    assert piece_characters(["[UNK]", "##", "##ing"], 0, is_word_piece=True).tolist() == [1, 0, 3]
    assert piece_characters(["<unk>", "##", "ing"], 0).tolist() == [1, 2, 3]
    # GPT-2 writes the two bytes of é as Ã©, the three of € as âĤ¬; a space as Ġ.
    pieces = ["<unk>", "ĠcafÃ©", "âĤ¬", "âĤ", "¬"]
    assert piece_characters(pieces, 0, is_byte_level=True).tolist() == [1, 5, 1, 1, 0]


WORDS = ["sun", "moon", "river", "stone", "castle", "bridge", "winter", "garden"]


@pytest.fixture(scope="module")
def learnt(tmp_path_factory):
    """(tokenizer, store): documents that count through eight words again and again."""
    folder = tmp_path_factory.mktemp("corpus")
    texts = [" ".join(WORDS[(i + j) % 8] for j in range(40)) for i in range(16)]
    path = folder / "a.jsonl"
    path.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    model = learn_vocabulary(texts, VocabularyConfig(size=260))
    tokenizer = TextTokenizer(model, "spiece.model")
    return tokenizer, text_store(path, tokenizer, folder / "a.h5")


def test_the_real_path_learns_what_can_be_learnt(learnt):
    """Each word follows from its neighbours, so a trained model is nearly certain; the two
    baselines, which read no context, cannot be."""
    tokenizer, store = learnt
    examples = MaskedTextExamples(store, tokenizer, 64, TextMaskingConfig(), seed=0)
    config = EncoderConfig(
        vocab_size=260,
        hidden_size=32,
        num_layers=2,
        num_heads=2,
        ffn_size=64,
        max_tokens=64,
        block_size=8,
        dropout=0.0,
        init_std=0.12,
    )
    task = MaskedTextTask(
        PretrainingModel(config, heads=("mlm",)), TrainConfig(), characters_of(tokenizer)
    )
    optimizer = torch.optim.Adam(task.parameters(), lr=3e-3)
    task.train()
    for step in range(400):
        batch = collate_masked([(i, examples[i]) for i in range(8 * step, 8 * step + 8)])
        optimizer.zero_grad()
        task.loss_and_sums(batch)[0].backward()
        optimizer.step()
    held_out = MaskedTextExamples(store, tokenizer, 64, TextMaskingConfig(), seed=1)
    count = held_out.examples_per_epoch
    found = evaluate_masked(task, held_out, count, counts=store.counts, batch_size=5, seed=0)
    assert found["mlm_accuracy"] > 0.95
    assert found["bits_per_token"] < 0.4
    per_char = found["n_masked_characters"] / found["n_masked_tokens"]
    assert found["bits_per_char"] == pytest.approx(found["bits_per_token"] / per_char, abs=2e-6)
    unigram = found["baselines"]["unigram"]["bits_per_token"]
    informed = found["baselines"]["unigram_informed"]["bits_per_token"]
    assert 0.7 * unigram < informed < unigram
    # The cross-entropy of the predicted pieces under the frequencies of all pieces.
    p = (store.counts + 1.0) * (np.arange(260) >= 101)
    labels = np.concatenate([held_out[i]["labels"] for i in range(count)])
    assert unigram == pytest.approx(-np.log2((p / p.sum())[labels]).mean(), abs=1e-5)
    # Always the most frequent piece; and, where a piece is shown, that piece.
    shown = np.concatenate(
        [held_out[i]["token_ids"][held_out[i]["positions"]] for i in range(count)]
    )
    guess = np.where(shown == tokenizer.mask_id, p.argmax(), shown)
    for name, right in (("unigram", labels == p.argmax()), ("unigram_informed", labels == guess)):
        assert found["baselines"][name]["mlm_accuracy"] == pytest.approx(right.mean(), abs=1e-6)
