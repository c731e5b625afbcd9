"""Documents and summaries as ids: round trips, what is cut, published vocabularies."""

import re

import numpy as np
import pytest
import sentencepiece

from dna_bigbird.core.errors import InputError
from dna_bigbird.corpus.text_tokenizer import TextTokenizer
from dna_bigbird.text.data.summarization import (
    SummarizationOptions,
    SummaryExample,
    SummaryText,
    summary_rows,
)
from tests.text_readers import read_summaries
from tests.text_vocabulary import tiny_text_tokenizer


def text_of(tokenizer=None, **options) -> SummaryText:
    return SummaryText(tokenizer or tiny_text_tokenizer(), SummarizationOptions(**options))


def as_published(text: str, newline: str) -> str:
    """The two substitutions of the published script."""
    return re.sub(r" ([<\[]\S+[>\]])", r"\1", text.replace("\n", newline))


@pytest.fixture(scope="session")
def published(real_data):
    """The English vocabulary of BigBird: its newline is an unknown piece."""
    file = real_data / "vocab/bigbird_gpt2_sentencepiece.model"
    return TextTokenizer(file.read_bytes(), "spiece.model")


@pytest.mark.parametrize(
    ("form", "before", "after"),
    [("auto", [3], [4]), ("cls_sep", [3], [4]), ("end", [], [1]), ("plain", [], [])],
)
def test_what_stands_around_a_document(form, before, after):
    tokenizer = tiny_text_tokenizer()
    ids, is_cut = text_of(source_form=form).source_ids("the river")
    assert ids.tolist() == [*before, *tokenizer.encode("the river"), *after]
    assert ids.dtype == np.int32
    assert not is_cut


def test_cutting_keeps_the_special_ids_of_the_document():
    tokenizer = tiny_text_tokenizer()
    pieces = tokenizer.encode("the river and the king of the mountain").tolist()
    text = text_of(max_source_tokens=6, max_target_tokens=4)
    ids, is_cut = text.source_ids("the river and the king of the mountain")
    assert ids.tolist() == [3, *pieces[:4], 4]
    assert is_cut
    ids, is_cut = text.target_ids("the river and the king of the mountain")
    assert ids.tolist() == pieces[:4]  # as in the published script: no end where it was cut
    assert is_cut
    ids, is_cut = text.target_ids("the king is")
    assert ids.tolist() == [*tokenizer.encode("the king is"), 1]
    assert not is_cut


def test_line_ends():
    """A vocabulary without any: a space in the document, '<n>' in the summary."""
    tokenizer, text = tiny_text_tokenizer(), text_of()
    ids, _ = text.source_ids("the king\nthe queen")
    assert tokenizer.decode(ids) == "the king the queen"
    ids, _ = text.target_ids("the king\nthe queen")
    assert tokenizer.decode(ids) == "the king<n>the queen"
    ids, _ = text_of(newline="<n>").source_ids("the king\nthe queen")
    assert tokenizer.decode(ids) == "the king<n>the queen"


def test_space_before_markers_as_the_published_pattern():
    """google-research/bigbird: ' ([<\\[]\\S+[>\\]])' becomes '\\1' before, and gets its space back after."""
    tokenizer, text = tiny_text_tokenizer(), text_of()
    summary = "as shown [1] by <war> and [2]"
    ids, _ = text.target_ids(summary)
    assert tokenizer.decode(ids) == "as shown[1] by<war> and[2]"
    assert text.summary(ids) == summary


@pytest.mark.parametrize("options", [{}, {"newline": "<n>"}, {"newline": "space"}])
def test_summaries_come_back(options):
    text = text_of(**options)
    for summary in ("the river\nthe king of [2]\nand a <town>", "a", "yes, 3.5 % (or so)!\nno"):
        assert text.summary(text.target_ids(summary)[0]) == summary


class Lossy:
    """A vocabulary without '<' and line ends."""

    bos_id, eos_id, cls_id, sep_id, pieces = 2, 1, 3, 4, ()

    def encode(self, text):
        return np.array([ord(letter) for letter in text if letter not in "<\n"])

    def decode(self, ids):
        return "".join(map(chr, ids))


@pytest.mark.parametrize("newline", ["auto", "space", "<n>"])
def test_a_vocabulary_that_loses_line_ends_is_refused_where_there_are_some(newline):
    text = text_of(Lossy(), newline=newline)
    assert text.summary(text.target_ids("one line")[0]) == "one line"
    with pytest.raises(InputError, match="the vocabulary cannot write '<n>'"):
        text.target_ids("two\nlines")
    text = text_of(Lossy(), newline="keep")
    assert text.summary(text.target_ids("two\nlines")[0]) == "twolines"


def test_only_what_stands_before_the_end_is_read():
    text = text_of()
    ids, _ = text.target_ids("the king")
    assert text.summary(np.concatenate([ids, ids, [0, 0]])) == "the king"
    assert text.summary(ids[:-1]) == "the king"
    assert text.summary(np.array([1, 5, 5])) == ""


def test_real_summaries_with_the_published_vocabulary(real_data, published):
    """Equal to the official library's own encoding, cut by hand; back again word for word."""
    path = real_data / "nlp/cnn_dailymail/cnn_stories_14.tar.gz"
    examples, _ = read_summaries("cnn-dailymail", path, "train")
    text = text_of(published, max_source_tokens=512, max_target_tokens=40)
    assert (text.start_id, text.end_id, text.newline) == (2, 1, "space")
    rows = summary_rows(examples, text)
    library = sentencepiece.SentencePieceProcessor(model_proto=published.model_bytes)
    long_ones, num_cut = 0, 0
    for example, row in zip(examples, rows.rows, strict=True):
        pieces = library.encode(as_published(example.document, " "))
        long_ones += len(pieces) > 510
        assert row.token_ids.tolist() == [65, *pieces[:510], 66]
        assert row.segment_ids is None
        target = row.arrays["target_ids"]
        num_cut += int(target[-1] != 1)
        whole, _ = text_of(published).target_ids(example.summary)
        assert target.tolist() == whole[:40].tolist()
        back = text_of(published).summary(whole)
        if 100 not in whole:  # the vocabulary lacks some quotation marks
            assert back == example.summary
    assert num_cut > 0
    assert rows.counts == {
        "documents cut to 512 tokens": long_ones,
        "summaries cut to 40 tokens": num_cut,
    }


def test_real_summaries_with_the_vocabulary_of_pegasus(real_data):
    """It has a piece for the line end: every summary comes back, and the ids are its library's."""
    content = (real_data / "vocab/bigbird_pegasus_sentencepiece.model").read_bytes()
    text = text_of(TextTokenizer(content, "spiece.model"))
    library = sentencepiece.SentencePieceProcessor(model_proto=content)
    path = real_data / "nlp/cnn_dailymail/cnn_stories_14.tar.gz"
    for example in read_summaries("cnn-dailymail", path, "train")[0]:
        ids, _ = text.target_ids(example.summary)
        assert ids.tolist() == [*library.encode(as_published(example.summary, "<n>")), 1]
        assert text.summary(ids) == example.summary
        lines = example.summary.count("\n")
        assert ids.tolist().count(library.piece_to_id("<n>")) == lines
        ids, _ = text.source_ids(example.document)
        assert ids.tolist() == [*library.encode(as_published(example.document, "<n>"))[:3071], 1]


def test_examples_without_reference():
    examples = [SummaryExample("a", "the king", None), SummaryExample("b", "the queen", "a king")]
    rows = summary_rows(examples, text_of()).rows
    assert [sorted(row.arrays) for row in rows] == [[], ["target_ids"]]
    assert [row.example for row in rows] == [0, 1]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"set": "cnn"}, "--options.set='cnn'"),
        ({"newline": "\n"}, "--options.newline"),
        ({"source_form": "bert"}, "--options.source_form"),
        ({"length_formula": "x"}, "--options.length_formula"),
        ({"early_stopping": True}, "--options.early_stopping true needs"),
        ({"beam_size": 0}, "--options.beam_size 0"),
        ({"max_target_tokens": 1}, "--options.max_target_tokens 1"),
        ({"min_target_tokens": 256}, "--options.min_target_tokens 256"),
        ({"label_smoothing": 1.0}, "--options.label_smoothing 1.0"),
    ],
)
def test_options_that_make_no_sense(options, message):
    with pytest.raises(ValueError, match=message):
        SummarizationOptions(**options)
