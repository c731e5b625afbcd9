"""TriviaQA from questions and documents to the official metric and the submission."""

import json

import numpy as np
import pytest
import torch

from dna_bigbird.models.text_config import SpanHead
from dna_bigbird.text.data.rows import TextFeatures
from dna_bigbird.text.data.triviaqa import TriviaQaOptions
from dna_bigbird.text.tasks.triviaqa import NO_SPAN, TriviaQaTask, noisy_span_loss
from tests.text_overfit import overfit
from tests.text_vocabulary import tiny_text_tokenizer

SAMPLE = "nlp/triviaqa/triviaqa_rc_sample.tar.gz"


def kind(head=SpanHead(dropout=0.0), **options):  # noqa: B008 - frozen
    return TriviaQaTask(TriviaQaOptions(**options), head)


@pytest.mark.parametrize("norm", ["per_document", "per_question"])
def test_a_tiny_model_learns_real_questions_by_heart(real_data, norm):
    task = kind(norm=norm, max_tokens=512, max_words=300, top_spans=20)
    examples = list(task.read(real_data / SAMPLE, "train")[0])
    # Questions whose answer stands in the beginning that is read here.
    tokenizer = tiny_text_tokenizer()
    trained = {row.example for row in task.rows(examples, tokenizer, training=True).rows}
    examples = [examples[i] for i in sorted(trained)]
    assert len(examples) >= 2
    scores, found = overfit(task, examples, tokenizer, steps=60)
    assert scores["em"] == 1.0
    assert scores["f1"] == 1.0
    written = json.loads(task.submission(examples, found)["predictions.json"])
    assert list(written) == [one.id for one in examples]


def test_web_answers_are_of_a_question_and_a_page(real_data):
    examples, _ = kind(domain="web").read(real_data / SAMPLE, "validation")
    assert [one.id for one in examples][:2] == ["tc_2--61/61_97.txt", "tc_2--10/10_99.txt"]
    assert all(len(one.documents) == 1 for one in examples)


def test_with_one_span_the_loss_is_cross_entropy():
    logits_BT = torch.randn(3, 7, generator=torch.Generator().manual_seed(0))
    logits_BT[2, 5:] = -torch.inf
    places_B = torch.tensor([2, 6, 0])
    loss = noisy_span_loss(logits_BT, places_B[:, None], torch.arange(3))
    torch.testing.assert_close(loss, torch.nn.functional.cross_entropy(logits_BT, places_B))


def plain_loss(logits_BT, places, groups):
    """The summed objective in plain loops over probabilities."""
    losses = []
    for group in sorted(set(groups)):
        everything = correct = 0.0
        for row, of_row in enumerate(groups):
            if of_row == group:
                odds = np.exp(np.asarray(logits_BT[row], dtype=np.float64))
                everything += odds.sum()
                correct += sum(odds[place] for place in set(places[row]))
        if correct:
            losses.append(-np.log(correct / everything))
    return np.mean(losses)


@pytest.mark.parametrize("groups", [[0, 1, 2, 3], [5, 5, 7, 7], [1, 0, 1, 0], [4, 4, 4, 4]])
def test_the_loss_is_the_summed_objective(groups):
    """Places named twice count once; a document or question without a place counts for nothing."""
    places = [[1, 4, 4], [], [0], []]
    padded = torch.tensor([one + [NO_SPAN] * (3 - len(one)) for one in places])
    logits_BT = torch.randn(4, 6, generator=torch.Generator().manual_seed(1), requires_grad=True)
    loss = noisy_span_loss(logits_BT, padded, torch.tensor(groups))
    assert loss.item() == pytest.approx(plain_loss(logits_BT.detach(), places, groups), abs=1e-6)
    loss.backward()
    assert torch.isfinite(logits_BT.grad).all()


def test_without_any_answer_the_loss_is_nothing():
    logits_BT = torch.randn(2, 4, requires_grad=True)
    loss = noisy_span_loss(logits_BT, torch.full((2, 1), NO_SPAN), torch.tensor([0, 1]))
    loss.backward()
    assert loss.item() == 0
    assert logits_BT.grad.abs().sum() == 0


def test_documents_of_a_question_are_one_unit():
    rows = [TextFeatures(np.zeros(1, np.int32), example) for example in (0, 0, 2)]
    text_set = type("Made", (), {"rows": rows})
    assert kind(norm="per_question").units(text_set) == [[0, 1], [2]]
    assert kind().units(text_set) is None


def test_verified_questions_are_scored_apart_and_missing_ones_are_wrong(tmp_path):
    task = kind()
    statistics = np.array([[1.0, 1.0, 1.0], [0.0, 0.5, 0.0], [0.0, 0.0, 0.0]])
    assert task.summarise(statistics) == {
        "em": pytest.approx(1 / 3),
        "f1": 0.5,
        "verified_em": 1.0,
        "verified_f1": 1.0,
    }
    assert task.summarise(statistics[1:]) == {"em": 0.0, "f1": 0.25}
