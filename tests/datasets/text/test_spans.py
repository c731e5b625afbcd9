"""Where an answer stands, against a search by loops."""

import numpy as np

from dna_bigbird.text.data.rows import find_text, tokens_of


def by_loops(text, wanted, whole_words):
    def is_word(place):
        return 0 <= place < len(text) and (text[place].isalnum() or text[place] == "_")

    found = []
    for i in range(len(text) - len(wanted) + 1):
        end = i + len(wanted)
        cut = (is_word(i - 1) and is_word(i)) or (is_word(end - 1) and is_word(end))
        if text[i:end] == wanted and not (whole_words and cut):
            found.append((i, end))
    return found


def test_find_text_against_loops():
    rng = np.random.default_rng(0)
    hits = 0
    for _ in range(500):
        text = "".join(rng.choice(list("ab. "), 20))
        wanted = "".join(rng.choice(list("ab."), rng.integers(1, 4)))
        for whole_words in (False, True):
            found = find_text(text, wanted, whole_words=whole_words)
            assert found == by_loops(text, wanted, whole_words)
            hits += len(found)
    assert hits > 500


def test_case_does_not_shift_offsets():
    text = "İstanbul and ISTANBUL"  # lower-casing the first letter makes two of it
    (span,) = find_text(text, "istanbul", ignore_case=True, whole_words=True)[-1:]
    assert text[slice(*span)] == "ISTANBUL"
    assert find_text("anything", "  ") == []


def test_tokens_of_a_span():
    starts, ends = np.array([0, 3, 3, 6]), np.array([3, 3, 5, 9])  # the second is empty
    assert tokens_of(starts, ends, 3, 4) == (2, 2)
    assert tokens_of(starts, ends, 2, 7) == (0, 3)
    assert tokens_of(starts, ends, 5, 6) is None
