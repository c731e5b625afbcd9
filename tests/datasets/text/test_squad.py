"""SQuAD's files, windows and targets, and bad input."""

import gzip
import json

import numpy as np
import pytest

from dna_bigbird.core.errors import InputError
from dna_bigbird.text.data.squad import (
    UNKNOWN,
    SquadAnswer,
    SquadExample,
    SquadOptions,
    best_contexts,
    read_squad,
    squad_rows,
    window_starts,
)
from dna_bigbird.text.made.pages import squad
from tests.datasets.text.test_question_mutations import mutated
from tests.text_vocabulary import tiny_text_tokenizer

ITEM = {
    "id": "one",
    "question": "who founded the harbour",
    "is_impossible": False,
    "answers": [{"text": "new king", "answer_start": 2}, {"text": "king", "answer_start": 6}],
}
PARAGRAPH = {"context": "a new king founded the north harbour.\nit is good.", "qas": [ITEM]}


def write(path, *paragraphs, **whole):
    content = {"version": "v2.0", "data": [{"title": "t", "paragraphs": list(paragraphs)}], **whole}
    path.write_text(json.dumps(content))
    return path


def with_item(**changes):
    return PARAGRAPH | {"qas": [ITEM | changes]}


def test_files_folders_and_gzip_are_equal(tmp_path):
    for name, content in squad(0, 24).items():
        (tmp_path / name.split("/")[1]).write_bytes(content)
    for version in ("1.1", "2.0"):
        for split, file in (("train", "train"), ("validation", "dev")):
            path = tmp_path / f"{file}-v{version}.json"
            examples = read_squad(path, split, version=version)
            assert examples == read_squad(tmp_path, split, version=version)
            packed = tmp_path / "packed.json.gz"
            packed.write_bytes(gzip.compress(path.read_bytes()))
            assert examples == read_squad(packed, split, version=version)
            assert any(not example.answers for example in examples) == (version == "2.0")
    with pytest.raises(InputError, match=r"no test-v2\.0\.json in it"):
        read_squad(tmp_path, "test", version="2.0")


def test_an_example_is_what_the_file_has(tmp_path):
    (example,) = read_squad(write(tmp_path / "dev.json", PARAGRAPH), "validation", version="2.0")
    assert example == SquadExample(
        "one",
        ITEM["question"],
        PARAGRAPH["context"],
        (SquadAnswer("new king", 2), SquadAnswer("king", 6)),
    )
    hidden = PARAGRAPH | {"qas": [{"id": "one", "question": "who"}]}
    (example,) = read_squad(write(tmp_path / "x.json", hidden), "test", version="2.0", gold=False)
    assert example.answers is None


@pytest.mark.parametrize(
    ("paragraph", "version", "message"),
    [
        (
            with_item(answers=[]),
            "1.1",
            r"question 0 \(one\): no answer; only questions of SQuAD 2.0",
        ),
        (with_item(answers=[]), "2.0", "'is_impossible' is false, but 'answers' has 0"),
        (with_item(is_impossible=True), "2.0", "'is_impossible' is true, but 'answers' has 2"),
        (with_item(is_impossible=1), "2.0", "'is_impossible' is 1, expected true or false"),
        (with_item(answers=[{"text": "x"}]), "1.1", "no 'answer_start'; expected a whole number"),
        (with_item(question=None), "1.1", "'question' is None, expected a text"),
        (PARAGRAPH | {"context": " "}, "1.1", "article 0: paragraph 0: 'context' is empty"),
        (PARAGRAPH | {"qas": [ITEM, ITEM]}, "1.1", "id 'one' comes 2 times"),
    ],
)
def test_a_damaged_file_is_one_line(tmp_path, paragraph, version, message):
    path = write(tmp_path / "dev.json", paragraph)
    with pytest.raises(InputError, match=message) as error:
        read_squad(path, "validation", version=version)
    assert str(error.value).startswith(str(path))
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("content", "message"),
    [("[]", "expected an object with 'data'"), ("{}", "no 'data'"), ('{"data": [1]}', "item 0")],
)
def test_another_layout_is_one_line(tmp_path, content, message):
    path = tmp_path / "dev.json"
    path.write_text(content)
    with pytest.raises(InputError, match=message):
        read_squad(path, "validation", version="1.1")


def test_rows_or_a_message_whatever_is_in_the_file(tmp_path):
    rng = np.random.default_rng(0)
    path, refused = tmp_path / "dev.json", []
    options = SquadOptions(max_tokens=24, max_question_tokens=8, stride=6)
    for number in range(300):
        write(path, mutated(PARAGRAPH, rng))
        try:
            examples = read_squad(path, "train", version="2.0", gold=number % 2 == 0)
        except InputError as error:
            refused.append(str(error))
            continue
        for training in (False, True):
            squad_rows(examples, tiny_text_tokenizer(), options, training=training)
    assert all(line.startswith(f"{path}: article 0") and len(line) < 300 for line in refused)
    assert 30 < len(refused) < 270


def plain_windows(length, room, stride):
    """As the official script of BERT has them, piece by piece."""
    windows, first = [], 0
    while True:
        windows.append(list(range(first, min(first + room, length))))
        if first + room >= length:
            return windows
        first += stride


def plain_best(windows, piece):
    best = None
    for number, window in enumerate(windows):
        if piece in window:
            place = window.index(piece)
            score = min(place, len(window) - 1 - place) + 0.01 * len(window)
            if best is None or score > best[0]:
                best = (score, number)
    return best[1]


@pytest.mark.parametrize("stride", [1, 2, 3, 4, 5])
def test_windows_and_best_contexts_are_those_of_a_plain_search(stride):
    for length in range(1, 30):
        windows = plain_windows(length, 5, stride)
        assert window_starts(length, 5, stride) == [window[0] for window in windows]
        expected = [plain_best(windows, piece) for piece in range(length)]
        assert best_contexts(length, 5, stride).tolist() == expected


@pytest.mark.parametrize("max_tokens", [24, 512])
def test_targets_are_the_first_answer_in_every_window_that_shows_it(max_tokens):
    """A tokenizer of words: tokens are read off the row again."""
    tokenizer = tiny_text_tokenizer()
    text = " ".join(
        ["the river is old."] * 6 + ["a new king founded it."] + ["the sea is red."] * 6
    )
    start = text.index("new king")
    example = SquadExample("one", "who founded it", text, (SquadAnswer("new king", start),))
    options = SquadOptions(max_tokens=max_tokens, max_question_tokens=8, stride=4)
    made = squad_rows([example], tokenizer, options, training=True)
    assert (len(made.rows) > 5) == (max_tokens == 24)
    shown, seen = 0, []
    for row in made.rows:
        question_end = row.token_ids.tolist().index(tokenizer.sep_id)
        assert len(row.token_ids) <= max_tokens
        assert row.token_ids[-1] == tokenizer.sep_id
        assert set(np.flatnonzero(row.segment_ids == 0)) == set(range(question_end + 1))
        pieces = [text[a:b] for a, b in row.arrays["offsets"]]
        assert not any(pieces[: question_end + 1])
        first, last = row.arrays["targets"]
        whole = text[slice(*row.arrays["offsets"][[question_end + 1, -2], [0, 1]])]
        if first:
            shown += 1
            a, b = row.arrays["offsets"][[first, last], [0, 1]]
            assert text[a:b] == "new king"
        else:
            assert "new king" not in whole
        seen += [tuple(x) for x in row.arrays["offsets"][row.arrays["is_best_context"]]]
    assert shown >= 1
    assert len(seen) == len(set(seen)), "every piece has one best window"
    assert " ".join(text[a:b] for a, b in sorted(seen)).replace(" ", "") == text.replace(" ", "")


def test_answers_that_are_not_where_the_file_says_are_counted():
    answer = SquadAnswer("new king", 3)
    example = SquadExample("one", "who", "a new king", (answer,))
    options, tokenizer = SquadOptions(), tiny_text_tokenizer()
    counts = {"answers that are not where the file says": 1}
    dropped = squad_rows([example], tokenizer, options, training=True)
    assert (dropped.rows, dropped.counts) == ([], counts)
    kept = squad_rows([example], tokenizer, options, training=False)
    assert (kept.rows[0].arrays["targets"] == UNKNOWN).all()


def test_a_question_without_an_answer_points_to_the_first_token():
    example = SquadExample("one", "who", "a new king", ())
    (row,) = squad_rows([example], tiny_text_tokenizer(), SquadOptions(), training=True).rows
    assert row.arrays["targets"].tolist() == [0, 0]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"set": "squad3"}, "--options.set='squad3'"),
        ({"stride": 446}, "stride 446 passes over tokens: a window holds 445"),
        ({"max_tokens": 67}, "max_tokens 67"),
        ({"no_answer_threshold": 1.5}, "no_answer_threshold 1.5"),
        ({"top_spans": 0}, "top_spans 0"),
    ],
)
def test_wrong_options_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        SquadOptions(**options)
