"""Pages of Natural Questions: both published forms, windows, targets, bad input."""

import copy
import json
import random

import numpy as np
import pytest

from dna_bigbird.core.errors import InputError
from dna_bigbird.corpus.text_tokenizer import TextTokenizer
from dna_bigbird.text.data.natural_questions import (
    LONG,
    NO,
    NULL,
    SHORT,
    UNKNOWN,
    YES,
    Annotation,
    NaturalQuestionsOptions,
    PageSpan,
    is_tag,
    natural_questions_rows,
    page_pieces,
    window_targets,
)
from dna_bigbird.text.made.pages import nq_item, simplified
from tests.text_readers import read_natural_questions
from tests.text_vocabulary import tiny_text_tokenizer

REAL = "nlp/natural_questions/nq_simplified_train_1.jsonl.gz"
SMALL = NaturalQuestionsOptions(max_tokens=64, max_question_tokens=8, stride=32)


def write(folder, *items, name="pages.jsonl"):
    path = folder / name
    path.write_text("".join(json.dumps(item) + "\n" for item in items))
    return path


def native(number=0):
    item = nq_item(random.Random(number), number, "train")
    # A tag with a space in it, as native files have for cells over several columns.
    item["document_tokens"][0] |= {"token": '<Th colspan="2">', "html_token": True}
    return item


def test_both_forms_of_a_page_give_equal_examples(tmp_path):
    item = native()
    short = simplified(item)
    short["document_text"] = short["document_text"].replace("<Th colspan", "<Th_colspan")
    one, other = (
        read_natural_questions(write(tmp_path, page), "train")[0] for page in (item, short)
    )
    assert one.tokens == other.tokens
    assert one.is_html == other.is_html
    assert one.is_html[0] == 1
    assert other.token_bytes is None
    assert one.token_bytes[1].tolist() == [
        item["document_tokens"][1][key] for key in ("start_byte", "end_byte")
    ]

    def without_bytes(example):
        spans = [*example.candidates, *(one.long for one in example.annotations)]
        spans += [span for one in example.annotations for span in one.short]
        return example.id, example.question, [span[:2] for span in spans], example.is_top_level

    assert without_bytes(one) == without_bytes(other)
    assert one.annotations[0].long.start_byte >= 0


def test_the_real_page(real_data):
    (page,) = read_natural_questions(real_data / REAL, "train")
    assert page.id == -8062182676792486818
    assert len(page.tokens) == 17964
    tags = [token[0] == "<" and token[-1] == ">" and len(token) > 1 for token in page.tokens]
    assert list(page.is_html) == tags
    assert page.tokens[page.candidates[0].start] == "<P>"
    assert (len(page.candidates), sum(page.is_top_level)) == (236, 11)
    assert page.annotations == (Annotation(PageSpan(), (), "none"),)


def test_windows_of_the_real_page_cover_the_top_level_candidates(real_data):
    (page,) = read_natural_questions(real_data / REAL, "train")
    model = real_data / "vocab/bigbird_gpt2_sentencepiece.model"
    tokenizer = TextTokenizer(model.read_bytes(), "spiece.model")
    options = NaturalQuestionsOptions()
    rows = natural_questions_rows([page], tokenizer, options, training=True).rows
    pieces = page_pieces(page, tokenizer)
    wanted = {
        token
        for span, top in zip(page.candidates, page.is_top_level, strict=True)
        if top
        for token in range(span.start, span.end)
    }
    assert set(pieces.token.tolist()) == wanted
    question = tokenizer.encode(page.question)
    room = 4096 - len(question) - 3
    seen = np.zeros(len(pieces.ids), dtype=int)
    for number, row in enumerate(rows):
        assert row.arrays["first"].tolist() == [2048 * number]
        here = pieces.ids[2048 * number : 2048 * number + room]
        seen[2048 * number : 2048 * number + room] += 1
        around = [tokenizer.cls_id, *question, tokenizer.sep_id]
        assert row.token_ids.tolist() == [*around, *here, tokenizer.sep_id]
        assert row.arrays["targets"].tolist() == [0, 0, 0, 0, NULL]
    assert seen.min() >= 1
    assert max(len(row.token_ids) for row in rows) == 4096
    # Every piece of a word stands at that word; a tag is one mark.
    for i in range(0, len(pieces.ids), 97):
        token = page.tokens[pieces.token[i]]
        if is_tag(token):
            name = "<close>" if token.startswith("</") else "<open>"
            assert pieces.ids[i] == tokenizer.marker_id(name)
        elif pieces.ids[i] != tokenizer.unk_id:
            assert tokenizer.pieces[pieces.ids[i]].strip("▁") in token


def spans(*given):
    return tuple(PageSpan(*one) for one in given)


TOKENS = np.array([-1, -1, 10, 11, 11, 12, 13, 14, 20, -1])
"""Token of the page at each place of a window; token 11 has two pieces, 15 to 19 are not read."""


@pytest.mark.parametrize(
    ("annotation", "expected"),
    [
        (Annotation(PageSpan(10, 15), spans((11, 12)), "none"), [3, 4, 2, 7, SHORT]),
        # Several short spans: from the first to the last.
        (Annotation(PageSpan(10, 15), spans((11, 12), (13, 15)), "none"), [3, 7, 2, 7, SHORT]),
        (Annotation(PageSpan(10, 15), (), "none"), [0, 0, 2, 7, LONG]),
        (Annotation(PageSpan(10, 15), (), "yes"), [0, 0, 2, 7, YES]),
        (Annotation(PageSpan(), (), "none"), [0, 0, 0, 0, NULL]),
        # Outside the window: null, but yes and no stay.
        (Annotation(PageSpan(30, 40), spans((31, 32)), "none"), [0, 0, 0, 0, NULL]),
        (Annotation(PageSpan(30, 40), (), "none"), [0, 0, 0, 0, NULL]),
        (Annotation(PageSpan(30, 40), (), "no"), [0, 0, 0, 0, NO]),
        # Half outside: one end is at [CLS].
        (Annotation(PageSpan(20, 40), (), "none"), [0, 0, 8, 0, LONG]),
        # The long span is here, the short one is not.
        (Annotation(PageSpan(10, 40), spans((31, 32)), "none"), [0, 0, 2, 0, NULL]),
    ],
)
def test_targets(annotation, expected):
    assert window_targets(annotation, TOKENS).tolist() == expected


def test_null_windows_are_drawn_by_rate_and_seed(tmp_path):
    pages = read_natural_questions(
        write(tmp_path, *[nq_item(random.Random(i), i, "train") for i in range(40)]), "train"
    )
    tokenizer = tiny_text_tokenizer()

    def made(**options):
        options = NaturalQuestionsOptions(
            max_tokens=64, max_question_tokens=8, stride=32, **options
        )
        return natural_questions_rows(pages, tokenizer, options, training=True)

    def nulls(text_set, unanswerable):
        return sum(
            row.arrays["targets"][4] == NULL
            for row in text_set.rows
            if (pages[row.example].annotations[0].long.start < 0) == unanswerable
        )

    whole, some = made(), made(null_rate=0.1)
    assert whole.counts.get("null windows left out") is None
    lost = len(whole.rows) - len(some.rows)
    assert some.counts["null windows left out"] == lost > 0
    # Pages without any answer keep four times the share.
    assert 0.02 < nulls(some, False) / nulls(whole, False) < 0.25
    assert 0.2 < nulls(some, True) / nulls(whole, True) < 0.6
    again = made(null_rate=0.1)
    assert [row.example for row in again.rows] == [row.example for row in some.rows]
    other = made(null_rate=0.1, null_seed=1)
    assert [row.example for row in other.rows] != [row.example for row in some.rows]


def test_without_gold_targets_are_unknown(tmp_path):
    item = native()
    del item["annotations"]
    (page,) = read_natural_questions(write(tmp_path, item), "test", gold=False)
    assert page.annotations is None
    made = natural_questions_rows([page], tiny_text_tokenizer(), SMALL, training=False)
    assert {tuple(row.arrays["targets"]) for row in made.rows} == {(UNKNOWN,) * 5}


def test_pages_without_a_top_level_candidate_are_counted(tmp_path):
    item = native()
    for one in item["long_answer_candidates"]:
        one["top_level"] = False
    pages = read_natural_questions(write(tmp_path, item, native(1)), "train")
    made = natural_questions_rows(pages, tiny_text_tokenizer(), SMALL, training=True)
    assert made.counts["pages without a top-level candidate"] == 1
    assert {row.example for row in made.rows} == {1}


def test_answers_outside_the_candidates_are_counted(tmp_path):
    item = native()
    outside = {"start_token": 1, "end_token": 2, "start_byte": -1, "end_byte": -1}
    item["annotations"][0] |= {"long_answer": outside, "short_answers": [outside]}
    pages = read_natural_questions(write(tmp_path, item, native(2)), "train")
    made = natural_questions_rows(pages, tiny_text_tokenizer(), SMALL, training=True)
    assert made.counts["pages whose answer no window shows"] == 1
    assert made.counts["questions cut"] == 2


def test_a_folder_has_the_split_in_its_names(tmp_path):
    (tmp_path / "train").mkdir()
    write(tmp_path / "train", native(0), name="nq-train-01.jsonl")
    write(tmp_path / "train", native(1), name="nq-train-00.jsonl")
    write(tmp_path, simplified(native(2)), name="simplified-nq-train.jsonl")
    write(tmp_path, native(3), name="nq-dev-00.jsonl")
    found = [page.id for page in read_natural_questions(tmp_path, "train")]
    assert found == [native(1)["example_id"], native(0)["example_id"]]
    assert len(read_natural_questions(tmp_path, "validation")) == 1
    with pytest.raises(InputError, match=r"no file named nq-test-\*"):
        read_natural_questions(tmp_path, "test", gold=False)


def without(key):
    def change(item):
        del item[key]

    return change


def moved(item):
    item["annotations"][0]["long_answer"] |= {"start_token": 5, "end_token": 10**6}


def misjudged(item):
    item["annotations"][0]["yes_no_answer"] = "MAYBE"


def emptied(item):
    item["annotations"] = []


def shapeless(item):
    item["long_answer_candidates"] = [3]


def placed(value):
    """Put a value where the bytes of a token start."""

    def change(item):
        item["document_tokens"][0]["start_byte"] = value

    return change


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (placed({}), "pages.jsonl:2 .*: 'start_byte' is {}, expected a whole number"),
        (placed("7"), "'start_byte' is '7'"),
        (placed(1.5), "'start_byte' is 1.5"),
        (placed(10**30), "pages.jsonl:2 .*'start_byte' or 'end_byte' beyond"),
        (without("example_id"), "pages.jsonl:2: no 'example_id'"),
        (without("question_text"), "pages.jsonl:2 .*: no 'question_text'"),
        (without("document_tokens"), "pages.jsonl:2 .*: no 'document_text'"),
        (moved, r"long answer: tokens 5 to 1000000, expected a span within the \d+ of the page"),
        (misjudged, "'yes_no_answer' is 'MAYBE', expected YES, NO or NONE"),
        (emptied, "'annotations' is empty; expected at least one"),
        (shapeless, "'long_answer_candidates' 0 is a whole number, expected an object"),
    ],
)
def test_bad_pages_are_one_line(tmp_path, change, message):
    item = copy.deepcopy(native())
    change(item)
    with pytest.raises(InputError, match=message) as caught:
        read_natural_questions(write(tmp_path, native(), item), "train")
    assert "\n" not in str(caught.value)


def test_an_id_that_comes_twice_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"pages.jsonl: id .* comes 2 times"):
        read_natural_questions(write(tmp_path, native(), native()), "train")


def test_a_stride_that_passes_over_tokens_is_refused():
    with pytest.raises(
        ValueError, match=r"--options.stride 100 passes over tokens: a window holds"
    ):
        NaturalQuestionsOptions(max_tokens=64, max_question_tokens=8, stride=100)
