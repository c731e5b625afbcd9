"""Token store: documents as token ids with the coordinates of every sentence, in one HDF5 file.

Layout (S sentences, D documents, T tokens; docs/corpus.md has the table):
    token_ids                (T,) uint16, sentences in reading order, no special tokens
    sentence_token_offsets   (S+1,) int64 into token_ids
    sentence_bounds          (S, 2) int64, 0-based half-open on the chromosome, also on '-'
    document_sentence_offsets (D+1,) int64 into the sentences
    document_bounds          (D, 2) int64; document_chrom (D,) uint32; document_strand (D,) int8
Equal inputs give equal bytes, whatever the number of workers.
"""

import functools
import hashlib
import json
import multiprocessing
import multiprocessing.connection
import os
import threading
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import h5py
import numpy as np

from dna_bigbird.corpus.documents import Document
from dna_bigbird.corpus.tokenizer import DnaTokenizer
from dna_bigbird.datasets.hdf5 import new_hdf5
from dna_bigbird.errors import InputError
from dna_bigbird.genome import Genome, Interval

FORMAT_VERSION = 1
DOCUMENTS_PER_BLOCK = 32
"""Documents one worker tokenizes at a time; part of no result, only of the memory used."""
_DATASETS = {  # name: (dtype, columns or 0, rows in a chunk)
    "token_ids": (np.uint16, 0, 65536),
    "sentence_token_offsets": (np.int64, 0, 8192),
    "sentence_bounds": (np.int64, 2, 8192),
    "document_sentence_offsets": (np.int64, 0, 1024),
    "document_bounds": (np.int64, 2, 1024),
    "document_chrom": (np.uint32, 0, 1024),
    "document_strand": (np.int8, 0, 1024),
}


class _Block(NamedTuple):
    """Tokens of some documents: ids, tokens per sentence, sentence bounds, sentences per document."""

    token_ids: np.ndarray
    sentence_tokens: np.ndarray
    sentence_bounds: np.ndarray
    document_sentences: np.ndarray
    places: list[Interval]


def tokenize_documents(
    documents: list[Document], genome: Genome, tokenizer: DnaTokenizer
) -> _Block:
    """Tokenize documents sentence by sentence, so that no token crosses a sentence's end.

    Raises:
        InputError: If a document does not fit the genome.
    """
    texts: list[str] = []
    bounds: list[tuple[int, int]] = []
    for document in documents:
        chrom_bp = genome.lengths[genome.resolve(document.interval.chrom)]
        if document.interval.start < 0 or document.interval.end > chrom_bp:
            raise InputError(
                f"document {document.interval.chrom}:{document.interval.start}-"
                f"{document.interval.end} runs past the chromosome, which has {chrom_bp:,} bases "
                f"in {genome.path.name}. Are the documents from another assembly?"
            )
        texts.extend(document.texts(genome))
        bounds.extend((s.start, s.end) for s in document.sentences())
    encoded = tokenizer.encode_all(texts)
    return _Block(
        np.concatenate(encoded).astype(np.uint16),
        np.array([len(ids) for ids in encoded], dtype=np.int64),
        np.array(bounds, dtype=np.int64).reshape(-1, 2),
        np.array([len(d.sentence_ends) for d in documents], dtype=np.int64),
        [document.interval for document in documents],
    )


def _exit_with_parent() -> None:
    multiprocessing.connection.wait([multiprocessing.parent_process().sentinel])
    os._exit(1)


def _start_worker() -> None:
    threading.Thread(target=_exit_with_parent, daemon=True).start()  # even after SIGKILL


@functools.lru_cache(maxsize=1)
def _worker_inputs(genome_path: Path, model_bytes: bytes) -> tuple[Genome, DnaTokenizer]:
    return Genome(genome_path), DnaTokenizer.from_bytes(model_bytes)


def _work(documents: list[Document], genome_path: Path, model_bytes: bytes) -> _Block:
    # Not as arguments of the process: one that dies at once would leave the parent blocked on
    # a pipe too small for a model.
    return tokenize_documents(documents, *_worker_inputs(genome_path, model_bytes))


def _blocks(
    documents: Iterable[Document], genome: Genome, tokenizer: DnaTokenizer, workers: int
) -> Iterator[_Block]:
    """Yield the tokenized blocks in order, holding at most a few per worker in memory."""
    remaining = iter(documents)
    batches = iter(lambda: list(islice(remaining, DOCUMENTS_PER_BLOCK)), [])
    if workers <= 1:
        for batch in batches:
            yield tokenize_documents(batch, genome, tokenizer)
        return
    pool = ProcessPoolExecutor(
        workers,
        mp_context=multiprocessing.get_context("spawn"),
        initializer=_start_worker,
    )

    def submit(batch: list[Document]) -> Future[_Block]:
        return pool.submit(_work, batch, genome.path, tokenizer.model_bytes)

    with pool:
        try:
            pending = deque(map(submit, islice(batches, 2 * workers)))
            while pending:
                block = pending.popleft().result()
                pending.extend(map(submit, islice(batches, 1)))
                yield block
        except BrokenProcessPool as error:
            raise InputError(
                "a tokenizing process was killed, perhaps for want of memory; try --workers 1"
            ) from error
        finally:
            pool.shutdown(cancel_futures=True)


class _Appender:
    """Appends rows to the datasets of a new file and keeps the checksum of what it wrote."""

    def __init__(self, file: h5py.File) -> None:
        self._file = file
        self._digests = {name: hashlib.sha256() for name in _DATASETS}
        for name, (dtype, columns, rows) in _DATASETS.items():
            tail = (columns,) if columns else ()
            file.create_dataset(
                name, (0, *tail), dtype, maxshape=(None, *tail), chunks=(rows, *tail)
            )

    def append(self, name: str, values: np.ndarray | list) -> None:
        dataset = self._file[name]
        values = np.ascontiguousarray(values, dtype=dataset.dtype)
        dataset.resize(len(dataset) + len(values), axis=0)
        dataset[len(dataset) - len(values) :] = values
        self._digests[name].update(values)

    def checksum(self) -> str:
        return _combine({name: digest.hexdigest() for name, digest in self._digests.items()})


def _combine(digests: dict[str, str]) -> str:
    return hashlib.sha256(json.dumps(digests, sort_keys=True).encode()).hexdigest()


def write_token_store(
    path: Path,
    documents: Iterable[Document],
    genome: Genome,
    tokenizer: DnaTokenizer,
    *,
    workers: int = 1,
    assembly: str = "",
    attributes: dict[str, str] | None = None,
) -> None:
    """Tokenize documents into a new store.

    Args:
        documents: Read once, in order, without holding all of them.
        workers: Processes; 0 and 1 mean this one. Does not change the bytes written.
        assembly: Name of the genome, kept in the file.
        attributes: More attributes, such as checksums of the inputs and the command; neither
            paths nor times, or equal runs would differ.

    Raises:
        InputError: If there is no document, one lies outside the genome, the vocabulary is too
            large, or the disk is full.
    """
    if tokenizer.vocab_size > 65536:
        raise InputError(f"the tokenizer has {tokenizer.vocab_size} entries; a store holds 65536")
    chroms: dict[str, int] = {}
    sentences_done, tokens_done = 0, 0
    with new_hdf5(path) as file:
        out = _Appender(file)
        out.append("sentence_token_offsets", [0])
        out.append("document_sentence_offsets", [0])
        for block in _blocks(documents, genome, tokenizer, workers):
            out.append("token_ids", block.token_ids)
            out.append("sentence_token_offsets", tokens_done + np.cumsum(block.sentence_tokens))
            out.append("sentence_bounds", block.sentence_bounds)
            out.append(
                "document_sentence_offsets", sentences_done + np.cumsum(block.document_sentences)
            )
            out.append("document_bounds", [(p.start, p.end) for p in block.places])
            out.append(
                "document_chrom", [chroms.setdefault(p.chrom, len(chroms)) for p in block.places]
            )
            out.append("document_strand", [-1 if p.strand == "-" else 1 for p in block.places])
            tokens_done += len(block.token_ids)
            sentences_done += len(block.sentence_tokens)
        if not sentences_done:
            raise InputError(f"{path}: not written, there is no document to tokenize")
        file.attrs.update(
            {
                "kind": "dna-bigbird token store",
                "format_version": FORMAT_VERSION,
                "assembly": assembly,
                "chromosomes": json.dumps(list(chroms)),
                "vocab_size": tokenizer.vocab_size,
                "tokenizer_sha256": hashlib.sha256(tokenizer.model_bytes).hexdigest(),
                "checksum": out.checksum(),
                **(attributes or {}),
            }
        )


class TokenStore:
    """Reads a token store. May be pickled and used after a fork: each process opens the file anew.

    Attributes:
        document_sentence_offsets: Shape (D+1,), int64; the sentences of document d are numbers
            `offsets[d]` up to but not including `offsets[d + 1]`.
        vocab_size, assembly, chromosomes, tokenizer_sha256: What the file says of itself.

    Raises:
        InputError: If the file is missing, cut off or no token store of this version.
    """

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        self._open_datasets: dict[str, h5py.Dataset] = {}
        self._pid = -1
        if not self.path.is_file():
            raise InputError(f"{path}: no such token store; make it with: dna-bigbird tokenize")
        try:
            with h5py.File(self.path, "r") as file:
                self.attributes = dict(file.attrs)
                if self.attributes.get("kind") != "dna-bigbird token store":
                    raise InputError(f"{path}: this HDF5 file is no token store")
                if self.attributes["format_version"] != FORMAT_VERSION:
                    raise InputError(
                        f"{path}: format version {self.attributes['format_version']}, this "
                        f"dna-bigbird reads {FORMAT_VERSION}; make it again: dna-bigbird tokenize"
                    )
                self.document_sentence_offsets = file["document_sentence_offsets"][:]
                self._bounds = file["document_bounds"][:]
                self._chrom = file["document_chrom"][:]
                self._strand = file["document_strand"][:]
                self.num_tokens = len(file["token_ids"])
        except (OSError, KeyError) as error:
            raise InputError(f"{path}: cannot read it as a token store: {error}") from error
        self.chromosomes: list[str] = json.loads(self.attributes["chromosomes"])
        self.vocab_size = int(self.attributes["vocab_size"])
        self.assembly = str(self.attributes["assembly"])
        self.tokenizer_sha256 = str(self.attributes["tokenizer_sha256"])

    def __getstate__(self) -> dict:
        return {**self.__dict__, "_open_datasets": {}, "_pid": -1}

    def _dataset(self, name: str) -> h5py.Dataset:
        if self._pid != os.getpid():
            file = h5py.File(self.path, "r")
            self._open_datasets = {key: file[key] for key in _DATASETS}
            self._pid = os.getpid()
        return self._open_datasets[name]

    @property
    def num_documents(self) -> int:
        """Number of documents."""
        return len(self._bounds)

    def num_sentences(self, document: int) -> int:
        """Number of sentences of a document."""
        offsets = self.document_sentence_offsets
        return int(offsets[document + 1] - offsets[document])

    def chromosome_number(self, document: int) -> int:
        """Return which of `chromosomes` a document lies on."""
        return int(self._chrom[document])

    def document_interval(self, document: int) -> Interval:
        """Where a document lies, with the strand it is read from."""
        start, end = self._bounds[document].tolist()
        strand = "-" if self._strand[document] < 0 else "+"
        return Interval(self.chromosomes[self._chrom[document]], start, end, strand)

    def token_offsets(self, document: int) -> np.ndarray:
        """Offsets into the tokens of all documents, shape (sentences + 1,), int64."""
        first, last = self.document_sentence_offsets[document : document + 2].tolist()
        return self._dataset("sentence_token_offsets")[first : last + 1]

    def tokens(self, start: int, end: int) -> np.ndarray:
        """Token ids between two offsets (see `token_offsets`), int64."""
        return self._dataset("token_ids")[start:end].astype(np.int64)

    def document(self, document: int) -> np.ndarray:
        """Token ids of a whole document in reading order, int64."""
        offsets = self.token_offsets(document)
        return self.tokens(int(offsets[0]), int(offsets[-1]))

    def sentence(self, document: int, sentence: int) -> np.ndarray:
        """Token ids of one sentence, int64; sentences count from 0 in reading order."""
        offsets = self.token_offsets(document)
        self._check(document, sentence)
        return self.tokens(int(offsets[sentence]), int(offsets[sentence + 1]))

    def sentence_interval(self, document: int, first: int, last: int | None = None) -> Interval:
        """Where a sentence lies, or sentences `first` up to but not including `last`."""
        last = first + 1 if last is None else last
        self._check(document, first)
        self._check(document, last - 1)
        base = int(self.document_sentence_offsets[document])
        bounds = self._dataset("sentence_bounds")[base + first : base + last]
        place = self.document_interval(document)
        return Interval(place.chrom, int(bounds.min()), int(bounds.max()), place.strand)

    def _check(self, document: int, sentence: int) -> None:
        if not 0 <= sentence < self.num_sentences(document):
            raise IndexError(
                f"document {document} has {self.num_sentences(document)} sentences, not {sentence}"
            )

    def verify(self) -> None:
        """Read everything and compare with the checksum in the file.

        Raises:
            InputError: If the data are not what was written.
        """
        digests = {}
        try:
            for name in _DATASETS:
                dataset, digest = self._dataset(name), hashlib.sha256()
                for start in range(0, len(dataset), 1 << 20):
                    digest.update(np.ascontiguousarray(dataset[start : start + (1 << 20)]))
                digests[name] = digest.hexdigest()
        except OSError as error:
            raise InputError(f"{self.path}: damaged: {error}") from error
        if _combine(digests) != self.attributes["checksum"]:
            raise InputError(
                f"{self.path}: the data do not match their checksum; the file is damaged. "
                "Make it again: dna-bigbird tokenize"
            )
