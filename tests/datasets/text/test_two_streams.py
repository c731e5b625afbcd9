"""Rows of questions for BigBird-ETC: against streams written by hand, as its public code makes them."""

import json
import random

import pytest

from dna_bigbird.models.attention_config import CANDIDATE, FIRST, PARAGRAPH, QUESTION, SENTENCE
from dna_bigbird.text.data.hotpotqa import (
    HotpotQaExample,
    HotpotQaOptions,
    Paragraph,
    hotpotqa_rows,
)
from dna_bigbird.text.data.natural_questions import NaturalQuestionsOptions, natural_questions_rows
from dna_bigbird.text.data.questions import question_and_parts
from dna_bigbird.text.data.triviaqa import (
    EvidenceDocument,
    TriviaQaExample,
    TriviaQaOptions,
    triviaqa_rows,
)
from dna_bigbird.text.data.wikihop import WikiHopExample, WikiHopOptions, wikihop_rows
from dna_bigbird.text.made.pages import nq_item
from tests.text_readers import read_natural_questions
from tests.text_vocabulary import tiny_text_tokenizer

C, Q, P, S, K = FIRST, QUESTION, PARAGRAPH, SENTENCE, CANDIDATE
HOTPOT = HotpotQaExample(
    id="one",
    question="who founded",
    paragraphs=(
        Paragraph("red river", ("the king was born.", " it is old.")),
        Paragraph("harbour", ("the water is good.", " new king founded it.")),
    ),
    answer="new king",
    facts=(("harbour", 1),),
)


def words(row):
    """The text of each part of the long stream, pieces joined."""
    pieces = [tiny_text_tokenizer().pieces[i] for i in row.token_ids]
    parts = row.arrays["parts"]
    return [
        "".join(p for p, part in zip(pieces, parts, strict=True) if part == n)
        .replace("▁", " ")
        .strip()
        for n in sorted(set(parts.tolist()))
    ]


def owned(row, place):
    """The text that belongs to a global token."""
    ids = [row.token_ids[long] for long, owner in row.arrays["links"] if owner == place]
    return "".join(tiny_text_tokenizer().pieces[i] for i in ids).replace("▁", " ").strip()


def hotpot(training=False, **options):
    return hotpotqa_rows(
        [HOTPOT],
        tiny_text_tokenizer(),
        HotpotQaOptions(**options),
        training=training,
        two_streams=True,
    )


def test_hotpotqa():
    (row,) = hotpot().rows
    first, question = "[CLS]", "who founded"
    paragraphs = [
        "red river the king was born. it is old.",
        "harbour the water is good. new king founded it.",
    ]
    assert words(row) == [first, question, *paragraphs]
    pieces = len(tiny_text_tokenizer().encode(question))
    types = row.arrays["global_types"].tolist()
    assert types == [C] + [Q] * pieces + [P, S, S, S] * 2
    assert row.arrays["free_global"].tolist() == [True] + [False] * (len(types) - 1)
    assert row.arrays["global_parts"].tolist() == [0] + [1] * pieces + [2] * 4 + [3] * 4
    texts = [owned(row, place) for place in range(1 + pieces, len(types))]
    assert texts[:4] == [paragraphs[0], "red river", "the king was born.", "it is old."]
    assert texts[4:] == [paragraphs[1], "harbour", "the water is good.", "new king founded it."]
    assert "".join(owned(row, 1 + i) for i in range(pieces)).replace(" ", "") == "whofounded"
    assert owned(row, 0) == first
    assert set(row.segment_ids[:1].tolist()) == {1}
    segments = {
        part: set(row.segment_ids[row.arrays["parts"] == part].tolist()) for part in range(4)
    }
    assert segments == {0: {1}, 1: {3}, 2: {1, 2}, 3: {1, 2}}
    # every global token is a unit: of the second paragraph itself, title and last sentence are labelled
    units = row.arrays["units"]
    assert units[:, 2].tolist() == list(range(len(types)))
    assert units[-4:, :2].tolist() == [[1, -2], [1, -1], [1, 0], [1, 1]]
    labels = [0] * (len(types) - 4) + [1, 1, 0, 1]
    assert row.arrays["labels"].tolist() == labels
    kind, start, end = row.arrays["targets"]
    begin, _ = row.arrays["offsets"][start]
    _, stop = row.arrays["offsets"][end]
    assert (kind, " new king founded it."[begin:stop]) == (0, "new king")


def test_sentences_that_neither_stream_can_hold_are_left_out():
    types = len(hotpot().rows[0].arrays["global_types"])
    made = hotpot(max_global_tokens=types - 1)
    assert made.counts == {"sentences that do not fit": 1}
    assert len(made.rows[0].arrays["global_types"]) == types - 1
    made = hotpot(max_global_tokens=types - 3)
    assert made.counts == {"titles that do not fit": 1, "sentences that do not fit": 2}
    assert words(made.rows[0])[2:] == ["red river the king was born. it is old."]
    assert hotpot(training=True, max_global_tokens=types - 1).rows == []
    length = len(hotpot().rows[0].token_ids)
    assert hotpot(max_tokens=length - 1).counts == {"sentences that do not fit": 1}


def test_wikihop():
    documents = ("The Red River is old. It is a river.", "A lake.")
    example = WikiHopExample("w", "river of", ("river", "red river", "lake"), documents, "lake", ())
    options = WikiHopOptions()
    tokenizer = tiny_text_tokenizer()
    (row,) = wikihop_rows([example], tokenizer, options, training=True, two_streams=True).rows
    assert words(row) == ["river", "red river", "lake", "river of", *documents]
    query = len(tokenizer.encode("river of"))
    types = row.arrays["global_types"].tolist()
    assert types == [K] * 3 + [Q] * query + [P, S, S, P, S]
    assert row.arrays["free_global"].tolist() == [t in (K, Q) for t in types]
    assert row.arrays["candidates"].tolist() == [0, 1, 2]
    assert row.arrays["target"].tolist() == [2]
    # the longer candidate is the later one and has "Red River"; the shorter one its own text and the rest
    assert owned(row, 0) == "river river"
    assert owned(row, 1) == "red riverRed River"  # the space before a capital is a piece of its own
    assert owned(row, 2) == "lake lake"
    last = len(types) - 5
    assert [owned(row, last + i) for i in range(5)] == [
        documents[0], "The Red River is old.", "It is a river.", "A lake.", "A lake.",
    ]  # fmt: skip
    fewer = WikiHopOptions(max_global_tokens=len(types) - 1)
    made = wikihop_rows([example], tokenizer, fewer, training=True, two_streams=True)
    assert made.counts["sentences left out"] == 1
    assert words(made.rows[0])[-2:] == ["The Red River is old.", "A lake."]
    nothing = WikiHopOptions(max_global_tokens=3)
    made = wikihop_rows([example], tokenizer, nothing, training=True, two_streams=True)
    assert made.rows == []


def test_a_natural_questions_window_has_a_global_token_for_each_candidate_in_it(tmp_path):
    path = tmp_path / "pages.jsonl"
    path.write_text(json.dumps(nq_item(random.Random(3), 3, "train")) + "\n")
    examples = read_natural_questions(path, "train")
    options = NaturalQuestionsOptions(max_tokens=64, max_question_tokens=8, stride=32)
    made = natural_questions_rows(
        examples, tiny_text_tokenizer(), options, training=False, two_streams=True
    )
    assert len(made.rows) > 2
    spans = [
        c for c, top in zip(examples[0].candidates, examples[0].is_top_level, strict=True) if top
    ]
    several = 0
    for row in made.rows:
        front = int((row.segment_ids == 0).sum())
        token = row.arrays["token"]
        seen = [
            number
            for t in token
            if t >= 0
            for number, c in enumerate(spans)
            if c.start <= t < c.end
        ]
        order = list(dict.fromkeys(seen))
        several += len(order) > 1
        assert row.arrays["global_types"].tolist() == [C] + [Q] * (front - 1) + [S] * len(order)
        expected = [(i, i) for i in range(front)]
        expected += [(front + i, front + order.index(number)) for i, number in enumerate(seen)]
        assert row.arrays["links"].tolist() == [list(pair) for pair in expected]
        assert not row.arrays["parts"].any()
    assert several


def test_triviaqa_has_a_global_token_for_each_sentence():
    text = "The king is old. The river is new.\nA lake"
    document = EvidenceDocument("d", "title", text)
    example = TriviaQaExample("t", "who is old", (document,), ("king",), (), False)
    tokenizer = tiny_text_tokenizer()
    (row,) = triviaqa_rows(
        [example], tokenizer, TriviaQaOptions(), str.lower, training=True, two_streams=True
    ).rows
    front = int((row.segment_ids == 0).sum())
    assert row.arrays["global_types"].tolist() == [C] + [Q] * (front - 1) + [S] * 3
    assert [owned(row, front + i) for i in range(3)] == [
        "The king is old.",
        "The river is new.",
        "A lake",
    ]
    assert not row.arrays["free_global"].any()


@pytest.mark.parametrize("most", [5, 6, 99])
def test_parts_beyond_the_budget_belong_to_the_last_global_token(most):
    parts = [4, 4, 7, 7, 9, -1]
    arrays = question_and_parts(3, parts, most)
    count = min(most, 6)
    assert arrays["global_types"].tolist() == [C, Q, Q] + [S] * (count - 3)
    owners = dict(arrays["links"].tolist())
    assert [owners.get(i) for i in range(9)] == [0, 1, 2, 3, 3, 4, 4, count - 1, None]
