"""Masking of whole words against closed expectations."""

import numpy as np
import pytest

from dna_bigbird.text.whole_words import TextMaskingConfig, mask_words, words

FIRST, SIZE, MASK, SEP = 10, 1010, 4, 3


class Ids:
    """1,000 ordinary pieces; even ones begin a word."""

    cls_id, sep_id, mask_id, first_piece_id, vocab_size = 2, SEP, MASK, FIRST, SIZE
    is_word_start = np.arange(SIZE) % 2 == 0


class NoMarks(Ids):
    is_word_start = np.zeros(SIZE, dtype=bool)


def example(word_lengths, seed=0):
    """Ids of words of these many pieces between [CLS] and [SEP], and what may be masked."""
    rng = np.random.default_rng(seed)
    ids = [2]
    for length in word_lengths:
        ids += [int(rng.integers(5, 505)) * 2]
        ids += (rng.integers(5, 505, length - 1) * 2 + 1).tolist()
    ids = np.array([*ids, SEP])
    return ids, (ids >= FIRST)


def test_words_begin_at_marks_and_behind_special_tokens():
    ids = np.array([2, 11, 12, 13, 14, SEP, 15, 17, 18, SEP])
    found = words(ids, ids >= FIRST, Ids.is_word_start)
    assert found.tolist() == [-1, 0, 1, 1, 2, -1, 3, 3, 4, -1]


def test_without_any_mark_every_piece_is_a_word():
    ids = np.array([2, 11, 13, 15, SEP])
    for starts in (Ids.is_word_start, NoMarks.is_word_start, None):
        assert words(ids, ids >= FIRST, starts).tolist() == [-1, 0, 1, 2, -1]


def test_whole_words_are_chosen_and_as_many_as_said():
    lengths = np.random.default_rng(1).integers(1, 5, size=200)
    ids, maskable = example(lengths)
    number = words(ids, maskable, Ids.is_word_start)
    for seed in range(20):
        rng = np.random.default_rng(seed)
        _, positions, labels = mask_words(ids, maskable, rng, TextMaskingConfig(), Ids, 10_000)
        chosen = np.unique(number[positions])
        assert len(chosen) == 30  # 15 % of 200
        assert sorted(positions.tolist()) == np.flatnonzero(np.isin(number, chosen)).tolist()
        assert labels.tolist() == ids[positions].tolist()


@pytest.mark.parametrize(("count", "expected"), [(1, 1), (3, 1), (10, 2), (20, 3), (50, 8)])
def test_the_number_of_words_is_rounded_and_never_0(count, expected):
    """round(1.5) and round(7.5) go to the even number, as Python's."""
    ids, maskable = example([1] * count)
    rng = np.random.default_rng(0)
    _, positions, _ = mask_words(ids, maskable, rng, TextMaskingConfig(), Ids, 100)
    assert len(positions) == expected


def test_the_budget_is_never_exceeded_and_nearly_used():
    ids, maskable = example([3] * 300)
    number = words(ids, maskable, Ids.is_word_start)
    _, positions, _ = mask_words(
        ids, maskable, np.random.default_rng(0), TextMaskingConfig(), Ids, 100
    )
    assert len(positions) == 99
    assert np.bincount(number[positions]).max() == 3


def test_a_word_longer_than_the_budget_is_cut():
    ids, maskable = example([9])
    _, positions, _ = mask_words(
        ids, maskable, np.random.default_rng(0), TextMaskingConfig(), Ids, 4
    )
    assert positions.tolist() == [1, 2, 3, 4]


def test_every_word_is_as_likely_whatever_its_length():
    """20 words, 3 chosen: each with chance 0.15, within 5 standard errors."""
    ids, maskable = example([1, 4] * 10)
    number = words(ids, maskable, Ids.is_word_start)
    times = np.zeros(20)
    rng = np.random.default_rng(0)
    draws = 4000
    for _ in range(draws):
        _, positions, _ = mask_words(ids, maskable, rng, TextMaskingConfig(), Ids, 1000)
        times[np.unique(number[positions])] += 1
    error = np.sqrt(0.15 * 0.85 / draws)
    assert np.abs(times / draws - 0.15).max() < 5 * error


def test_of_the_pieces_80_percent_are_hidden_10_random_10_kept():
    """A random piece is the true one in 1 of 1,000; draws within one word are independent."""
    ids, maskable = example([2] * 2000)
    rng = np.random.default_rng(0)
    hidden = random = kept = mixed = total = 0
    for _ in range(10):
        seen, positions, labels = mask_words(
            ids, maskable, rng, TextMaskingConfig(), Ids, 1_000_000
        )
        shown = seen[positions]
        assert ((shown == MASK) | (shown >= FIRST)).all()
        untouched = np.delete(np.arange(len(ids)), positions)
        assert (seen[untouched] == ids[untouched]).all()
        hidden += (shown == MASK).sum()
        kept += (shown == labels).sum()
        random += ((shown != MASK) & (shown != labels)).sum()
        pairs = (shown == MASK).reshape(-1, 2)
        mixed += (pairs[:, 0] != pairs[:, 1]).sum()
        total += len(shown)
    for found, share in ((hidden, 0.8), (random, 0.0999), (kept, 0.1001), (2 * mixed, 0.32)):
        assert abs(found / total - share) < 5 * np.sqrt(share / total)


def test_random_replacements_are_uniform_over_ordinary_pieces():
    config = TextMaskingConfig(mask_share=0.0, random_share=1.0, fraction=1.0)
    ids, maskable = example([1] * 50_000)
    seen, _, _ = mask_words(ids, maskable, np.random.default_rng(0), config, Ids, 1_000_000)
    counts = np.bincount(seen[1:-1], minlength=SIZE)
    assert counts[:FIRST].sum() == 0
    assert counts[FIRST:].min() > 0
    squares = ((counts[FIRST:] - 50) ** 2 / 50).sum()  # chi-squared, 999 degrees of freedom
    assert 999 - 5 * np.sqrt(2 * 999) < squares < 999 + 5 * np.sqrt(2 * 999)


def test_pieces_can_be_chosen_instead_of_words():
    ids, maskable = example([4] * 100)
    config = TextMaskingConfig(whole_words=False)
    _, positions, _ = mask_words(ids, maskable, np.random.default_rng(0), config, Ids, 1000)
    assert len(positions) == 60
    number = words(ids, maskable, Ids.is_word_start)
    assert np.unique(number[positions]).size > 40


def test_nothing_to_mask_and_wrong_settings_are_refused():
    with pytest.raises(ValueError, match="no token that could be masked"):
        mask_words(
            np.array([2, 3]),
            np.zeros(2, bool),
            np.random.default_rng(0),
            TextMaskingConfig(),
            Ids,
            5,
        )
    with pytest.raises(ValueError, match=r"--masking\.max_predictions -1"):
        TextMaskingConfig(max_predictions=-1)
