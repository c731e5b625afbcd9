"""Which sentences are hidden as a whole."""

from itertools import pairwise

import numpy as np
import pytest

from dna_bigbird.corpus.hidden_sentence_examples import choose_sentences
from dna_bigbird.training.objective_config import CpcConfig


def chosen(lengths, seed=0, size=0, maskable=None, **settings):
    sentences = np.repeat(np.arange(len(lengths)), lengths)
    free = np.ones(len(sentences), dtype=bool) if maskable is None else maskable
    rng = np.random.default_rng(seed)
    return choose_sentences(sentences, free, rng, CpcConfig(**settings), size).tolist()


@pytest.mark.parametrize(("count", "expected"), [(6, 0), (7, 1), (14, 1), (16, 2), (40, 4)])
def test_a_tenth_of_at_least_seven_sentences(count, expected):
    """Ainslie et al. 2020: shorter documents are not used, 10 % of the sentences are hidden."""
    numbers = chosen([3] * count)
    assert len(numbers) == expected
    assert all(a < b for a, b in pairwise(numbers))


def test_every_sentence_is_hidden_equally_often():
    counts = np.zeros(20)
    for seed in range(3000):
        counts[chosen([4] * 20, seed)] += 1
    expected = 3000 * 2 / 20
    assert np.abs(counts - expected).max() < 5 * np.sqrt(expected)


def test_sentences_with_special_tokens_or_of_another_length_stay():
    lengths = [5, 5, 4, 5, 5, 5, 6]
    maskable = np.ones(sum(lengths), dtype=bool)
    maskable[0] = False  # [CLS]
    found = {tuple(chosen(lengths, seed, 5, maskable, sentence_share=0.9)) for seed in range(20)}
    assert found == {(1, 3, 4, 5)}
    assert chosen([5] * 7, size=4) == []


def test_tokens_outside_of_sentences_are_not_counted():
    sentences = np.array([-1, *np.repeat(np.arange(7), 2), -1])
    numbers = choose_sentences(
        sentences, sentences >= 0, np.random.default_rng(0), CpcConfig(sentence_share=0.9)
    )
    assert len(numbers) == 6
    nothing = choose_sentences(
        np.full(5, -1),
        np.ones(5, dtype=bool),
        np.random.default_rng(0),
        CpcConfig(fewest_sentences=1),
    )
    assert nothing.tolist() == []


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"weight": 1.0}, r"--cpc.weight 1.0: expected at least 0 and below 1"),
        ({"sentence_share": -0.1}, r"--cpc.sentence_share -0.1"),
        ({"sentence_share": 0.0}, r"--cpc.sentence_share 0.0"),
        ({"fewest_sentences": 0}, r"--cpc.fewest_sentences 0: expected at least 1"),
    ],
)
def test_settings_out_of_range(settings, message):
    with pytest.raises(ValueError, match=message):
        CpcConfig(**settings)
