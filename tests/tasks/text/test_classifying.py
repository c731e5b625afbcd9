"""Document classification and GLUE from reading to submission."""

import csv
import io
import json
from types import SimpleNamespace
from typing import get_args

import numpy as np
import pytest
import torch

from dna_bigbird.core.errors import InputError
from dna_bigbird.corpus.text_tokenizer import TextTokenizer
from dna_bigbird.models.config import EncoderConfig, HeadConfig
from dna_bigbird.text.data.classification import (
    READERS,
    ClassificationOptions,
    SetName,
)
from dna_bigbird.text.data.glue import FORMATS, GlueOptions, GlueSet
from dna_bigbird.text.tasks.classification import UNSEEN, ClassificationTask, Predicted
from dna_bigbird.text.tasks.glue import METRICS, GlueTask
from tests.text_overfit import overfit
from tests.text_vocabulary import tiny_text_tokenizer


def kind_of(set_name, **options):
    head = HeadConfig(dropout=0.0)
    if set_name in FORMATS:
        return GlueTask(GlueOptions(set=set_name, **options), head)
    return ClassificationTask(ClassificationOptions(set=set_name, **options), head)


def documents_of(tmp_path, items):
    path = tmp_path / "train.jsonl"
    path.write_text("".join(json.dumps(item) + "\n" for item in items))
    return path


@pytest.fixture(scope="session")
def published(real_data):
    """The published English vocabulary."""
    file = real_data / "vocab" / "bigbird_gpt2_sentencepiece.model"
    return TextTokenizer(file.read_bytes(), "spiece.model")


def test_real_reviews_can_be_learnt_by_heart(real_data, published):
    kind = kind_of("imdb", max_tokens=256)
    examples, _ = kind.read(real_data / "nlp/imdb/imdb_3.jsonl", "train")
    metrics, predictions = overfit(kind, examples, published, steps=20)
    assert metrics == {"micro_f1": 1.0}
    assert [each.value for each in predictions] == ["pos", "pos", "neg"]
    assert min(each.probability for each in predictions) > 0.9


def test_documents_told_apart_by_their_first_word_only(tmp_path):
    """All words but the first are the same, and the classes are not in sorted order."""
    words = ("river", "city", "king", "queen", "film", "book")
    items = [
        {"text": f"{word} the garden of the old stone house", "label": f"class {i * 5 % 6}"}
        for i, word in enumerate(words)
    ]
    kind = kind_of("json-lines", max_tokens=32)
    examples, _ = kind.read(documents_of(tmp_path, items), "train")
    metrics, predictions = overfit(kind, examples, tiny_text_tokenizer(), steps=60)
    assert metrics == {"micro_f1": 1.0}
    assert [each.value for each in predictions] == [item["label"] for item in items]


@pytest.mark.parametrize("task", ["cola", "mnli", "mrpc", "qnli", "qqp", "rte", "sst2"])
def test_real_rows_of_glue_can_be_learnt_by_heart(real_data, task):
    kind = kind_of(task, max_tokens=256)
    archive = real_data / "nlp/glue/glue_tiny.tar.gz"
    examples = [one for split in ("train", "validation") for one in kind.read(archive, split)[0]]
    metrics, predictions = overfit(kind, examples, tiny_text_tokenizer(), steps=60)
    gold = [each.label for each in examples]
    assert [each.value for each in predictions] == gold
    # the sample of CoLA has acceptable sentences only, and Matthews needs both kinds
    known = {name: value for name, value in metrics.items() if not np.isnan(value)}
    assert set(known.values()) == ({1.0} if len(set(gold)) > 1 else set())


def test_real_scores_of_sts_b_can_be_learnt_by_heart(real_data):
    kind = kind_of("stsb", max_tokens=128)
    archive = real_data / "nlp/glue/glue_tiny.tar.gz"
    examples = [one for split in ("train", "validation") for one in kind.read(archive, split)[0]]
    metrics, predictions = overfit(kind, examples, tiny_text_tokenizer(), steps=150)
    gold = [each.score for each in examples]
    assert [each.value for each in predictions] == pytest.approx(gold, abs=0.25)
    assert metrics["pearson"] > 0.95


def test_losses_by_hand():
    kind, score = kind_of("imdb"), kind_of("stsb")
    batch = SimpleNamespace(targets_B=torch.tensor([0.0, 1.0, float("nan")]))
    logits = torch.tensor([[2.0, 0.0], [1.0, 1.0], [9.0, 9.0]], requires_grad=True)
    expected = (np.log(1 + np.exp(-2)) + np.log(2)) / 2  # the third has no target
    loss = kind.loss({"logits": logits}, batch)
    assert loss.item() == pytest.approx(expected)
    loss.backward()
    assert logits.grad.isfinite().all()
    batch = SimpleNamespace(targets_B=torch.tensor([5.0, 2.5]))
    assert score.loss({"logits": torch.tensor([[3.0], [2.0]])}, batch).item() == pytest.approx(
        2.125
    )


def test_an_encoder_with_one_segment_reads_pairs(tmp_path):
    """RoBERTa has one; the second text then has the first one's segment."""
    kind = kind_of("rte", max_tokens=32)
    (tmp_path / "train.tsv").write_text(
        "index\tsentence1\tsentence2\tlabel\n0\tthe king\ta river\tentailment\n"
    )
    made = kind.rows(kind.read(tmp_path, "train")[0], tiny_text_tokenizer(), training=True)
    batch = kind.collate(list(enumerate(made.rows)))
    for segments in (0, 1, 2):
        config = EncoderConfig(
            vocab_size=tiny_text_tokenizer().size_with_markers, hidden_size=16, num_layers=1,
            num_heads=2, ffn_size=16, block_size=16, max_tokens=64, num_segments=segments,
        )  # fmt: skip
        model = kind.description.build_model(config, kind.head, 2).eval()
        assert kind.outputs(model, batch)["logits"].shape == (1, 2)


def test_probabilities_and_submission_of_documents(tmp_path):
    kind = kind_of("imdb")
    items = [{"text": "a", "label": "pos", "id": 'x,"1'}, {"text": "b", "label": "pos"}]
    examples, _ = kind.read(documents_of(tmp_path, items), "train")
    kind.labels = kind.label_names(examples)
    assert kind.labels == ["neg", "pos"]  # both, though one alone occurs
    made = kind.rows(examples, tiny_text_tokenizer(), training=False)
    found = kind.decode(made, [{"logits": np.array([1.0, 3.0])}, {"logits": np.array([5.0, 5.0])}])
    assert [each.value for each in found] == ["pos", "neg"]
    assert found[0].probability == pytest.approx(1 / (1 + np.exp(-2)))
    (content,) = kind.submission(examples, found).values()
    assert list(csv.reader(io.StringIO(content.decode()))) == [
        ["id", "label", "probability"],
        ['x,"1', "pos", "0.880797"],
        ["line-2", "neg", "0.500000"],
    ]
    assert kind.summarise(kind.statistics(examples, found)) == {"micro_f1": 0.5}


def test_submissions_of_glue(real_data):
    """As gluebenchmark.com takes them: label names, scores within 0 and 5, MNLI in two files."""
    archive = real_data / "nlp/glue/glue_tiny.tar.gz"
    kind = kind_of("mnli")
    examples, _ = kind.read(archive, "test", gold=False)
    files = kind.submission(examples, [Predicted("neutral", 0.5), Predicted("entailment", 0.5)])
    assert files == {
        "MNLI-m.tsv": b"index\tprediction\n0\tneutral\n",
        "MNLI-mm.tsv": b"index\tprediction\n0\tentailment\n",
    }
    kind = kind_of("stsb")
    examples, _ = kind.read(archive, "validation")
    files = kind.submission(examples, [Predicted(5.25), Predicted(-0.1)])
    assert files == {"STS-B.tsv": b"index\tprediction\n0\t5.000\n1\t0.000\n"}


def test_labels_that_training_lacks_are_wrong_and_counted(tmp_path):
    kind = kind_of("json-lines", max_tokens=16)
    items = [{"text": f"{label} king", "label": label} for label in "abc"]
    examples, _ = kind.read(documents_of(tmp_path, items), "train")
    kind.labels = ["a", "b"]
    made = kind.rows(examples, tiny_text_tokenizer(), training=False)
    assert made.counts == {UNSEEN: 1}
    assert np.isnan(made.rows[2].arrays["target"])
    found = kind.decode(made, [{"logits": np.array([1.0, 0])}] * 3)
    assert kind.summarise(kind.statistics(examples, found)) == {"micro_f1": pytest.approx(1 / 3)}


def test_one_class_alone_cannot_be_trained_on(tmp_path):
    kind = kind_of("json-lines")
    examples, _ = kind.read(documents_of(tmp_path, [{"text": "x", "label": 1}] * 2), "train")
    with pytest.raises(InputError, match="all 2 training documents have the label '1'"):
        kind.label_names(examples)


def test_baselines_are_scored_like_models(tmp_path, real_data):
    kind = kind_of("json-lines", baseline_documents=4)
    items = [{"text": t, "label": t[:3]} for t in ("bad x", "bad y", "good x", "good y", "bad z")]
    examples = list(kind.read(documents_of(tmp_path, items), "train")[0])
    assert kind.baselines(None, examples) == {}
    found = kind.baselines(examples, examples)
    scores = {name: kind.summarise(kind.statistics(examples, f)) for name, f in found.items()}
    assert scores["majority"] == {"micro_f1": 0.6}
    assert scores["tfidf"]["micro_f1"] > 0.6
    assert "tfidf" not in kind_of("json-lines", baseline_documents=0).baselines(examples, examples)
    kind = kind_of("stsb")
    examples, _ = kind.read(real_data / "nlp/glue/glue_tiny.tar.gz", "train")
    found = kind.baselines(examples, examples)
    assert [each.value for each in found["mean"]] == pytest.approx([12.6 / 3] * 3)
    assert 0 < found["tfidf_cosine"][0].value < 5


def test_names_of_sets_are_the_same_everywhere():
    assert set(get_args(SetName)) == set(READERS)
    assert set(get_args(GlueSet)) == set(FORMATS) == set(METRICS)
