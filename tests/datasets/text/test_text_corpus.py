"""Text corpora: reading, the token store, packed and masked examples."""

import gzip
import hashlib
import json
import pickle

import numpy as np
import pytest

from dna_bigbird.core.errors import InputError
from dna_bigbird.corpus.text_vocabulary import VocabularyConfig, learn_vocabulary
from dna_bigbird.corpus.tokenizer_files import read_text_tokenizer
from dna_bigbird.text.data.reading import read_documents
from dna_bigbird.text.data.store import TextStore, text_store
from dna_bigbird.text.tasks.mlm import MaskedTextExamples
from dna_bigbird.text.whole_words import TextMaskingConfig

WORDS = [
    "sun",
    "moon",
    "river",
    "stone",
    "castle",
    "bridge",
    "winter",
    "garden",
    "yellow",
    "thunder",
]


def sentences(count, seed=0, words=12):
    rng = np.random.default_rng(seed)
    return [" ".join(rng.choice(WORDS, words)) for _ in range(count)]


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory):
    path = tmp_path_factory.mktemp("vocabulary") / "spiece.model"
    path.write_bytes(learn_vocabulary(sentences(50), VocabularyConfig(size=250)))
    return read_text_tokenizer(path)


@pytest.fixture
def corpus(tmp_path):
    """A corpus of 40 documents; one is empty."""
    texts = [" ".join(sentences(1 + i % 9, seed=i)) for i in range(40)]
    texts[7] = "  \t "
    path = tmp_path / "corpus.jsonl"
    path.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    return path, texts


def test_plain_text_has_blank_lines_between_documents(tmp_path):
    path = tmp_path / "corpus.txt"
    path.write_text("\n\nOne  line\nand\tanother.\n\n \nSecond\r\n\r\nThird")
    assert list(read_documents(path)) == ["One line and another.", "Second", "Third"]


def test_json_lines_plain_and_gzip_are_the_same(tmp_path):
    lines = '{"text": "One\\n\\nline"}\n{"text": "", "id": 3}\n\n{"text": "é"}\n'
    (tmp_path / "a.jsonl").write_text(lines)
    (tmp_path / "b.jsonl.gz").write_bytes(gzip.compress(lines.encode()))
    wanted = ["One line", "", "é"]
    assert list(read_documents(tmp_path / "a.jsonl")) == wanted
    assert list(read_documents(tmp_path / "b.jsonl.gz")) == wanted


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        (
            "a.jsonl",
            '{"text": "x"}\n{"abstract": "y"}\n',
            r"a\.jsonl:2: no 'text'; expected a text",
        ),
        ("a.jsonl", '{"text": 3}\n', r"a\.jsonl:1: 'text' is 3, expected a text"),
        ("a.jsonl", "plain words\n", r"a\.jsonl:1: not valid JSON"),
        ("a.txt", "\n \n", r"a\.txt: no document; expected text with blank lines"),
    ],
)
def test_a_wrong_corpus_is_named_in_one_line(tmp_path, name, content, words):
    (tmp_path / name).write_text(content)
    with pytest.raises(InputError, match=words):
        list(read_documents(tmp_path / name))


def test_a_store_holds_the_tokens_of_every_document(corpus, tokenizer, tmp_path):
    path, texts = corpus
    store = text_store(path, tokenizer, tmp_path / "tokens.h5")
    kept = [" ".join(text.split()) for text in texts if text.strip()]
    assert store.num_documents == len(kept) == 39
    assert store.num_empty_documents == 1
    everything = []
    for i, text in enumerate(kept):
        start, end = store.document_offsets[i : i + 2].tolist()
        assert store.tokens(start, end).tolist() == tokenizer.encode(text).tolist()
        everything += tokenizer.encode(text).tolist()
    assert store.counts.tolist() == np.bincount(everything, minlength=250).tolist()
    again = pickle.loads(pickle.dumps(store))
    assert again.tokens(0, 5).tolist() == everything[:5]


def test_equal_text_gives_equal_bytes_and_a_store_is_used_again(corpus, tokenizer, tmp_path):
    path, _ = corpus
    first, second = tmp_path / "1.h5", tmp_path / "2.h5"
    text_store(path, tokenizer, first)
    text_store(path, tokenizer, second)
    assert first.read_bytes() == second.read_bytes()
    made = first.stat().st_mtime_ns
    text_store(path, tokenizer, first)
    assert first.stat().st_mtime_ns == made
    path.write_text('{"text": "another sun"}\n')
    changed = text_store(path, tokenizer, first)
    assert changed.num_documents == 1
    assert changed.source_sha256 == hashlib.sha256(path.read_bytes()).hexdigest()


def test_a_corpus_without_tokens_and_a_missing_one_are_refused(tokenizer, tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text('{"text": " "}\n')
    with pytest.raises(InputError, match="the corpus has no token"):
        text_store(path, tokenizer, tmp_path / "a.h5")
    assert not (tmp_path / "a.h5").exists()
    with pytest.raises(InputError, match="no such file; expected a corpus of text"):
        text_store(tmp_path / "b.jsonl", tokenizer, tmp_path / "b.h5")
    (tmp_path / "c.h5").write_bytes(b"nothing")
    with pytest.raises(InputError, match="not an HDF5 file, or one cut short"):
        TextStore(tmp_path / "c.h5")


@pytest.fixture
def examples(corpus, tokenizer, tmp_path):
    store = text_store(corpus[0], tokenizer, tmp_path / "tokens.h5")
    return MaskedTextExamples(store, tokenizer, 64, TextMaskingConfig(), seed=5)


def unmasked(example):
    ids = example["token_ids"].copy()
    ids[example["positions"]] = example["labels"]
    return ids


def test_an_epoch_holds_every_token_of_the_corpus_once(examples, tokenizer):
    for epoch in (0, 1):
        found = np.zeros(250, dtype=np.int64)
        for i in range(examples.examples_per_epoch):
            ids = unmasked(examples[epoch * examples.examples_per_epoch + i])
            assert len(ids) <= 64
            assert ids[0] == tokenizer.cls_id
            assert ids[-1] == tokenizer.sep_id
            assert (ids[1:] != tokenizer.cls_id).all()
            found += np.bincount(ids, minlength=250)
        found[[tokenizer.cls_id, tokenizer.sep_id]] = 0
        assert found.tolist() == examples.store.counts.tolist()


def test_an_example_depends_on_its_number_alone(examples):
    n = examples.examples_per_epoch
    order = list(range(2 * n))
    first = {i: examples[i] for i in order}
    for i in reversed(order):
        for name, value in examples[i].items():
            assert (value == first[i][name]).all()
    assert [len(first[i]["token_ids"]) for i in range(n)] != [
        len(first[n + i]["token_ids"]) for i in range(n)
    ]


def test_validation_in_order_begins_with_the_first_document(examples, tokenizer):
    in_order = MaskedTextExamples(
        examples.store, tokenizer, 64, TextMaskingConfig(), seed=5, in_order=True
    )
    start, end = in_order.packs.parts(0)[0]
    assert start == 0
    assert unmasked(in_order[0])[1 : end + 1].tolist() == in_order.store.tokens(0, end).tolist()


def test_special_and_unknown_pieces_are_not_predicted(tokenizer, tmp_path):
    path = tmp_path / "a.jsonl"
    text = "sun 日 moon 本 river stone castle " * 6
    path.write_text(json.dumps({"text": text}) + "\n")
    store = text_store(path, tokenizer, tmp_path / "a.h5")
    assert store.counts[tokenizer.unk_id] == 12
    config = TextMaskingConfig(fraction=1.0, max_predictions=1000)
    made = MaskedTextExamples(store, tokenizer, 512, config, seed=0)
    labels = made[0]["labels"]
    assert len(labels) == store.num_tokens - 12
    assert (labels >= tokenizer.first_piece_id).all()
