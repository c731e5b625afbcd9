"""The sample of the tokenizer is bounded, random and described truly."""

import numpy as np
import pytest

from dna_bigbird.core.errors import InputError
from dna_bigbird.corpus.document_file import write_documents
from dna_bigbird.corpus.documents import DocumentConfig
from dna_bigbird.corpus.tokenizer import DnaTokenizer, TokenizerConfig, train_tokenizer
from dna_bigbird.corpus.train_tokenizer import describe, limited_texts, sample_documents
from tests.toy_corpus import build_documents

SMALL = DocumentConfig(
    passes=2, min_sentences=3, max_sentences=6, min_sentence_bp=50, max_sentence_bp=100
)


@pytest.fixture(scope="module")
def file(toy_genome, tmp_path_factory):
    path = tmp_path_factory.mktemp("documents") / "d.bed.gz"
    write_documents(path, build_documents(toy_genome, [], [], SMALL, seed=0))
    return path


def test_a_random_sample_of_exactly_the_size(toy_genome, file):
    chosen = sample_documents(file, 20_000, seed=0)
    texts = list(limited_texts(chosen, toy_genome, 20_000))
    assert sum(len(t) for sentences in texts for t in sentences) == 20_000
    assert chosen == sample_documents(file, 20_000, seed=0)
    assert chosen != sample_documents(file, 20_000, seed=1)
    starts = [d.interval.start for d in chosen]
    assert max(starts) > 100_000, "from the whole genome, not its beginning"


def test_a_sample_larger_than_the_corpus_is_the_corpus(toy_genome, file):
    chosen = sample_documents(file, 10**9, seed=0)
    assert chosen == build_documents(toy_genome, [], [], SMALL, seed=0)
    texts = list(limited_texts(chosen, toy_genome, 10**9))
    assert texts == [d.texts(toy_genome) for d in chosen]


def test_figures(toy_genome, file):
    texts = list(limited_texts(sample_documents(file, 30_000, 0), toy_genome, 30_000))
    config = TokenizerConfig(vocab_size=100)
    tokenizer = DnaTokenizer.from_bytes(train_tokenizer([t for s in texts for t in s], config))
    figures = describe(tokenizer, texts)
    encoded = np.concatenate([tokenizer.encode(t) for s in texts for t in s])
    assert figures["n"] == len(encoded)
    assert figures["bp_per_token"] == pytest.approx(30_000 / len(encoded), abs=1e-6)
    assert figures["sample_bp"] == 30_000
    assert figures["vocab_size"] == 100
    assert figures["unknown_tokens"] == 0
    with_n = [p for p in tokenizer.pieces[5:] if "N" in p]
    assert figures["pieces_with_n_share"] == pytest.approx(len(with_n) / 95, abs=1e-6)
    assert figures["n_documents"] == len(texts)


def test_no_documents(tmp_path):
    write_documents(tmp_path / "none.bed.gz", [])
    with pytest.raises(InputError, match="no document in it"):
        sample_documents(tmp_path / "none.bed.gz", 100, 0)
