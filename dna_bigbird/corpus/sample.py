"""The bounded sample a tokenizer is learnt from, and the figures that describe the result."""

from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

from dna_bigbird.core.errors import InputError
from dna_bigbird.corpus.document_file import iter_document_file
from dna_bigbird.corpus.documents import Document
from dna_bigbird.corpus.tokenizer import DnaTokenizer
from dna_bigbird.genome import Genome


def sample_documents(path: Path, sample_bp: int, seed: int) -> list[Document]:
    """Choose documents of a file at random until they hold `sample_bp` base pairs.

    The last one may reach beyond (see `limited_texts`); they come in the file's order. The file is
    read twice, so that only the chosen documents are held.

    Raises:
        InputError: If the file has no document.
    """
    lengths = np.array([d.interval.length for d in iter_document_file(path)], dtype=np.int64)
    if not len(lengths):
        raise InputError(f"{path}: no document in it; make one with: dna-bigbird documents --help")
    order = np.random.default_rng([seed, len(lengths)]).permutation(len(lengths))
    reached = np.searchsorted(np.cumsum(lengths[order]), sample_bp) + 1
    chosen = set(order[:reached].tolist())
    return [d for i, d in enumerate(iter_document_file(path)) if i in chosen]


def limited_texts(
    documents: Iterable[Document], genome: Genome, limit_bp: int
) -> Iterator[list[str]]:
    """Yield the sentences of each document, up to `limit_bp` base pairs in all."""
    left_bp = limit_bp
    for document in documents:
        texts = []
        for text in document.texts(genome):
            texts.append(text[:left_bp])
            left_bp -= len(texts[-1])
            if left_bp <= 0:
                break
        yield texts
        if left_bp <= 0:
            return


def describe(tokenizer: DnaTokenizer, documents: Iterable[list[str]]) -> dict[str, float | int]:
    """Encode the sentences of some documents and return the figures of `metrics.json`.

    `n` counts tokens. A piece is an entry of the vocabulary; `pieces_with_n_share` is the share of
    ordinary ones with an N in them, `tokens_with_n_share` how often those are used.
    """
    counts = np.zeros(tokenizer.vocab_size, dtype=np.int64)
    n_documents, n_sentences, sample_bp = 0, 0, 0
    for sentences in documents:
        n_documents += 1
        n_sentences += len(sentences)
        sample_bp += sum(map(len, sentences))
        ids = np.concatenate(tokenizer.encode_all(sentences))
        counts += np.bincount(ids, minlength=tokenizer.vocab_size)
    first = tokenizer.first_piece_id
    has_n = np.array(["N" in piece for piece in tokenizer.pieces])
    has_n[:first] = False  # [MASK] and similar tokens are not bases
    n = int(counts.sum())
    return {
        "bp_per_token": round(sample_bp / n, 6),
        "vocab_size": tokenizer.vocab_size,
        "sample_bp": sample_bp,
        "mean_piece_bp": round(float(tokenizer.piece_bp[first:].mean()), 6),
        "pieces_with_n_share": round(float(has_n[first:].mean()), 6),
        "tokens_with_n_share": round(float(counts[has_n].sum()) / n, 6),
        "unused_pieces_share": round(float((counts[first:] == 0).mean()), 6),
        "unknown_tokens": int(counts[tokenizer.unk_id]),
        "n": n,
        "n_sentences": n_sentences,
        "n_documents": n_documents,
    }
