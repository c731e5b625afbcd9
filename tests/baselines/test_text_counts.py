"""Baselines of text classification."""

import numpy as np
import pytest

from dna_bigbird.text.text_baselines import commonest, tfidf_cosine, tfidf_logistic

GOOD, BAD = "a moving and wonderful film", "a boring and dreadful film"


def test_words_of_a_class_tell_it_and_others_do_not():
    texts = [(f"{GOOD} {i}",) for i in range(5)] + [(f"{BAD} {i}",) for i in range(5)]
    labels = ["pos"] * 5 + ["neg"] * 5
    found, sure = tfidf_logistic(texts, labels, [("wonderful",), ("dreadful",), ("never seen",)])
    assert found[:2] == ["pos", "neg"]
    assert sure[:2].min() > sure[2] == pytest.approx(0.5, abs=0.02)


def test_the_places_of_a_pair_are_told_apart():
    """The same two words, in the first text or in the second."""
    texts = [("yes", "no"), ("no", "yes")] * 4
    labels = ["first", "second"] * 4
    assert tfidf_logistic(texts, labels, texts)[0] == labels


def test_one_class_alone_is_always_said():
    found, sure = tfidf_logistic([("a",)] * 2, ["x", "x"], [("b",)] * 3)
    assert (found, sure.tolist()) == (["x"] * 3, [1.0] * 3)
    assert commonest(["b", "b", "a"]) == "b"


def test_cosines_of_counts_by_hand():
    """Each training text has other words, so all weights are equal: shared over all terms."""
    cosines = tfidf_cosine(
        [("red", "blue")], [("red", "red"), ("red", "blue"), ("red blue", "red")]
    )
    np.testing.assert_allclose(cosines, [1, 0, 1 / np.sqrt(2)])
