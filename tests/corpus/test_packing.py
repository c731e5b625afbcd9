"""Documents packed to examples: every token once, rules of closing and splitting."""

import numpy as np
import pytest

from dna_bigbird.text.tasks.mlm import pack


def offsets(lengths):
    return np.concatenate(([0], np.cumsum(lengths)))


def packed(lengths, max_tokens):
    """The parts of every example as (document, first, last) within the document."""
    ends = offsets(lengths)
    found = pack(ends, max_tokens)
    return [
        [
            (int(np.searchsorted(ends, start, side="right")) - 1, start, end)
            for start, end in found.parts(i)
        ]
        for i in range(len(found))
    ]


def test_short_documents_share_an_example():
    """1 + 3 + 1 + 2 + 1 = 8 places are full."""
    assert packed([3, 2, 4], 8) == [[(0, 0, 3), (1, 3, 5)], [(2, 5, 9)]]


def test_a_document_that_does_not_fit_is_split_where_the_example_is_less_than_half_full():
    """3 of 10 places are taken: 6 tokens and [SEP] still fit."""
    assert packed([1, 9], 10) == [[(0, 0, 1), (1, 1, 7)], [(1, 7, 10)]]


def test_it_begins_the_next_example_where_this_one_is_half_full():
    """1 + 3 + 1 = 5 of 10."""
    assert packed([3, 7], 10) == [[(0, 0, 3)], [(1, 3, 10)]]


def test_a_long_document_is_cut_to_full_examples_and_its_rest_shares_one():
    assert packed([14, 2], 8) == [[(0, 0, 6)], [(0, 6, 12)], [(0, 12, 14), (1, 14, 16)]]


def test_empty_documents_add_nothing():
    assert packed([0, 2, 0, 0, 2], 8) == [[(1, 0, 2), (4, 2, 4)]]
    assert len(pack([0], 8)) == 0


def test_every_token_comes_exactly_once_and_examples_are_at_least_half_full():
    rng = np.random.default_rng(0)
    for max_tokens in (4, 5, 16, 100):
        for scale in (2, 7, 60, 400):
            lengths = rng.geometric(1 / scale, size=80) - 1
            found = pack(offsets(lengths), max_tokens)
            spans = [part for i in range(len(found)) for part in found.parts(i)]
            assert np.concatenate([np.arange(s, e) for s, e in spans]).tolist() == list(
                range(lengths.sum())
            )
            sizes = [
                1 + sum(end - start + 1 for start, end in found.parts(i)) for i in range(len(found))
            ]
            assert max(sizes) <= max_tokens
            assert all(2 * size >= max_tokens for size in sizes[:-1])
            ends = set(offsets(lengths).tolist())
            for start, end in spans:  # no part crosses a document
                assert not any(start < place < end for place in ends)


def test_too_short_examples_are_refused():
    with pytest.raises(ValueError, match="max_tokens 3 must be at least 4"):
        pack([0, 5], 3)
