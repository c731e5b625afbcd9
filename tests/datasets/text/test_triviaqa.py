"""TriviaQA's files, its noisy spans, and bad input."""

import json
import tarfile

import numpy as np
import pytest

from dna_bigbird.core.errors import InputError
from dna_bigbird.text.data.triviaqa import TriviaQaOptions, alias_spans, first_words, triviaqa_rows
from dna_bigbird.text.tasks.triviaqa import normalise_trivia
from tests.text_readers import read_triviaqa
from tests.text_vocabulary import tiny_text_tokenizer

SAMPLE = "nlp/triviaqa/triviaqa_rc_sample.tar.gz"


def question(name, *files, verified=None, aliases=("new river",), **answer):
    item = {
        "QuestionId": name,
        "Question": f"Which river is that of {name}?",
        "Answer": {"NormalizedAliases": list(aliases), "Value": aliases[0], **answer},
        "EntityPages": [{"Filename": file, "Title": file.removesuffix(".txt")} for file in files],
    }
    if verified is not None:
        item["QuestionPartOfVerifiedEval"] = verified
        for page in item["EntityPages"]:
            page["DocPartOfVerifiedEval"] = verified
    return item


def made_set(folder, items, texts, *, name="wikipedia-dev.json", **whole):
    """Write the official layout and return the file of questions."""
    pages = folder / "evidence" / "wikipedia"
    pages.mkdir(parents=True)
    for file, text in texts.items():
        (pages / file).write_text(text)
    (folder / "qa").mkdir()
    path = folder / "qa" / name
    path.write_text(json.dumps({"Domain": "Wikipedia", "Data": items, **whole}))
    return path


def rows_of(examples, *, training=False, **options):
    return triviaqa_rows(
        examples,
        tiny_text_tokenizer(),
        TriviaQaOptions(**options),
        normalise_trivia,
        training=training,
    )


def test_the_archive_and_its_unpacked_folder_and_file_are_equal(real_data, tmp_path):
    with tarfile.open(real_data / SAMPLE) as archive:
        archive.extractall(tmp_path)
    options = TriviaQaOptions()
    packed = read_triviaqa(real_data / SAMPLE, "train", options)
    assert packed == read_triviaqa(tmp_path, "train", options)
    file = tmp_path / "triviaqa-rc" / "qa" / "wikipedia-train.json"
    assert packed == read_triviaqa(file, "train", options)
    moved = tmp_path / "questions.json"
    moved.write_bytes(file.read_bytes())
    elsewhere = TriviaQaOptions(evidence=str(tmp_path / "triviaqa-rc" / "evidence"))
    assert packed == read_triviaqa(moved, "train", elsewhere)
    examples, counts = packed
    assert [one.id for one in examples] == ["tc_3", "tc_8", "tc_9", "tc_10"]
    assert [one.name for one in examples[0].documents] == ["England.txt", "Judi_Dench.txt"]
    assert counts == {"documents cut to max_words": 6}


def test_every_span_of_the_real_pages_is_an_exact_match(real_data):
    for domain in ("wikipedia", "web"):
        options = TriviaQaOptions(domain=domain)
        for split in ("train", "validation"):
            examples, _ = read_triviaqa(real_data / SAMPLE, split, options)
            for example in examples:
                for document in example.documents:
                    text = document.text
                    spans = alias_spans(text, example.aliases, normalise_trivia)
                    for start, end in spans:
                        assert normalise_trivia(text[start:end]) in example.aliases
                    # The plain search of the Longformer scripts finds nothing more, but in a word.
                    found = [text.lower().find(alias) for alias in example.aliases]
                    assert spans or all(
                        place < 0 or text[place - 1 : place].isalpha() for place in found
                    )


def test_aliases_match_whole_words_whatever_stands_between():
    text = "The New-River, new\nriver; NEW the RIVER! newriver, a New Riverside, new. river"
    spans = alias_spans(text, ["new river", "river"], normalise_trivia)
    assert [text[start:end] for start, end in spans] == [
        "New-River", "River", "new\nriver", "river", "NEW the RIVER", "RIVER", "new. river", "river",
    ]  # fmt: skip


def test_rows_hold_the_question_then_the_document(tmp_path):
    text = "In the north.\nThe New River\nis old, the new river."
    path = made_set(tmp_path, [question("one", "a.txt")], {"a.txt": text})
    examples, _ = read_triviaqa(path, "validation", TriviaQaOptions())
    (row,) = rows_of(examples).rows
    tokenizer = tiny_text_tokenizer()
    asked = tokenizer.encode(examples[0].question).tolist()
    front = [tokenizer.cls_id, *asked, tokenizer.sep_id]
    assert row.token_ids[: len(front)].tolist() == front
    assert tokenizer.decode(row.token_ids[len(front) :]).split() == text.split()
    assert row.segment_ids.tolist() == [0] * len(front) + [1] * (len(row.token_ids) - len(front))
    offsets, words = row.arrays["offsets"], row.arrays["word"]
    spans = row.arrays["spans"]
    found = [text[offsets[first, 0] : offsets[last, 1]] for first, last in spans]
    assert found == ["New River", "new river"]
    assert words[spans].tolist() == [[4, 5], [9, 10]]
    assert (words[: len(front)] == -1).all()


def test_questions_and_documents_are_cut_and_counted(tmp_path):
    text = "the stone " * 50 + "new river " * 5
    path = made_set(tmp_path, [question("one", "a.txt")], {"a.txt": text})
    examples, _ = read_triviaqa(path, "train", TriviaQaOptions())
    whole = rows_of(examples)
    length = len(whole.rows[0].token_ids)
    assert len(whole.rows[0].arrays["spans"]) == 5
    cut = rows_of(examples, max_tokens=length - 1, max_question_tokens=3, max_spans=2)
    assert cut.counts["questions cut"] == 1
    assert cut.counts["places of answers beyond max_spans"] == 3
    assert len(cut.rows[0].arrays["spans"]) == 2
    # A place that is cut in two is none.
    short = rows_of(examples, max_tokens=length - 1)
    assert short.counts == {"documents cut": 1}
    assert len(short.rows[0].token_ids) == length - 1
    assert len(short.rows[0].arrays["spans"]) == 4


def test_documents_without_the_answer_are_left_out_of_training(tmp_path):
    items = [question("one", "with.txt", "without.txt"), question("two", "without.txt")]
    texts = {"with.txt": "The new river.", "without.txt": "The old stone."}
    examples, _ = read_triviaqa(made_set(tmp_path, items, texts), "train", TriviaQaOptions())
    assert [row.example for row in rows_of(examples).rows] == [0, 0, 1]
    alone = rows_of(examples, training=True)
    assert [row.example for row in alone.rows] == [0]
    assert alone.counts == {
        "documents without the answer": 2,
        "questions without the answer in their documents": 1,
    }
    # Where documents of a question share one sum, those without the answer belong to it.
    together = rows_of(examples, training=True, norm="per_question")
    assert [row.example for row in together.rows] == [0, 0]
    assert together.counts["documents without the answer"] == 1


def test_a_verified_file_keeps_its_verified_questions(tmp_path):
    items = [question("one", "a.txt", verified=True), question("two", "a.txt", verified=False)]
    path = made_set(tmp_path / "verified", items, {"a.txt": "new river"}, VerifiedEval=True)
    examples, counts = read_triviaqa(path, "validation", TriviaQaOptions())
    assert [(one.id, one.is_verified) for one in examples] == [("one", True)]
    assert counts == {"questions not verified": 1}
    path = made_set(tmp_path / "full", items, {"a.txt": "new river"}, VerifiedEval=False)
    examples, _ = read_triviaqa(path, "validation", TriviaQaOptions())
    assert [one.is_verified for one in examples] == [True, False]


def test_a_verified_web_file_keeps_its_verified_pages(tmp_path):
    item = question("one", "a.txt", "b.txt", verified=True)
    item["EntityPages"][0]["DocPartOfVerifiedEval"] = False
    texts = {"a.txt": "new river", "b.txt": "new river"}
    path = made_set(tmp_path, [item], texts, Domain="Web", VerifiedEval=True)
    examples, counts = read_triviaqa(path, "validation", TriviaQaOptions())
    assert [one.id for one in examples] == ["one--b.txt"]
    assert counts == {"pages not verified": 1}


def test_ids_come_once(tmp_path):
    items, texts = [question("one", "a.txt", "a.txt")], {"a.txt": "new river"}
    path = made_set(tmp_path / "web", items, texts, Domain="Web")
    examples, counts = read_triviaqa(path, "train", TriviaQaOptions())
    assert ([one.id for one in examples], counts) == (["one--a.txt"], {"pages named twice": 1})
    path = made_set(tmp_path / "wikipedia", items * 2, texts)
    with pytest.raises(InputError, match=r"wikipedia-dev.json: id 'one' comes 2 times"):
        read_triviaqa(path, "train", TriviaQaOptions())


def test_human_answers_count_in_the_evaluation(tmp_path):
    items = [question("one", "a.txt", HumanAnswers=["The River"])]
    path = made_set(tmp_path, items, {"a.txt": ""})
    (example,), _ = read_triviaqa(path, "validation", TriviaQaOptions())
    assert example.human_answers == ("The River",)
    # An empty document has a row, and no place for an answer.
    (row,) = rows_of([example]).rows
    assert (row.arrays["word"] == -1).all()


def test_without_gold_there_are_no_aliases(tmp_path):
    item = question("one", "a.txt")
    del item["Answer"]
    path = made_set(
        tmp_path, [item], {"a.txt": "new river"}, name="wikipedia-test-without-answers.json"
    )
    assert read_triviaqa(tmp_path, "test", TriviaQaOptions(), gold=False)[0][0].id == "one"
    (example,), _ = read_triviaqa(path, "test", TriviaQaOptions(), gold=False)
    assert example.aliases is None
    assert len(rows_of([example]).rows) == 1
    with pytest.raises(InputError, match=r"answers.json: one: no 'Answer'"):
        read_triviaqa(path, "validation", TriviaQaOptions())


def test_line_ends_count_as_words():
    assert first_words("a b\nc d", 3) == "a b\n"
    assert first_words("a b\nc d", 4) == "a b\nc"
    assert first_words("a b", 9) == "a b"


def test_missing_evidence_is_one_line(tmp_path):
    path = made_set(tmp_path, [question("one", "gone.txt")], {"a.txt": "new river"})
    with pytest.raises(
        InputError, match=r"one: its evidence .*no file 'wikipedia/gone.txt'"
    ) as one:
        read_triviaqa(path, "validation", TriviaQaOptions())
    assert "\n" not in str(one.value)
    lonely = tmp_path / "lonely.json"
    lonely.write_bytes(path.read_bytes())
    with pytest.raises(
        InputError, match=r"no such folder; expected the texts .*--options.evidence"
    ):
        read_triviaqa(lonely, "validation", TriviaQaOptions())
    with pytest.raises(InputError, match=r"no qa/web-dev.json in it; give the file, or"):
        read_triviaqa(tmp_path, "validation", TriviaQaOptions(domain="web"))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ([], "expected an object with 'Data', found a list"),
        ({"Data": []}, "no 'Domain'; expected a text"),
        ({"Domain": "Wikipedia", "Data": [3]}, "item 0: expected an object, found a whole number"),
        ({"Domain": "Wikipedia", "Data": [{}]}, "no 'QuestionId'"),
        ({"Domain": "Wikipedia", "Data": [{"QuestionId": "one"}]}, "one: no 'Question'"),
        (
            {"Domain": "Wikipedia", "Data": [question("one", aliases=("a",)) | {"Answer": {}}]},
            "one: no 'NormalizedAliases'; expected a list",
        ),
    ],
)
def test_bad_questions_are_one_line(tmp_path, content, message):
    path = made_set(tmp_path, [], {})
    path.write_text(json.dumps(content))
    with pytest.raises(InputError, match=message):
        read_triviaqa(path, "validation", TriviaQaOptions())


def test_the_tokens_of_an_answer_are_where_its_text_is(real_data):
    """Of every document read with the small vocabulary."""
    examples, _ = read_triviaqa(real_data / SAMPLE, "train", TriviaQaOptions())
    for row in rows_of(examples).rows:
        example = examples[row.example]
        text = example.documents[int(row.arrays["document"][0])].text
        offsets = row.arrays["offsets"]
        assert (np.diff(row.arrays["word"][row.segment_ids == 1].clip(0)) >= 0).any()
        for first, last in row.arrays["spans"]:
            found = text[offsets[first, 0] : offsets[last, 1]]
            assert normalise_trivia(found) in example.aliases
