"""HotpotQA: reading, rows and targets."""

import json
import re

import numpy as np
import pytest

from dna_bigbird.core.errors import InputError
from dna_bigbird.corpus.text_tokenizer import MARKERS, TextTokenizer
from dna_bigbird.text.data.hotpotqa import (
    TITLE,
    HotpotQaOptions,
    hotpotqa_rows,
    read_hotpotqa,
    unit_text,
)
from tests.text_vocabulary import tiny_text_tokenizer

ITEM = {
    "_id": "one",
    "question": "who founded the harbour",
    "answer": "new king",
    "type": "bridge",
    "level": "hard",
    "context": [
        ["red river", ["a new king was born.", " the river is old."]],
        ["north harbour", ["the water is good.", " it was founded by a new\tking in may."]],
    ],
    "supporting_facts": [["north harbour", 1], ["red river", 1]],
}


def written(tmp_path, *items):
    path = tmp_path / "hotpot.json"
    path.write_text(json.dumps(list(items)), encoding="utf-8")
    return path


def rows_of(tmp_path, item, training=False, **options):
    examples, _ = read_hotpotqa(written(tmp_path, item))
    return hotpotqa_rows(
        examples, tiny_text_tokenizer(), HotpotQaOptions(**options), training=training
    )


def spelled(row):
    """The row with marks as text, pieces joined."""
    tokenizer = tiny_text_tokenizer()
    names = [*tokenizer.pieces, *MARKERS]
    return "".join(names[i] for i in row.token_ids).replace("▁", " ")


def test_a_row_is_question_titles_sentences(tmp_path):
    item = {**ITEM, "answer": "river", "context": ITEM["context"][:1]}
    made = rows_of(tmp_path, item)
    assert spelled(made.rows[0]) == (
        "[CLS][q] who founded the harbour[/q]<t> red river</t>"
        " a new king was born.[s] the river is old.[s]"
    )
    row = made.rows[0]
    marks = row.arrays["units"].tolist()
    assert [(p, s) for p, s, _ in marks] == [(0, TITLE), (0, 0), (0, 1)]
    tokenizer = tiny_text_tokenizer()
    assert [row.token_ids[place] for _, _, place in marks] == [
        tokenizer.marker_id(name) for name in ("<t>", "[s]", "[s]")
    ]
    assert row.arrays["labels"].tolist() == [1, 0, 1]


def answer_of(made):
    row = made.rows[0]
    kind, first, last = row.arrays["targets"].tolist()
    unit = row.arrays["unit_of_token"][first]
    text = unit_text(made.examples[0], row.arrays["units"][unit])
    begin, end = row.arrays["offsets"][first][0], row.arrays["offsets"][last][1]
    return kind, unit, text[begin:end]


def test_the_answer_is_searched_in_supporting_sentences_and_their_titles(tmp_path):
    # "new king" stands first in a sentence that supports nothing; a tab keeps the other one apart
    item = {**ITEM, "answer": "king"}
    assert answer_of(rows_of(tmp_path, item)) == (0, 5, "king")
    assert answer_of(rows_of(tmp_path, {**ITEM, "answer": "river"})) == (0, 0, "river")
    # inside a longer word only where it is nowhere else: harbour is no answer to "our"
    assert answer_of(rows_of(tmp_path, {**ITEM, "answer": "ive"}))[0] == 0
    item = {**ITEM, "answer": "in"}  # part of "king", a word behind it
    assert answer_of(rows_of(tmp_path, item))[2] == "in"
    assert rows_of(tmp_path, item).rows[0].arrays["targets"][1] > 40


@pytest.mark.parametrize(("answer", "kind"), [("yes", 1), ("no", 2)])
def test_yes_and_no_stand_at_the_first_token(tmp_path, answer, kind):
    (row,) = rows_of(tmp_path, {**ITEM, "answer": answer}, training=True).rows
    assert row.arrays["targets"].tolist() == [kind, 0, 0]


def test_untrainable_questions_are_counted(tmp_path):
    absent = {**ITEM, "answer": "green castle"}
    made = rows_of(tmp_path, absent, training=True)
    assert (made.rows, made.counts) == ([], {"answer not in the evidence, not trained on": 1})
    assert len(rows_of(tmp_path, absent).rows) == 1
    lost = {**ITEM, "supporting_facts": [["nowhere", 0], ["red river", 7]]}
    made = rows_of(tmp_path, lost, training=True)
    assert made.counts == {"without a supporting fact in the row, not trained on": 1}
    _, counts = read_hotpotqa(written(tmp_path, lost))
    assert counts == {"supporting facts that name no sentence": 2}


def test_a_sentence_that_does_not_fit_is_skipped_and_a_later_one_is_not(tmp_path):
    long = " ".join(["mountain"] * 60) + "."
    item = {**ITEM, "context": [["red river", ["old.", long, " new."]]]}
    made = rows_of(tmp_path, item, max_tokens=60)
    (row,) = made.rows
    assert spelled(row).endswith("<t> red river</t> old.[s] new.[s]")
    assert row.arrays["units"][:, 1].tolist() == [TITLE, 0, 2]
    assert made.counts == {"sentences that do not fit": 1}
    titles = rows_of(tmp_path, ITEM, max_tokens=24, max_question_tokens=2)
    assert titles.counts["questions cut"] == 1
    assert len(titles.rows[0].token_ids) <= 24
    # the question gives way, too
    assert spelled(rows_of(tmp_path, ITEM, max_tokens=5).rows[0]) == "[CLS][q] who founded[/q]"


def test_real_questions(real_data):
    """Every target is the answer, every token the text it stands for."""
    path = real_data / "nlp" / "hotpotqa" / "hotpot_distractor_60.json.gz"
    vocabulary = real_data / "vocab" / "bigbird_gpt2_sentencepiece.model"
    tokenizer = TextTokenizer(vocabulary.read_bytes(), "spiece.model")
    examples, counts = read_hotpotqa(path)
    assert (len(examples), counts) == (60, {})
    made = hotpotqa_rows(examples, tokenizer, HotpotQaOptions(), training=False)
    trained = hotpotqa_rows(examples, tokenizer, HotpotQaOptions(), training=True)
    assert len(made.rows) == len(trained.rows) == 60
    assert made.counts == trained.counts == {}
    spans = 0
    for row, same in zip(made.rows, trained.rows, strict=True):
        example = examples[row.example]
        assert (row.token_ids == same.token_ids).all()
        units, offsets = row.arrays["units"], row.arrays["offsets"]
        of_token = row.arrays["unit_of_token"]
        # All text between the marks: every character but white space is in exactly one token.
        for number, unit in enumerate(units):
            text = unit_text(example, unit)
            here = offsets[of_token == number]
            assert "".join(text[a:b] for a, b in here) == re.sub(r"\s", "", text)
        supporting = {tuple(units[i, :2]) for i in np.flatnonzero(row.arrays["labels"])}
        facts = {(p, s) for p, s in supporting if s != TITLE}
        assert {(example.paragraphs[p].title, s) for p, s in facts} == set(example.facts)
        assert {p for p, s in supporting if s == TITLE} == {p for p, _ in facts}
        kind, first, last = row.arrays["targets"]
        if kind == 0:
            unit = of_token[first]
            assert row.arrays["labels"][unit] == 1
            text = unit_text(example, units[unit])
            assert text[offsets[first, 0] : offsets[last, 1]].startswith(example.answer[:1])
            assert example.answer in text[offsets[first, 0] : offsets[last, 1]]
            spans += 1
        else:
            assert example.answer == {1: "yes", 2: "no"}[int(kind)]
    assert spans == 56


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"question": None}, r"hotpot.json: item 0 \(one\): 'question' is None, expected a text"),
        ({"context": []}, "'context' is empty; expected at least one paragraph"),
        ({"context": [["title", "text"]]}, r"holds \['title', 'text'\], expected \[title, "),
        ({"supporting_facts": [["title"]]}, r"holds \['title'\], expected \[title, sentence num"),
        ({"supporting_facts": [["title", True]]}, "expected .title, sentence number"),
        ({"answer": 3}, "'answer' is 3, expected a text"),
    ],
)
def test_bad_items_are_named(tmp_path, change, message):
    with pytest.raises(InputError, match=message):
        read_hotpotqa(written(tmp_path, {**ITEM, **change}))


def test_test_files_lack_gold(tmp_path):
    bare = {key: ITEM[key] for key in ("_id", "question", "context")}
    path = written(tmp_path, bare)
    with pytest.raises(InputError, match=r"item 0 \(one\): no 'answer'; expected a text"):
        read_hotpotqa(path)
    (example,), _ = read_hotpotqa(path, gold=False)
    assert (example.answer, example.facts) == (None, None)
    made = hotpotqa_rows([example], tiny_text_tokenizer(), HotpotQaOptions(), training=False)
    assert made.rows[0].arrays["targets"].tolist() == [-1, -1, -1]
    assert (made.rows[0].arrays["labels"] == -1).all()


def test_an_id_may_come_once(tmp_path):
    with pytest.raises(InputError, match="id 'one' comes 2 times; predictions go by it"):
        read_hotpotqa(written(tmp_path, ITEM, ITEM))


def test_other_files_are_refused(tmp_path):
    path = tmp_path / "hotpot.json"
    path.write_text("{}")
    with pytest.raises(InputError, match=r"hotpot.json: expected a JSON list, found an object"):
        read_hotpotqa(path)
