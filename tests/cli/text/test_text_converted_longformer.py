"""Longformer folders of the library, converted: the rows of text tasks give the library's logits."""

import json

import pytest
import torch

from dna_bigbird.cli.main import main
from dna_bigbird.text.made.pages import triviaqa
from dna_bigbird.text.set_outputs import open_model
from tests.interop.longformer_models import CLASSIFIER, QUESTIONS, saved_longformer

pytest.importorskip("transformers")
CLOSE = {"rtol": 0, "atol": 1e-4}


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def batch_of(task, bundle, path):
    examples, _ = task.read(path, "validation")
    rows = task.rows(examples, bundle.tokenizer, training=False).rows[:3]
    return task.collate(list(enumerate(rows)))


def test_questions(here):
    """[CLS], the question and its [SEP] are global; the document has the segment of the question."""
    theirs, _ = saved_longformer(here / "hf", QUESTIONS)
    for name, content in triviaqa(0, 4).items():
        (here / name).parent.mkdir(parents=True, exist_ok=True)
        (here / name).write_bytes(content)
    main(["convert", "--from-huggingface", "hf", "--to", "bundle"])
    data = "triviaqa/triviaqa-rc/qa/wikipedia-dev.json"
    bundle, task = open_model(here / "bundle", "")
    batch = batch_of(task, bundle, here / data)
    with torch.no_grad():
        found = task.outputs(bundle.model, batch)
        expected = theirs(
            batch.token_ids_BT,
            attention_mask=(~batch.is_padding_BT).long(),
            global_attention_mask=((batch.segment_ids_BT == 0) & ~batch.is_padding_BT).long(),
        )
    real_BT = ~batch.is_padding_BT
    assert batch.segment_ids_BT.max() == 1
    torch.testing.assert_close(found["start"][real_BT], expected.start_logits[real_BT], **CLOSE)
    main(f"text evaluate --model bundle --data {data} --split validation --output scores".split())
    assert "f1" in json.loads((here / "scores/metrics.json").read_text())


def test_classes(here):
    theirs, _ = saved_longformer(here / "hf", CLASSIFIER)
    items = [{"text": "the river " * n, "label": "law"} for n in (3, 9, 30)]
    (here / "data.jsonl").write_text("".join(json.dumps(item) + "\n" for item in items))
    main(["convert", "--from-huggingface", "hf", "--to", "bundle"])
    bundle, task = open_model(here / "bundle", "split_shares=")
    batch = batch_of(task, bundle, here / "data.jsonl")
    with torch.no_grad():
        found = task.outputs(bundle.model, batch)["logits"]
        expected = theirs(batch.token_ids_BT, attention_mask=(~batch.is_padding_BT).long()).logits
    torch.testing.assert_close(found, expected, **CLOSE)
