"""A toy corpus: genome, documents, tokenizer and token store."""

from pathlib import Path
from types import SimpleNamespace

import numpy as np

from dna_bigbird.corpus.documents import Document, DocumentConfig, draw_documents, find_stretches
from dna_bigbird.corpus.token_store import TokenStore
from dna_bigbird.corpus.token_store_writer import write_token_store
from dna_bigbird.corpus.tokenizer import DnaTokenizer, TokenizerConfig, train_tokenizer
from dna_bigbird.genome import Genome


def build_documents(genome, regions, exclude, config, seed) -> list[Document]:
    """All documents of some regions."""
    stretches = find_stretches(genome, regions, exclude, config)
    return list(draw_documents(stretches, config, seed))


def make_corpus(folder: Path) -> SimpleNamespace:
    """Documents of both strands on two chromosomes with a gap, lower case and single N."""
    rng = np.random.default_rng(0)
    letters = rng.choice(list("ACGTacgt"), 60_000)
    letters[20_000:20_500] = "N"
    letters[30_000:30_003] = "N"
    (folder / "toy.fa").write_text(
        f">chr1\n{''.join(letters)}\n>chr2\n{''.join(rng.choice(list('ACGT'), 20_000))}\n"
    )
    genome = Genome(folder / "toy.fa")
    config = DocumentConfig(
        passes=3,
        max_start_bp=300,
        min_sentences=6,
        max_sentences=12,
        min_sentence_bp=50,
        max_sentence_bp=100,
        both_strands=True,
    )
    documents = build_documents(genome, [], [], config, seed=0)
    texts = [text for document in documents for text in document.texts(genome)]
    tokenizer = DnaTokenizer.from_bytes(train_tokenizer(texts, TokenizerConfig(vocab_size=300)))
    path = folder / "toy.h5"
    write_token_store(path, documents, genome, tokenizer, assembly="toy")
    return SimpleNamespace(
        genome=genome, documents=documents, tokenizer=tokenizer, store=TokenStore(path), path=path
    )
