"""Sentences, and the summaries made of them."""

import json
from collections import Counter

import pytest

from dna_bigbird.corpus.sentences import sentences
from dna_bigbird.text.text_baselines import lead, sum_basic, words


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One. Two! Three? Four", ["One.", "Two!", "Three?", "Four"]),
        ('He said "No." Then he left.', ['He said "No."', "Then he left."]),
        ("Mr. J. Doe paid 3.5 dollars, e.g. to me.", ["Mr. J. Doe paid 3.5 dollars, e.g. to me."]),
        ("the end . see fig . 2 ( left ) .", ["the end .", "see fig .", "2 ( left ) ."]),
        ("At No. 10 in Fig. 3", ["At No. 10 in Fig. 3"]),
        ("at 9 a.m. after all", ["at 9 a.m. after all"]),
        ("a line\n\n  another  ", ["a line", "another"]),
        ("What?! Yes... And so on", ["What?!", "Yes...", "And so on"]),
        ("", []),
    ],
)
def test_sentences(text, expected):
    assert sentences(text) == expected


def test_sentences_keep_every_character_but_white_space(real_data):
    for line in (real_data / "nlp/xsum/xsum_5.jsonl").read_text().splitlines():
        text = json.loads(line)["document"]
        found = sentences(text)
        assert "".join("".join(found).split()) == "".join(text.split())
        assert len(found) >= text.count("\n")


def test_a_long_text_without_ends_takes_no_quadratic_time():
    """Ten million characters in words, and one word of a million; quadratic time would be hours."""
    assert len(sentences("word " * 2_000_000)) == 1
    assert len(sentences("x" * 1_000_000)) == 1


DOCUMENT = "A dog ran. It was brown. The brown dog slept. Birds sang."


def test_lead_by_sentences_and_by_words():
    assert lead(DOCUMENT, num_sentences=2) == "A dog ran.\nIt was brown."
    assert lead(DOCUMENT, num_words=4) == "A dog ran.\nIt was brown."
    assert lead(DOCUMENT, num_words=3) == "A dog ran."
    assert lead(DOCUMENT, num_sentences=9) == DOCUMENT.replace(". ", ".\n")


@pytest.mark.parametrize("function", [lead, sum_basic])
def test_one_length_is_given(function):
    with pytest.raises(ValueError, match="one of the two"):
        function(DOCUMENT)
    with pytest.raises(ValueError, match="one of the two"):
        function(DOCUMENT, num_sentences=1, num_words=3)


def plain_sum_basic(document: str, count: int) -> list[str]:
    """SumBasic in another form: weights held by sentence and looked up anew at every step."""
    left = sentences(document)
    content = Counter(w for w in words(document) if len(w) > 3)
    power = dict.fromkeys(content, 1)

    def weight(word):
        return (content[word] / content.total()) ** power[word]

    def mean(sentence):
        found = [weight(w) for w in words(sentence) if len(w) > 3]
        return sum(found) / len(found) if found else 0

    taken = []
    while left and len(taken) < count:
        pool = {w for s in left for w in words(s) if len(w) > 3}
        if pool:
            top = sorted(pool, key=lambda w: (weight(w), w))[-1]
            candidates = [s for s in left if top in words(s)]
        else:
            candidates = left
        best = sorted(candidates, key=mean, reverse=True)[0]
        taken.append(best)
        left.remove(best)
        for word in {w for w in words(best) if len(w) > 3}:
            power[word] *= 2
    return [s for s in sentences(document) if s in taken]


def test_sum_basic_by_hand():
    """'brown' has weight 2 of 5; 'It was brown.' holds nothing else, so its mean is larger."""
    assert sum_basic(DOCUMENT, num_sentences=1) == "It was brown."
    # brown is now 4/25, below sang, slept and birds with 1/5; 'slept' is the last of these by name.
    assert sum_basic(DOCUMENT, num_sentences=2) == "It was brown.\nThe brown dog slept."


def test_sum_basic_against_another_form(real_data):
    for line in (real_data / "nlp/xsum/xsum_5.jsonl").read_text().splitlines():
        document = json.loads(line)["document"]
        for count in (1, 2, 4):
            assert sum_basic(document, num_sentences=count).split("\n") == plain_sum_basic(
                document, count
            )
