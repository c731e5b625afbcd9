"""Answers and spans against values worked by hand and plain loops."""

import numpy as np
import pytest

from dna_bigbird.text.spans import Overlap, best_places, best_span, normalise_answer, overlap


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The Beatles!", "beatles"),
        ("U.S.", "us"),  # deleted, not replaced by a space
        ("well-known", "wellknown"),
        ("an   Apple  a day", "apple day"),
        ("another theatre", "another theatre"),
        ("‘quoted’", "‘quoted’"),  # only ASCII punctuation goes
        ("a", ""),
        ("", ""),
    ],
)
def test_normalisation(text, expected):
    assert normalise_answer(text) == expected


def test_words_count_as_often_as_they_stand():
    # shared: new (1 of 2), york; 2 of 3 predicted, 2 of 2 wanted
    assert overlap("New New York", "york new") == Overlap(0.0, pytest.approx(0.8), 2 / 3, 1.0)
    assert overlap("Paris", "paris.") == Overlap(1.0, 1.0, 1.0, 1.0)
    assert overlap("Rome", "Paris") == Overlap(0.0, 0.0, 0.0, 0.0)


def test_two_empty_answers_match_with_an_f1_of_zero():
    assert overlap("the", "...") == Overlap(1.0, 0.0, 0.0, 0.0)


def by_loops(start, end, allowed, groups, places, max_length, top):
    """All permitted pairs one by one; the first of the best in order of start, then end."""
    ranked = [i for i in range(len(start)) if allowed[i]]
    starts = sorted(ranked, key=lambda i: (-start[i], i))[:top]
    ends = sorted(ranked, key=lambda i: (-end[i], i))[:top]
    best = None
    for s in sorted(starts):
        for e in sorted(ends):
            if s > e or groups[s] != groups[e] or places[e] - places[s] + 1 > max_length:
                continue
            if best is None or start[s] + end[e] > best[2]:
                best = (s, e, start[s] + end[e])
    return best


def test_best_span_against_loops():
    rng = np.random.default_rng(0)
    absent = 0
    for _ in range(300):
        tokens = int(rng.integers(1, 14))
        start, end = rng.integers(-3, 4, (2, tokens)).astype(float)  # many ties
        allowed = rng.random(tokens) < 0.6
        groups = np.sort(rng.integers(0, 3, tokens))
        places = np.cumsum(rng.integers(0, 2, tokens))
        length, top = int(rng.integers(1, 5)), int(rng.integers(1, 6))
        found = best_span(
            start, end, is_allowed_T=allowed, groups_T=groups, places_T=places,
            max_length=length, top=top,
        )  # fmt: skip
        expected = by_loops(start, end, allowed, groups, places, length, top)
        assert found == expected
        absent += expected is None
    assert 20 < absent < 200


def test_best_places_takes_the_earlier_of_equals():
    assert best_places([1, 3, 3, 0, 3], 2).tolist() == [1, 2]
    assert best_places([1, 3, 3, 0, 3], 2, [True, False, True, True, False]).tolist() == [0, 2]


def test_overlap_equals_the_squad_metric_of_torchmetrics():
    squad = pytest.importorskip("torchmetrics.functional.text").squad
    rng = np.random.default_rng(0)
    words = ["the", "The", "old", "U.S.", "a-b", "bridge", "bridge,", "1,066", "Ünter", "‘x’", "an"]
    for _ in range(300):
        predicted, gold = (
            " ".join(["core", *rng.choice(words, rng.integers(0, 6))]) for _ in range(2)
        )
        expected = squad(
            [{"prediction_text": predicted, "id": "0"}],
            [{"answers": {"answer_start": [0], "text": [gold]}, "id": "0"}],
        )
        found = overlap(predicted, gold)
        assert 100 * found.exact == expected["exact_match"].item()
        assert 100 * found.f1 == pytest.approx(expected["f1"].item(), rel=1e-6)
