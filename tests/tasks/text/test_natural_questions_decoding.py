"""From the windows of a page to its answers."""

import itertools

import numpy as np
import pytest

from dna_bigbird.text.tasks.natural_questions_metric import (
    NO_SPAN,
    PagePrediction,
    PageWindow,
    Places,
    candidate_of,
    decode_page,
    joint_span,
    pool,
)


def places(*found, window=0):
    """(score, token) pairs; the piece is ten times the token."""
    score, token = np.array(found, dtype=float).reshape(-1, 2).T
    return Places(score, token.astype(int), token.astype(int) * 10, np.full(len(score), window))


def test_the_end_follows_the_best_start():
    """The best end of all stands before it."""
    found = joint_span(places((5, 20), (3, 2)), places((9, 10), (1, 25), (2, 22)))
    assert (found.start, found.end, found.score) == (20, 23, 7.0)


def test_a_short_answer_is_shorter_than_its_limit():
    starts, ends = places((5, 20)), places((9, 58), (1, 57))
    assert joint_span(starts, ends, max_length=38).end == 58  # 57 - 20 < 38
    assert joint_span(starts, ends, max_length=39).end == 59
    assert joint_span(starts, ends, max_length=371, unit="piece").end == 58  # 370 pieces


def test_without_an_end_that_fits_the_best_one_is_taken():
    found = joint_span(places((5, 20)), places((1, 3), (4, 9)), max_length=38)
    assert (found.start, found.end, found.score) == (9, 21, 9.0)


def test_windows_are_pooled():
    starts = pool([places((1, 4)), places((6, 40), window=1)])
    found = joint_span(starts, pool([places((2, 5)), places((2, 41), window=1)]))
    assert (found.start, found.end, found.window) == (40, 42, 1)


@pytest.mark.parametrize("seed", range(20))
def test_the_joint_span_is_that_of_a_plain_search(seed):
    rng = np.random.default_rng(seed)
    starts, ends = (
        places(*zip(rng.permutation(30)[:6], rng.permutation(60)[:6], strict=True))
        for _ in range(2)
    )
    found = joint_span(starts, ends, max_length=10)
    best_start = max(range(6), key=lambda i: starts.score[i])
    begin = starts.token[best_start]
    fitting = [j for j in range(6) if 0 <= ends.token[j] - begin < 10]
    end = ends.token[max(fitting or range(6), key=lambda j: ends.score[j])]
    assert (found.start, found.end) == (min(begin, end), max(begin, end) + 1)


CANDIDATES = np.array([[0, 20], [5, 10], [20, 60], [20, 90]])
IS_TOP = np.array([True, False, True, True])


@pytest.mark.parametrize(
    ("span", "number"),
    [
        ((0, 20), 0),  # that very candidate
        ((5, 10), 1),  # also one inside another
        ((6, 9), 0),  # else the smallest top-level one around
        ((21, 30), 2),
        ((21, 80), 3),
        ((15, 25), 0),  # over an edge: the one that holds its first token
        ((95, 99), -1),
    ],
)
def test_a_long_answer_becomes_a_candidate(span, number):
    found = joint_span(places((1, span[0])), places((1, span[1] - 1)))
    assert candidate_of(found, CANDIDATES, IS_TOP) == number


def window(number, long_score, short_score, kind):
    """A window whose spans are candidate 0 and tokens 7 to 8."""
    return PageWindow(
        places((short_score, 7), window=number),
        places((0, 8), window=number),
        places((long_score, 0), window=number),
        places((0, 19), window=number),
        np.eye(5)[kind],
    )


def test_yes_and_no_come_from_the_window_of_the_long_answer():
    windows = [window(0, 9, 2, kind=1), window(1, 3, 5, kind=2)]
    long = (0, 20, -1, -1)
    assert decode_page(windows, CANDIDATES, IS_TOP) == PagePrediction(long, 9.0, (), 9.0, "yes")
    last = decode_page(windows, CANDIDATES, IS_TOP, yes_no="last")
    assert last == PagePrediction(long, 9.0, (), 5.0, "no")


@pytest.mark.parametrize("kind", [0, 3, 4])
def test_other_types_leave_the_short_answer(kind):
    found = decode_page([window(0, 9, 2, kind)], CANDIDATES, IS_TOP)
    assert found == PagePrediction((0, 20, -1, -1), 9.0, ((7, 9, -1, -1),), 2.0, "none")


def test_a_page_without_places_has_no_answer():
    nothing = PageWindow(*itertools.repeat(places(), 4), np.eye(5)[1])
    found = decode_page([nothing], np.zeros((0, 2), dtype=int), np.zeros(0, dtype=bool))
    assert found == PagePrediction(NO_SPAN, 0.0, (), 0.0, "none")
