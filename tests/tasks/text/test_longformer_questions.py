"""Question answering with Longformer: which tokens are global, read off the ids of a row."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from dna_bigbird.models.attention_config import LongformerConfig
from dna_bigbird.models.classifier import SequenceClassifier
from dna_bigbird.models.config import EncoderConfig
from dna_bigbird.text.data.rows import TextFeatures
from dna_bigbird.text.tasks.task import task_for_set
from tests.models.test_encoder import batch
from tests.tasks.text.test_etc_questions import CONFIG as ETC_CONFIG
from tests.tasks.text.test_etc_questions import SETS
from tests.text_vocabulary import tiny_text_tokenizer

TOKENIZER = tiny_text_tokenizer()
CONFIG = replace(
    ETC_CONFIG, attention="longformer", etc=EncoderConfig().etc, longformer=LongformerConfig(4)
)


def until(ids: list[int], last: int) -> set[int]:
    """Positions up to the last token of an id, this one included."""
    return set(range(len(ids) - ids[::-1].index(last)))


def expected_positions(name: str, ids: list[int]) -> set[int]:
    """From the markers of the row alone."""
    mark = TOKENIZER.marker_id
    if name == "hotpotqa":
        marks = {i for i, token in enumerate(ids) if token in (mark("<t>"), mark("[s]"))}
        return until(ids, mark("[/q]")) | marks
    if name == "wikihop":
        return until(ids, mark("[/ans]"))
    return set(range(ids.index(TOKENIZER.sep_id) + 1))  # [CLS] question [SEP]


def opened(name, folder):
    task, path = SETS[name][0](folder)
    task = task.changed(encoder=CONFIG)
    examples, _ = task.read(path, "train")
    return task, task.rows(examples, TOKENIZER, training=False).rows[:4]


@pytest.mark.parametrize("name", SETS)
def test_global_tokens_of_a_batch(name, tmp_path):
    task, rows = opened(name, tmp_path)
    batch = task.collate(list(enumerate(rows)))
    assert batch.global_tokens.dtype == torch.bool
    assert batch.global_tokens.shape == batch.token_ids_BT.shape
    for marked, row in zip(batch.global_tokens, rows, strict=True):
        expected = expected_positions(name, row.token_ids.tolist())
        assert set(marked.nonzero().flatten().tolist()) == expected
        assert 3 < len(expected) < len(row.token_ids)
    full = replace(CONFIG, attention="full", longformer=EncoderConfig().longformer)
    assert task.changed(encoder=full).collate(list(enumerate(rows))).global_tokens is None


@torch.no_grad()
@pytest.mark.parametrize("name", SETS)
def test_a_row_has_the_same_outputs_alone_and_next_to_longer_ones(name, tmp_path):
    task, rows = opened(name, tmp_path)
    assert len({len(row.token_ids) for row in rows}) > 1
    model = task.description.build_model(CONFIG, task.head).double().eval()
    batch = task.collate(list(enumerate(rows)))
    together = task.outputs(model, batch)
    for number, row in enumerate(rows):
        for key, value in task.outputs(model, task.collate([(number, row)])).items():
            alone = value[0]
            found = together[key][number][: len(alone)]
            torch.testing.assert_close(found, alone, atol=1e-9, rtol=1e-9)
    first = torch.zeros_like(batch.global_tokens)
    first[:, 0] = True
    others = task.outputs(model, batch._replace(global_tokens=first))
    differ = [
        (others[key] - value).nan_to_num(posinf=0, neginf=0).abs().max() > 1e-6
        for key, value in together.items()
    ]
    assert all(differ), "the model reads the global tokens of the batch"


@torch.no_grad()
def test_classification_and_glue_have_the_first_token():
    for name in ("imdb", "cola"):
        task = task_for_set(name).changed(encoder=CONFIG)
        assert task.is_global(TextFeatures(np.arange(7), 0)).tolist() == [True] + [False] * 6
    model = SequenceClassifier(CONFIG, 3).eval()
    ids, is_padding, _ = batch([60, 31])
    is_first = torch.zeros_like(is_padding)
    is_first[:, 0] = True
    expected = model.head(model.encoder(ids, is_padding, is_global_BT=is_first), is_padding)
    torch.testing.assert_close(model(ids, is_padding), expected)
    other = model.head(model.encoder(ids, is_padding, is_global_BT=~is_padding), is_padding)
    assert (other - expected).abs().max() > 1e-4
