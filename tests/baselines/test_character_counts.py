"""Counts of characters next to counts in dictionaries."""

from collections import Counter

import numpy as np
import pytest

from dna_bigbird.baselines import base_ngram
from dna_bigbird.baselines.base_ngram import CharacterNgram


def with_dictionaries(train, scored, order, size):
    """Interpolated Witten-Bell, word by word."""
    counts = [
        Counter(tuple(train[i : i + n]) for i in range(len(train) - n + 1))
        for n in range(order + 1)
    ]
    nats = []
    for i in range(len(scored)):
        p = 1 / size
        for n in range(1, order + 1):
            head = tuple(scored[max(0, i - n + 1) : i])
            if len(head) < n - 1:
                break
            after = {c: counts[n][(*head, c)] for c in range(size) if counts[n][(*head, c)]}
            total, types = sum(after.values()), len(after)
            if total:
                p = (after.get(scored[i], 0) + types * p) / (total + types)
        nats.append(-np.log(p))
    return np.array(nats)


@pytest.mark.parametrize("order", [1, 2, 4])
def test_probabilities_are_those_of_the_formula(order):
    rng = np.random.default_rng(order)
    train, scored = (
        rng.choice(5, n, p=[0.4, 0.3, 0.2, 0.1, 0.0]).astype(np.uint8) for n in (300, 60)
    )
    scored[10] = 4  # never counted
    nats = CharacterNgram(order, 5).fit(train).nll(scored)
    np.testing.assert_allclose(nats, with_dictionaries(train.tolist(), scored.tolist(), order, 5))


def test_a_scored_text_may_be_shorter_than_the_words():
    model = CharacterNgram(4, 3).fit(np.tile(np.arange(3, dtype=np.uint8), 9))
    assert np.isfinite(model.nll(np.array([1, 2], np.uint8))).all()


def test_only_the_last_characters_are_counted(monkeypatch):
    train = np.repeat(np.array([0, 1], np.uint8), 50)
    monkeypatch.setattr(base_ngram, "MOST_COUNTED", 50)
    model = CharacterNgram(1, 2).fit(train)
    assert model.counted == 50
    assert model.nll(np.array([1], np.uint8))[0] < model.nll(np.array([0], np.uint8))[0]


def test_orders_that_do_not_fit():
    for order, letters in ((0, 5), (32, 4), (9, 205)):
        with pytest.raises(
            ValueError, match=f"order {order} is below 1 or too long for {letters} letters"
        ):
            CharacterNgram(order, letters)
