"""The vocabulary of single bases: one token per base, everywhere where a vocabulary is read."""

import numpy as np
import pytest
import sentencepiece
from hypothesis import given
from hypothesis import strategies as st

from dna_bigbird.corpus.documents import DocumentConfig
from dna_bigbird.corpus.masking import MaskingConfig
from dna_bigbird.corpus.pretraining_examples import PretrainExamples
from dna_bigbird.corpus.token_store import TokenStore
from dna_bigbird.corpus.token_store_writer import write_token_store
from dna_bigbird.corpus.tokenizer import DnaTokenizer, TokenizerConfig, train_tokenizer
from tests.toy_corpus import build_documents

MODEL = train_tokenizer(["GATTACA"], TokenizerConfig(algorithm="bases"))
TOKENIZER = DnaTokenizer.from_bytes(MODEL)


def test_five_letters_after_the_special_entries():
    assert TOKENIZER.pieces == ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"ACGTN"]
    assert TOKENIZER.piece_bp.tolist() == [0] * 5 + [1] * 5
    assert train_tokenizer([], TokenizerConfig(algorithm="bases")) == MODEL, "nothing is learned"


@given(st.text(alphabet="ACGTN", max_size=300))
def test_one_token_per_base(text):
    ids = TOKENIZER.encode(text)
    assert ids.tolist() == [5 + "ACGTN".index(base) for base in text]
    assert TOKENIZER.spans(ids).tolist() == [[i, i + 1] for i in range(len(text))]
    assert TOKENIZER.decode(ids) == text


def test_sentencepiece_reads_the_file():
    plain = sentencepiece.SentencePieceProcessor(model_proto=MODEL)
    assert plain.encode("GATTACAN", out_type=str) == list("GATTACAN")
    long = "GATTACAN" * 20_000  # beyond the 16-bit positions of SentencePiece's trainer
    assert len(TOKENIZER.encode(long)) == len(long)


def test_the_size_is_ten_without_being_asked_for():
    assert TokenizerConfig(algorithm="bases").num_entries == 10
    assert TokenizerConfig(algorithm="bases", vocab_size=10).longest_piece_bp == 1
    assert TokenizerConfig().num_entries == 32000


def test_another_size_is_refused():
    with pytest.raises(ValueError, match=r"vocab_size 512 .* bases, which has 10 .* leave it out"):
        TokenizerConfig(algorithm="bases", vocab_size=512)


@pytest.fixture(scope="module")
def corpus(toy_genome, tmp_path_factory):
    config = DocumentConfig(
        passes=2, min_sentences=4, max_sentences=8, min_sentence_bp=50, max_sentence_bp=100,
        both_strands=True,
    )  # fmt: skip
    documents = build_documents(toy_genome, [], [], config, seed=0)
    path = tmp_path_factory.mktemp("store") / "bases.h5"
    write_token_store(path, documents, toy_genome, TOKENIZER)
    return documents, TokenStore(path)


def test_the_store_has_every_base_at_its_position(corpus, toy_genome):
    documents, store = corpus
    assert store.num_tokens == sum(d.interval.length for d in documents)
    assert {d.interval.strand for d in documents} == {"+", "-"}
    for number, document in enumerate(documents[:20]):
        ids, place = store.document(number), document.interval
        assert TOKENIZER.decode(ids) == toy_genome.fetch(place)
        bounds = store.token_bounds(number, TOKENIZER.piece_bp, 0, store.num_sentences(number))
        starts = np.arange(place.start, place.end)
        starts = starts[::-1] if place.strand == "-" else starts
        assert np.array_equal(bounds, np.stack([starts, starts + 1], axis=1))


def test_true_examples_are_windows_without_a_gap(corpus, toy_genome):
    """Sentences of 50 to 100 bases in 64 tokens: both are cut away from the boundary of A and B."""
    documents, store = corpus
    examples = PretrainExamples(store, TOKENIZER, 64, MaskingConfig(), seed=0)
    for index in range(60):
        pair = examples.pair(index)
        example = examples[index]
        tokens = example["token_ids"].copy()
        tokens[example["positions"]] = example["labels"]
        assert len(tokens) == 64, "full, whatever the sentences are"
        chroms, bounds = examples.predicted_spans(index, TOKENIZER.piece_bp)
        assert (np.diff(bounds, axis=1) == 1).all()
        if pair.is_next:
            continue
        place = documents[pair.a.document].interval
        assert pair.a.end == pair.b.start, "A and B meet"
        text = TOKENIZER.decode(tokens)
        assert len(text) == 61
        assert text in toy_genome.fetch(place)
        read = np.delete(np.arange(64), [0, 1 + pair.a.end - pair.a.start, 63])
        offset = toy_genome.fetch(place).index(text)
        assert toy_genome.fetch(place).count(text) == 1
        at = offset + np.searchsorted(read, example["positions"])
        if place.strand == "-":
            at = place.length - 1 - at
        assert np.array_equal(bounds[:, 0], place.start + at)
        assert {store.chromosomes[i] for i in chroms} == {place.chrom}
