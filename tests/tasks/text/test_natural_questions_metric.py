"""The metric of Natural Questions against its official definition."""

import random

import numpy as np
import pytest

from dna_bigbird.text.tasks.natural_questions_metric import (
    NO_SPAN,
    at_best_threshold,
    long_row,
    same_spans,
    short_row,
    summarise,
)

A, B, C = (3, 9, -1, -1), (10, 12, -1, -1), (20, 21, -1, -1)
NOTHING = (NO_SPAN, (), "none")


def answer(long=NO_SPAN, *short, yes_no="none"):
    return long, short, yes_no


FIVE = [answer(A, B), answer(A, B, C), NOTHING, answer(B), NOTHING]
"""Three annotators with a long answer, two with short ones, all of them different."""


@pytest.mark.parametrize(
    ("gold", "predicted", "expected"),
    [
        (FIVE, answer(A), (1, 1, 1)),
        (FIVE, answer(B), (1, 1, 1)),  # one annotator suffices once there is an answer
        (FIVE, answer(C), (1, 1, 0)),
        (FIVE, NOTHING, (1, 0, 0)),
        ([answer(A), *[NOTHING] * 4], answer(A), (0, 1, 0)),  # 1 of 5: there is no answer
        ([NOTHING] * 5, NOTHING, (0, 0, 0)),
    ],
)
def test_two_of_five_must_have_a_long_answer(gold, predicted, expected):
    assert long_row(gold, predicted, 7.0) == (*map(float, expected), 7.0)


@pytest.mark.parametrize(
    ("gold", "predicted", "expected"),
    [
        (FIVE, answer(A, B), (1, 1, 1)),
        (FIVE, answer(A, C, B), (1, 1, 1)),  # a set: order does not matter
        (FIVE, answer(A, C), (1, 1, 0)),  # a part of a set is wrong
        (FIVE, answer(A), (1, 0, 0)),
        (FIVE, answer(A, yes_no="yes"), (1, 1, 0)),
        ([answer(A, yes_no="yes"), answer(A, B), *[NOTHING] * 3], answer(A, yes_no="yes"), (1, 1, 1)),
        ([answer(A, yes_no="yes"), answer(A, B), *[NOTHING] * 3], answer(A, B), (1, 1, 1)),
        ([answer(A, yes_no="yes"), answer(A, yes_no="no")], answer(A, yes_no="no"), (1, 1, 1)),
        ([answer(A, yes_no="yes"), *[NOTHING] * 4], answer(A, yes_no="yes"), (0, 1, 0)),
    ],
)  # fmt: skip
def test_short_answers_are_sets_or_yes_or_no(gold, predicted, expected):
    assert short_row(gold, predicted, 0.5) == (*map(float, expected), 0.5)


def test_training_files_have_one_annotation():
    assert long_row([answer(A)], answer(A), 1.0)[0] == 0
    assert long_row([answer(A)], answer(A), 1.0, annotators=1) == (1, 1, 1, 1.0)


def test_bytes_or_tokens_make_spans_equal():
    assert same_spans([(3, 9, 70, 99)], [(-1, -1, 70, 99)])
    assert same_spans([(3, 9, 70, 99)], [(3, 9, 71, 99)])  # tokens agree
    assert not same_spans([(3, 9, -1, -1)], [(-1, -1, 3, 9)])


def test_equal_scores_count_together():
    """The threshold 5 takes both rows of score 5, the wrong one too."""
    rows = np.array([[1, 1, 1, 9], [1, 1, 1, 5], [1, 1, 0, 5], [1, 1, 0, 1]], dtype=float)
    found = at_best_threshold(rows)
    expected = {"f1": 4 / 7, "precision": 2 / 3, "recall": 0.5, "threshold": 5.0}
    assert found == pytest.approx(expected)
    # In whatever order they come.
    assert at_best_threshold(rows[[3, 2, 1, 0]]) == found


def test_null_predictions_cost_no_precision():
    rows = np.array([[1, 1, 1, 9], [1, 0, 0, 5], [0, 0, 0, 9]], dtype=float)
    assert at_best_threshold(rows)["precision"] == 1.0
    assert at_best_threshold(rows)["recall"] == 0.5


def test_without_gold_or_predictions_all_is_zero():
    nothing = {"f1": 0.0, "precision": 0.0, "recall": 0.0, "threshold": 0.0}
    assert at_best_threshold(np.array([[0, 1, 0, 3.0]])) == nothing
    assert at_best_threshold(np.array([[1, 0, 0, 3.0]])) == nothing


def plain_best(rows):
    """Try every score as a threshold, one after the other."""
    best = (0.0, 0.0, 0.0, 0.0)
    gold = sum(row[0] for row in rows)
    for threshold in sorted({row[3] for row in rows}, reverse=True):
        above = [row for row in rows if row[3] >= threshold]
        predicted, correct = sum(row[1] for row in above), sum(row[2] for row in above)
        precision = correct / predicted if predicted else 0.0
        recall = correct / gold if gold else 0.0
        f1 = 2 * precision * recall / (precision + recall) if correct else 0.0
        if f1 > best[0]:
            best = (f1, precision, recall, threshold)
    return best


@pytest.mark.parametrize("seed", range(30))
def test_the_best_threshold_is_that_of_a_plain_search(seed):
    rng = random.Random(seed)
    rows = []
    for _ in range(rng.randint(1, 25)):
        gold, predicted = rng.random() < 0.6, rng.random() < 0.8
        is_correct = gold and predicted and rng.random() < 0.5
        rows.append([float(gold), float(predicted), float(is_correct), float(rng.randint(0, 6))])
    assert tuple(at_best_threshold(np.array(rows)).values()) == pytest.approx(plain_best(rows))


def test_long_and_short_have_thresholds_of_their_own():
    rows = np.array([[1, 1, 1, 3.0, 1, 1, 0, 8.0], [1, 1, 1, 2.0, 1, 1, 1, 9.0]])
    found = summarise(rows)
    assert (found["long_f1"], found["long_threshold"]) == (1.0, 2.0)
    assert (found["short_f1"], found["short_threshold"]) == (pytest.approx(2 / 3), 9.0)
    assert found["mean_f1"] == pytest.approx(5 / 6)
