"""`dna-bigbird train-tokenizer`."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dna_bigbird.core.choices import checked
from dna_bigbird.core.dataframes import DataFrame, dataframe
from dna_bigbird.core.errors import InputError
from dna_bigbird.core.paths import InputPath, JsonOutput, SentencePieceOutput
from dna_bigbird.core.progress import progress_bar
from dna_bigbird.core.results import Rows
from dna_bigbird.core.shared_options import DocumentGenome
from dna_bigbird.corpus.document_file import iter_document_file
from dna_bigbird.corpus.documents import Document
from dna_bigbird.corpus.tokenizer import DnaTokenizer, TokenizerConfig
from dna_bigbird.genome import Genome


def sample_documents(path: Path, sample_bp: int, seed: int) -> list[Document]:
    """Choose documents of a file at random until they hold `sample_bp`; in the file's order."""
    # The file is read twice, so that only the chosen documents are held.
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
    """Encode the sentences of some documents and return the figures of `metrics.json`."""
    # `pieces_with_n_share` is the share of ordinary entries with an N in them,
    # `tokens_with_n_share` how often those are used.
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


@dataclass(frozen=True)
class TrainedTokenizer(Rows):
    """A vocabulary and what describes it."""

    output: Path
    metrics_file: Path
    metrics: dict
    """Base pairs per token and other figures, measured on the sample."""

    def to_dataframe(self) -> DataFrame:
        """Return the figures of the vocabulary: name, value."""
        return dataframe({"name": list(self.metrics), "value": list(self.metrics.values())})


@checked()
def train_tokenizer(
    genome: DocumentGenome,
    documents: InputPath,
    output: SentencePieceOutput,
    metrics: JsonOutput,
    seed: int = 0,
    tokenizer: TokenizerConfig = TokenizerConfig(),  # noqa: B008
) -> TrainedTokenizer:
    """Learn a vocabulary of DNA words (byte-pair encoding, BPE) from documents, or write one of bases.

    Examples:
        dna-bigbird train-tokenizer --genome hg19.fa --documents train.bed.gz --output dna_bpe.model \\
            --metrics dna_bpe.json
        dna-bigbird train-tokenizer --genome hg19.fa --documents train.bed.gz --output bases.model \\
            --metrics bases.json --tokenizer.algorithm bases

    Args:
        documents: Documents: the BED12 file of `dna-bigbird documents` for training.
        output: Result to write: a SentencePiece model.
        metrics: JSON file to write: base pairs per token and other figures of the vocabulary,
            measured on the sample that it was learned from.
        seed: Seed of the random numbers: of the sample.
        tokenizer: Algorithm, size of the vocabulary and of the sample.
    """
    import json

    from dna_bigbird.core.writing import atomic_path
    from dna_bigbird.corpus import tokenizer as bpe
    from dna_bigbird.corpus.document_file import check_documents

    reference = Genome(genome)
    check_documents(documents, reference)
    chosen = sample_documents(documents, tokenizer.sample_bp, seed)
    shown = progress_bar(chosen, desc="learn", unit="doc")
    texts = limited_texts(shown, reference, tokenizer.sample_bp)
    model = bpe.train_tokenizer((text for sentences in texts for text in sentences), tokenizer)
    trained = bpe.DnaTokenizer.from_bytes(model)
    shown = progress_bar(chosen, desc="measure", unit="doc")
    texts = limited_texts(shown, reference, tokenizer.sample_bp)
    figures = describe(trained, texts) | {"seed": seed, "split": "train"}
    with atomic_path(output) as path, atomic_path(metrics) as metrics_path:
        path.write_bytes(model)
        metrics_path.write_text(json.dumps(figures, indent=2, sort_keys=True) + "\n")
    return TrainedTokenizer(output, metrics, figures)
