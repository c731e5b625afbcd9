"""Hidden sentences of text: examples, batches, and what a model learns from them."""

import json

import numpy as np
import pytest
import torch

from dna_bigbird.corpus.hidden_sentence_examples import ends_of_sentences
from dna_bigbird.corpus.text_tokenizer import TextTokenizer
from dna_bigbird.corpus.text_vocabulary import VocabularyConfig, learn_vocabulary
from dna_bigbird.models.attention_config import EtcConfig
from dna_bigbird.models.config import EncoderConfig
from dna_bigbird.models.pretraining_model import PretrainingModel
from dna_bigbird.models.train_config import TrainConfig
from dna_bigbird.text.data.store import text_store
from dna_bigbird.text.tasks.mlm import HiddenTextExamples, MaskedTextExamples, collate_hidden_text
from dna_bigbird.text.text_pretrain_run import HiddenTextTask, characters_of
from dna_bigbird.text.whole_words import TextMaskingConfig
from dna_bigbird.training.objective_config import CpcConfig
from dna_bigbird.training.pretraining_task import contrast, hidden_of

WORDS = ["sun", "moon", "river", "stone", "castle", "bridge", "winter", "garden", "cloud", "horse"]
SENTENCES, WORDS_EACH = 10, 4
CPC = CpcConfig(weight=0.5)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    """(tokenizer, store): documents that have two words of their own, and sentences of four words."""
    folder = tmp_path_factory.mktemp("corpus")
    rng = np.random.default_rng(0)
    texts = []
    for _ in range(300):
        own = rng.choice(WORDS, 2, replace=False)
        sentences = [" ".join(rng.choice(own, WORDS_EACH)) + "." for _ in range(SENTENCES)]
        texts.append(" ".join(sentences))
    path = folder / "a.jsonl"
    path.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    model = learn_vocabulary(texts, VocabularyConfig(size=240))
    tokenizer = TextTokenizer(model, "spiece.model")
    return tokenizer, text_store(path, tokenizer, folder / "a.h5")


def examples_of(corpus, seed=0, **settings) -> HiddenTextExamples:
    tokenizer, store = corpus
    plain = MaskedTextExamples(store, tokenizer, 96, TextMaskingConfig(), seed=seed)
    return HiddenTextExamples(plain, ends_of_sentences(tokenizer.pieces), CPC, **settings)


@pytest.mark.parametrize("keeps_masks", [False, True])
def test_whole_sentences_are_hidden(corpus, keeps_masks):
    tokenizer, _ = corpus
    examples = examples_of(corpus, keeps_masks=keeps_masks)
    hidden = 0
    for index in range(20):
        example = examples[index]
        ids, is_text = examples.examples.unmasked(index)
        read = example["hidden_ids" if keeps_masks else "token_ids"]
        # By the text itself: a sentence ends with a full stop or its document.
        pieces = [tokenizer.pieces[i] for i in ids]
        number, of_token = -1, []
        begins = True
        for piece, inside in zip(pieces, is_text, strict=True):
            number += bool(inside and begins)
            of_token.append(number if inside else -1)
            begins = not inside or piece.endswith(".")
        assert example["sentences"].tolist() == of_token
        for chosen, original in zip(example["hidden"], example["originals"], strict=True):
            place = np.array(of_token) == chosen
            assert (read[place] == tokenizer.mask_id).all()
            assert ids[place].tolist() == original.tolist()
            hidden += 1
        is_hidden = np.isin(of_token, example["hidden"])
        assert np.array_equal(example["labels"], ids[example["positions"]])
        if keeps_masks:
            usual = examples.examples[index]
            assert all(np.array_equal(example[name], x) for name, x in usual.items())
        else:
            assert not is_hidden[example["positions"]].any()
    assert hidden >= 20


def test_hidden_sentences_of_text_are_found_after_training_and_those_of_other_documents_are_not(
    corpus,
):
    tokenizer, _ = corpus
    config = EncoderConfig(
        vocab_size=240, hidden_size=32, num_layers=2, num_heads=2, ffn_size=64, max_tokens=96,
        block_size=8, dropout=0.0, init_std=0.2, attention="etc", etc=EtcConfig(radius=6, max_distance=3),
    )  # fmt: skip
    model = PretrainingModel(config, heads=("mlm", "cpc"))
    task = HiddenTextTask(model, TrainConfig(), characters_of(tokenizer), CPC.weight)
    optimizer = torch.optim.AdamW(task.parameters(), lr=3e-3)
    examples, costs = examples_of(corpus), []
    for step in range(120):
        batch = collate_hidden_text([(i, examples[i]) for i in range(12 * step, 12 * step + 12)])
        loss, sums = task.train().loss_and_sums(batch)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        costs.append(float(sums["cpc_loss"][0] / sums["cpc_loss"][1]))
    assert np.mean(costs[-10:]) < 0.6 * np.mean(costs[:5])
    held_out = examples_of(corpus, seed=9)
    right = {"own": [], "of another": []}
    for group in range(6):
        batch = collate_hidden_text([(i, held_out[i]) for i in range(12 * group, 12 * group + 12)])
        for name, shift in (("own", 0), ("of another", 1)):
            moved = batch._replace(sentence_ids_SU=batch.sentence_ids_SU.roll(shift, 0),
                                   is_sentence_padding_SU=batch.is_sentence_padding_SU.roll(shift, 0))  # fmt: skip
            with torch.no_grad():
                _, vectors = task.model.eval()(
                    moved.token_ids_BT,
                    moved.is_padding_BT,
                    None,
                    moved.positions_P,
                    **hidden_of(moved),
                )
            right[name] += contrast(*vectors, gather=False).is_right_S.tolist()
    count = len(right["own"])
    assert count > 60
    assert np.mean(right["own"]) > 4 * 6 / count
    assert np.mean(right["of another"]) < np.mean(right["own"]) / 2
