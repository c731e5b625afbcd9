"""Rows of documents and pairs."""

import numpy as np
import pytest

from dna_bigbird.text.tasks.classification import classification_rows, kept_lengths
from tests.text_vocabulary import tiny_text_tokenizer


def popped_one_by_one(first: int, second: int, budget: int) -> tuple[int, int]:
    """How BERT's code cuts a pair."""
    while first + second > budget:
        if first > second:
            first -= 1
        else:
            second -= 1
    return first, second


def test_pairs_are_cut_as_one_piece_at_a_time():
    for budget in range(2, 12):
        for first in range(14):
            for second in range(14):
                expected = popped_one_by_one(first, second, budget)
                assert kept_lengths(first, second, budget) == expected


def rows_of(texts, max_tokens):
    return classification_rows(
        list(texts), texts, [1.0] * len(texts), tiny_text_tokenizer(), max_tokens
    )


def test_a_text_stands_between_cls_and_sep():
    tokenizer = tiny_text_tokenizer()
    made = rows_of([("the river  was\n\tblue",), ("king",)], 16)
    pieces = tokenizer.encode("the river was blue")
    assert made.rows[0].token_ids.tolist() == [tokenizer.cls_id, *pieces, tokenizer.sep_id]
    assert tokenizer.unk_id not in made.rows[0].token_ids
    assert made.rows[0].segment_ids is None
    assert made.counts == {}
    assert [float(row.arrays["target"]) for row in made.rows] == [1, 1]


def test_long_texts_are_cut_at_their_end_and_counted():
    tokenizer = tiny_text_tokenizer()
    text = "the river was blue and the king was old"
    made = rows_of([(text,), ("king",)], 6)
    assert len(made.rows[0].token_ids) == 6
    assert made.rows[0].token_ids[1:-1].tolist() == tokenizer.encode(text)[:4].tolist()
    assert made.counts == {"text longer than max_tokens, cut": 1}


def test_a_pair_has_two_segments():
    tokenizer = tiny_text_tokenizer()
    (row,) = rows_of([("the king", "a river was red")], 32).rows
    first, second = tokenizer.encode("the king"), tokenizer.encode("a river was red")
    sep = tokenizer.sep_id
    assert row.token_ids.tolist() == [tokenizer.cls_id, *first, sep, *second, sep]
    assert row.segment_ids.tolist() == [0] * (len(first) + 2) + [1] * (len(second) + 1)


def test_unknown_targets_are_nan():
    made = classification_rows(["x"], [("king",)], [None], tiny_text_tokenizer(), 8)
    assert np.isnan(made.rows[0].arrays["target"])


@pytest.mark.parametrize("max_tokens", [5, 6, 9])
def test_no_row_is_longer_than_asked(max_tokens):
    text = "the river was blue and the king was old"
    made = rows_of([(text,), (text, "a"), ("a", text), (text, text)], max_tokens)
    assert [len(row.token_ids) for row in made.rows] == [max_tokens] * 4
    assert made.counts == {"text longer than max_tokens, cut": 4}
