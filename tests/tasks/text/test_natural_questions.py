"""Natural Questions from pages to the official metric and the submission."""

import dataclasses
import json
import random

import numpy as np
import pytest
import torch

from dna_bigbird.core.errors import InputError
from dna_bigbird.models.text_config import LongAnswerHead
from dna_bigbird.text.data.natural_questions import Annotation, NaturalQuestionsOptions, PageSpan
from dna_bigbird.text.data.rows import TextSet
from dna_bigbird.text.made.pages import nq_item
from dna_bigbird.text.question_models import SPANS
from dna_bigbird.text.set_outputs import evaluation
from dna_bigbird.text.tasks.natural_questions import NaturalQuestionsTask
from dna_bigbird.text.tasks.natural_questions_metric import PagePrediction
from tests.text_overfit import overfit
from tests.text_vocabulary import tiny_text_tokenizer


def kind(**options):
    return NaturalQuestionsTask(NaturalQuestionsOptions(**options), LongAnswerHead(dropout=0.0))


def made_pages(folder, count=8):
    rng = random.Random(0)
    path = folder / "nq-dev-00.jsonl"
    path.write_text("".join(json.dumps(nq_item(rng, i, "dev")) + "\n" for i in range(count)))
    return path


def test_scores_have_a_gain_over_the_baseline_and_thresholds_have_none(tmp_path):
    task = kind()
    examples, _ = task.read(made_pages(tmp_path), "validation")
    perfect = [
        PagePrediction(gold.long, 7.0 + i, gold.short, 1.0, gold.yes_no)
        for i, gold in enumerate(max(one.annotations) for one in examples)
    ]
    rows = TextSet(list(examples), [], {})
    metrics = evaluation(task, rows, perfect, None, seed=0, replicates=20, described={})
    baseline = metrics["baselines"]["first_paragraph"]
    gains = {key.partition("_gain_over_")[0] for key in metrics if "_gain_over_" in key}
    scores = {"long_f1", "long_precision", "long_recall", "mean_f1"}
    assert gains == scores | {key.replace("long", "short") for key in scores}
    for score in scores:
        gain = metrics[score] - baseline[score]
        assert metrics[f"{score}_gain_over_first_paragraph"] == pytest.approx(gain, abs=2e-6)
    assert metrics["long_threshold"] >= 7
    assert metrics["long_threshold_low"] >= 6


def test_a_tiny_model_learns_pages_by_heart(tmp_path):
    """Short, long, yes, no and null pages, in overlapping windows."""
    small = {"max_tokens": 128, "max_question_tokens": 16, "stride": 64}
    task = kind(**small)
    examples, _ = task.read(made_pages(tmp_path), "validation")
    # The first annotation is the target; let it be one of the four that agree.
    examples = [
        dataclasses.replace(one, annotations=tuple(sorted(one.annotations, reverse=True)))
        for one in examples
    ]
    assert {one.annotations[0].yes_no for one in examples} == {"yes", "no", "none"}
    scores, found = overfit(task, examples, tiny_text_tokenizer(), steps=90)
    assert scores["long_f1"] >= 0.99
    assert scores["short_f1"] >= 0.99
    written = json.loads(task.submission(examples, found)["predictions.json"])["predictions"]
    gold = {one.id: one.annotations[0] for one in examples}
    for one in written:
        wanted = gold[one["example_id"]]
        if wanted.long.start >= 0:
            assert one["long_answer"] == dict(
                zip(
                    ("start_token", "end_token", "start_byte", "end_byte"), wanted.long, strict=True
                )
            )
            assert one["yes_no_answer"] == wanted.yes_no.upper()
            assert len(one["short_answers"]) == len(wanted.short)


REAL = "nlp/natural_questions/nq_simplified_train_1.jsonl.gz"


def test_a_tiny_model_learns_the_real_page_by_heart(real_data):
    """Its only annotation finds nothing; beside it stand two questions with answers made for it."""
    task = kind(max_tokens=256, stride=192, min_annotators=1)
    (page,), _ = task.read(real_data / REAL, "validation")
    # The first two paragraphs: the rest is thousands of table cells.
    page = dataclasses.replace(
        page, candidates=page.candidates[:2], is_top_level=page.is_top_level[:2]
    )
    place = page.tokens.index("1963")
    year = Annotation(page.candidates[0], (PageSpan(place, place + 1),), "none")
    second = Annotation(page.candidates[1], (), "none")
    pages = [
        page,
        dataclasses.replace(page, id=1, question="when was it introduced", annotations=(year,)),
        dataclasses.replace(page, id=2, question="what came next", annotations=(second,)),
    ]
    scores, found = overfit(task, pages, tiny_text_tokenizer(), steps=70)
    assert scores["long_f1"] == 1.0
    assert scores["short_f1"] == 1.0
    # As the official simplified form says: tokens alone, no bytes.
    assert found[1].long == (*page.candidates[0][:2], -1, -1)
    assert found[1].short == ((place, place + 1, -1, -1),)
    assert found[2].long == (*page.candidates[1][:2], -1, -1)


def test_only_the_best_places_are_kept(real_data):
    task = kind(top=3, min_annotators=1)
    (page,), _ = task.read(real_data / REAL, "validation")
    made = task.rows([page], tiny_text_tokenizer(), training=False)
    batch = task.collate(list(enumerate(made.rows[:2])))
    logits_BT = torch.randn(batch.token_ids_BT.shape, generator=torch.Generator().manual_seed(0))
    logits_BT[0, 1] = 99.0  # in the question
    outputs = {name: logits_BT for name in SPANS} | {"type": torch.zeros(2, 5)}
    kept = task.kept(outputs, batch)
    assert kept["places"].shape == (2, 4, 3)
    inside = np.where(batch.is_document_BT[0], logits_BT[0], -np.inf)
    assert kept["places"][0, 0].tolist() == np.argsort(-inside)[:3].tolist()
    assert kept["first"][1, 2] == logits_BT[1, 0]


@pytest.mark.parametrize(("score", "expected"), [("difference", 3.0), ("ratio", 2.5)])
def test_scores_are_relative_to_the_first_token(tmp_path, score, expected):
    task = kind(score=score, max_tokens=128, max_question_tokens=16, stride=64)
    examples, _ = task.read(made_pages(tmp_path, 1), "validation")
    made = task.rows(examples, tiny_text_tokenizer(), training=False)
    place = int(np.flatnonzero(made.rows[0].arrays["token"] >= 0)[0])
    output = {
        "best": np.full((4, 1), 5.0),
        "places": np.full((4, 1), place),
        "first": np.full(4, 2.0),
        "type": np.zeros(5),
    }
    nothing = output | {"best": np.full((4, 1), -np.inf)}
    (found,) = task.decode(made, [output] + [nothing] * (len(made.rows) - 1))
    assert found.long_score == 2 * expected


def test_pages_with_too_few_annotations_are_refused(tmp_path):
    path = tmp_path / "nq-train-00.jsonl"
    path.write_text(json.dumps(nq_item(random.Random(0), 0, "train")) + "\n")
    examples = list(kind().read(path, "train")[0])
    with pytest.raises(InputError, match=r"nq-train-00.jsonl: pages with 1 annotation at most"):
        list(kind().read(path, "validation")[0])
    with pytest.raises(InputError, match=r"give --options.min_annotators 1"):
        kind().statistics(examples, kind().baselines(None, examples)["first_paragraph"])
    assert list(kind(min_annotators=1).read(path, "validation")[0]) == examples


def test_the_baseline_takes_the_first_paragraph(real_data):
    task = kind(min_annotators=1)
    (page,), _ = task.read(real_data / REAL, "validation")
    (found,) = task.baselines(None, [page])["first_paragraph"]
    assert found.long == page.candidates[0] == (83, 298, -1, -1)
    assert found.short == ()
    whole = " ".join(task.texts([page]))
    assert whole.startswith("List of WWE champions - wikipedia List of")
    assert "<P>" not in whole
