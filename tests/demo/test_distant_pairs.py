"""Planted pairs: labels read off the sequence, what counts of words say, distances, and both backgrounds."""

import math
from collections import Counter

import numpy as np
import pytest

from dna_bigbird.evaluation.long_attention.distant_pairs import (
    DNA_DECOYS,
    DNA_KEYS,
    DNA_VALUES,
    FREE,
    KEY,
    TEST_BP,
    VALUE,
    PairTask,
    dna_pairs,
    dna_words,
    text_pairs,
    text_vocabulary,
    word_number,
    word_text,
)
from dna_bigbird.genome.embedded_sequence import load_background

DISTANCES = (85, 171, 341, 683, 1365, 2731)
TOKENS = 3072


@pytest.fixture(scope="module")
def dna():
    return dna_pairs(margin=32, is_test=True)


def letters(tokens):
    return "".join(map(word_text, tokens))


def partners(sequence, position):
    """All other sites in letters with the key of the site that asks at `position`, as distance and value."""
    words = [sequence[i : i + 6] for i in range(0, len(sequence), 6)]
    key = words[position - 2]
    assert key in DNA_KEYS
    return {
        abs(i + 2 - position): words[i + 2]
        for i, word in enumerate(words)
        if word == key and i + 2 != position
    }


def test_the_answer_is_at_the_only_other_site_with_the_key(dna):
    rng = np.random.default_rng(0)
    for _ in range(20):
        example = dna.draw(TOKENS, DISTANCES, rng)
        asked = example.asked(mask=0)  # AAAAAA
        sequence = letters(asked)
        rows = zip(example.positions_Q, example.answers_Q, example.distances_Q, strict=True)
        for position, answer, distance in rows:
            assert sequence[6 * position : 6 * position + 6] == "AAAAAA"
            assert partners(sequence, position) == {distance: DNA_VALUES[answer]}


def test_every_sequence_has_the_same_planted_words(dna):
    """So no function of the counts of planted words, of one or of several, says anything about an answer."""
    rng = np.random.default_rng(1)
    planted = [*DNA_KEYS, *DNA_VALUES, *DNA_DECOYS]
    for _ in range(10):
        counts = Counter(map(word_text, dna.draw(TOKENS, DISTANCES, rng).tokens_T))
        expected = (
            dict.fromkeys(DNA_KEYS, 2) | dict.fromkeys(DNA_VALUES, 6) | dict.fromkeys(DNA_DECOYS, 1)
        )
        assert {word: counts[word] for word in planted} == expected


def test_answers_do_not_depend_on_key_distance_or_decoy(dna):
    """Each share is within five standard errors of a half; n is about 100 to 200 questions in each group."""
    rng = np.random.default_rng(2)
    groups: dict = {}
    for _ in range(150):
        example = dna.draw(TOKENS, DISTANCES, rng)
        values = np.flatnonzero(np.isin(example.asked(-1), dna.values))
        rows = zip(example.positions_Q, example.answers_Q, example.distances_Q, strict=True)
        for position, answer, distance in rows:
            nearest = values[np.abs(values - position).argmin()]
            same = dna.values[answer] == example.tokens_T[nearest]
            groups.setdefault(("key", int(example.tokens_T[position - 2])), []).append(answer)
            groups.setdefault(("distance", int(distance)), []).append(answer)
            groups.setdefault(("nearest", 0), []).append(same)
    assert len(groups) == len(DNA_KEYS) + len(DISTANCES) + 1
    for group, answers in groups.items():
        assert abs(np.mean(answers) - 0.5) < 5 * 0.5 / math.sqrt(len(answers)), group


def test_no_seven_bases_join_a_key_and_its_value(dna):
    assert dna.site == (KEY, FREE, VALUE)
    spread = [6 * index for index in (0, 2)]
    assert (
        spread[1] - (spread[0] + 5) == 7
    )  # from the last base of the key to the first of the value


def test_no_site_is_at_the_ends(dna):
    rng = np.random.default_rng(3)
    planted = np.array([word_number(x) for x in (*DNA_KEYS, *DNA_VALUES, *DNA_DECOYS)])
    for _ in range(20):
        tokens = dna.draw(TOKENS, DISTANCES, rng).tokens_T
        assert not np.isin(np.r_[tokens[:32], tokens[-32:]], planted).any()


def test_backgrounds_are_real_and_disjoint():
    sequence = load_background()
    train, test = dna_words(is_test=False), dna_words(is_test=True)
    assert letters(train[:20]) in sequence[:-TEST_BP]
    assert letters(test[:20]) in sequence[-TEST_BP:]
    bases = sum(base != "N" for base in sequence)
    assert 6 * (len(train) + len(test)) == pytest.approx(6 * bases, rel=1e-3)


def test_text_asks_in_the_last_tokens_and_tells_before():
    words, rng = text_vocabulary(), np.random.default_rng(0)
    task = text_pairs(margin=32, is_test=True, asks_last=32)
    for _ in range(20):
        example = task.draw(1300, (256, 512, 1024), rng)
        said = [words[token] for token in example.tokens_T]
        assert set(example.distances_Q) == {256, 512, 1024}
        assert example.positions_Q.min() >= 1300 - 32
        rows = zip(example.positions_Q, example.distances_Q, strict=True)
        for position, distance in rows:
            site = said[position - 5 : position + 1]
            assert site[:3] == ["the", "colour", "of"]
            assert said[position - distance - 5 : position - distance + 1] == site


def test_a_pair_that_does_not_fit_is_named(dna):
    with pytest.raises(ValueError, match="no pair at a distance of 85 fits into 128 tokens"):
        dna.draw(128, DISTANCES, np.random.default_rng(0))


@pytest.mark.parametrize(
    ("keys", "values", "decoys", "message"),
    [
        ((1, 2, 3), (4, 5), (6, 7, 8), "2 values do not divide 3 keys"),
        ((1, 2), (4, 5), (6,), "got 1 decoys for 2 keys"),
    ],
)
def test_a_task_that_cannot_be_balanced_is_refused(keys, values, decoys, message):
    with pytest.raises(ValueError, match=message):
        PairTask(np.arange(100), (KEY, VALUE), keys, values, decoys, margin=0)
