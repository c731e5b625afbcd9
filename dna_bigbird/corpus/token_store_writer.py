"""Writes a token store: tokenizes documents in parts and joins them (layout: token_store.py)."""

import contextlib
import functools
import hashlib
import itertools
import json
import os
import shutil
import uuid
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import NamedTuple

import numpy as np

from dna_bigbird.core.child_processes import EndingContext, StoppedWorkerError
from dna_bigbird.core.errors import InputError, note
from dna_bigbird.core.hdf5 import StoreWriter
from dna_bigbird.core.limits import allowed_workers
from dna_bigbird.core.locks import kernel_lock
from dna_bigbird.core.parts import array_part, read_array_part
from dna_bigbird.core.writing import readable_write_error
from dna_bigbird.corpus.documents import Document
from dna_bigbird.corpus.token_store import DATASETS, STORE, checksum_of
from dna_bigbird.corpus.tokenizer import DnaTokenizer
from dna_bigbird.genome import Genome

# Tokenized documents in parts: made by many processes, kept on disk until the store is whole.
#
# The parts of `tokens.h5` are in the folder `.tokens.h5.parts` next to it:
#     key          what they are made from and how
#     000017.npz   the arrays of one part, and the key it was made with; another key's are not used
#     .lock        held by the process that writes the store
# The number of documents in a part is fixed, so the parts do not depend on who makes them.

_PART = "{:06d}.npz"
DOCUMENTS_PER_PART = 64
"""About 4 Mbp and 1 MB; part of no result, but of the key."""
WORKER_BYTES = 150_000_000
"""Memory of a process that tokenizes."""
_TEXTS_PER_CALL = 512
"""Sentences encoded at a time: their ids pass through lists of Python, 36 bytes per token."""


class Part(NamedTuple):
    """Some documents as tokens (T tokens, S sentences, D documents)."""

    token_ids: np.ndarray
    """(T,) uint16, in reading order."""
    sentence_tokens: np.ndarray
    """(S,) tokens of each sentence."""
    sentence_bounds: np.ndarray
    """(S, 2) 0-based half-open on the chromosome, also on '-'."""
    document_sentences: np.ndarray
    """(D,) sentences of each document."""
    document_bounds: np.ndarray
    """(D, 2)"""
    document_chrom: np.ndarray
    """(D,) names."""
    document_strand: np.ndarray
    """(D,) 1 or -1."""


def tokenize_documents(documents: list[Document], genome: Genome, tokenizer: DnaTokenizer) -> Part:
    """Tokenize documents sentence by sentence, so that no token crosses a sentence's end."""
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
    ids, counts = [], []
    for start in range(0, len(texts), _TEXTS_PER_CALL):
        some_ids, some_counts = tokenizer.encode_flat(texts[start : start + _TEXTS_PER_CALL])
        ids.append(some_ids.astype(np.uint16))
        counts.append(some_counts)
    intervals = [document.interval for document in documents]
    return Part(
        np.concatenate(ids),
        np.concatenate(counts),
        np.array(bounds, dtype=np.int64).reshape(-1, 2),
        np.array([len(d.sentence_ends) for d in documents], dtype=np.int64),
        np.array([(p.start, p.end) for p in intervals], dtype=np.int64).reshape(-1, 2),
        np.array([p.chrom for p in intervals]),
        np.array([-1 if p.strand == "-" else 1 for p in intervals], dtype=np.int8),
    )


@contextlib.contextmanager
def parts_folder(output: Path, key: str) -> Iterator[Path]:
    """Hold the folder for the parts of a store, with no parts but those of the same key in it."""
    # It is removed when the block succeeds, and also when it fails for bad input or a full disk. It
    # stays if the process is interrupted or a worker was killed, for the next run to go on.
    folder = output.with_name(f".{output.name}.parts")
    busy = f"{output}: another process writes this file now; wait for it or stop it"
    try:
        with kernel_lock(folder / ".lock", busy):
            # Without a key no other run's parts fit, not even those of one without a key.
            _keep_matching(folder, f"{key} {DOCUMENTS_PER_PART}" if key else uuid.uuid4().hex)
            try:
                yield folder
            except (KeyboardInterrupt, SystemExit, StoppedWorkerError):
                raise
            except BaseException:
                shutil.rmtree(folder, ignore_errors=True)
                raise
            shutil.rmtree(folder, ignore_errors=True)
    except OSError as error:
        raise readable_write_error(output, error) from error


def _keep_matching(folder: Path, key: str) -> None:
    noted = folder / "key"
    parts = sorted(folder.glob("*.npz"))
    for partial in folder.glob("*.partial"):
        partial.unlink()
    if noted.is_file() and noted.read_bytes() == key.encode():
        return
    for part in parts:
        part.unlink()
    if parts:
        note(
            f"{folder}: {len(parts)} parts of another run deleted; they were made from another "
            "genome, other documents or another tokenizer"
        )
    noted.write_text(key)


def read_part(path: Path, key: str) -> Part | None:
    """Read a part; None if it is not there, of another key or number, or damaged."""
    arrays = read_array_part(path, f"{path.stem} {key}")
    return None if arrays is None else Part(**arrays)


def iter_parts(
    folder: Path,
    documents: Iterable[Document],
    genome: Genome,
    tokenizer: DnaTokenizer,
    workers: int,
) -> Iterator[Part]:
    """Yield all parts in order, making those that are not in the folder, in `workers` processes."""
    key = (folder / "key").read_text()
    remaining = iter(documents)
    batches = enumerate(iter(lambda: list(itertools.islice(remaining, DOCUMENTS_PER_PART)), []))
    if workers <= 1:
        for number, batch in batches:
            yield _make(folder / _PART.format(number), key, batch, genome, tokenizer)
        return
    workers = allowed_workers(workers, WORKER_BYTES)
    with ProcessPoolExecutor(workers, mp_context=EndingContext()) as pool:

        def start(number: int, batch: list[Document]) -> Callable[[], Part]:
            path = folder / _PART.format(number)
            finish = functools.partial(_make, path, key, batch, genome, tokenizer)
            if path.exists():
                return finish
            done = pool.submit(_work, path, key, batch, genome.path, tokenizer.model_bytes)

            def wait() -> Part:
                done.result()
                return finish()

            return wait

        try:
            pending = deque(itertools.starmap(start, itertools.islice(batches, 2 * workers)))
            while pending:
                part = pending.popleft()()
                pending.extend(itertools.starmap(start, itertools.islice(batches, 1)))
                yield part
        except BrokenProcessPool as error:
            raise StoppedWorkerError(
                "a tokenizing process was killed, perhaps because memory ran out; what is done is "
                "kept for the same command. Try --workers 1"
            ) from error
        finally:
            pool.shutdown(cancel_futures=True)


def _make(
    path: Path, key: str, documents: list[Document], genome: Genome, tokenizer: DnaTokenizer
) -> Part:
    """Return a part, read if it is there and whole."""
    part = read_part(path, key)
    if part is None:
        part = tokenize_documents(documents, genome, tokenizer)
        # A worker whose parent was killed may live a moment longer, next to those of the next run.
        partial = path.with_name(f"{path.stem}.{os.getpid()}.partial")
        partial.write_bytes(array_part(f"{path.stem} {key}", part._asdict()))
        partial.replace(path)
    return part


@functools.lru_cache(maxsize=1)
def _worker_inputs(genome_path: Path, model_bytes: bytes) -> tuple[Genome, DnaTokenizer]:
    return Genome(genome_path), DnaTokenizer.from_bytes(model_bytes)


def _work(
    path: Path, key: str, documents: list[Document], genome_path: Path, model_bytes: bytes
) -> None:
    # Not as arguments of the process: one that dies at once would leave the parent blocked on
    # a pipe too small for a model.
    _make(path, key, documents, *_worker_inputs(genome_path, model_bytes))


class Appender:
    """Appends parts to the datasets of a new store."""

    def __init__(self, store: StoreWriter) -> None:
        self.append = store.append
        for name, (dtype, columns, rows) in DATASETS.items():
            store.growing(name, dtype, rows, *([columns] if columns else []))
        self.chroms: dict[str, int] = {}
        self.sentences_done = self.tokens_done = 0
        self.append("sentence_token_offsets", [0])
        self.append("document_sentence_offsets", [0])

    def append_part(self, part: Part) -> None:
        """Append the documents of a part; chromosomes are numbered as they first come."""
        self.append("token_ids", part.token_ids)
        self.append("sentence_token_offsets", self.tokens_done + np.cumsum(part.sentence_tokens))
        self.append("sentence_bounds", part.sentence_bounds)
        sentence_offsets = self.sentences_done + np.cumsum(part.document_sentences)
        self.append("document_sentence_offsets", sentence_offsets)
        self.append("document_bounds", part.document_bounds)
        chroms = part.document_chrom.tolist()
        numbers = [self.chroms.setdefault(chrom, len(self.chroms)) for chrom in chroms]
        self.append("document_chrom", numbers)
        self.append("document_strand", part.document_strand)
        self.tokens_done += len(part.token_ids)
        self.sentences_done += len(part.sentence_tokens)


def write_token_store(
    path: Path,
    documents: Iterable[Document],
    genome: Genome,
    tokenizer: DnaTokenizer,
    *,
    workers: int = 1,
    assembly: str = "",
    attributes: dict[str, str] | None = None,
    restart_key: str = "",
) -> None:
    """Tokenize documents, read once, into a new store; attributes have neither paths nor times."""
    # They are tokenized in parts in the hidden folder `.NAME.parts`; after a kill the same call
    # goes on with the parts of the same `restart_key`. The bytes written depend neither on that nor
    # on the number of workers.
    if tokenizer.vocab_size > 65536:
        raise InputError(f"the tokenizer has {tokenizer.vocab_size} entries; a store holds 65536")
    tokenizer_sha256 = hashlib.sha256(tokenizer.model_bytes).hexdigest()
    key = f"{STORE.versions[-1]} {tokenizer_sha256} {restart_key}" if restart_key else ""
    with (
        parts_folder(Path(path), key) as folder,
        STORE.create(path) as store,
        contextlib.closing(iter_parts(folder, documents, genome, tokenizer, workers)) as parts,
    ):
        out = Appender(store)
        for part in parts:
            out.append_part(part)
        if not out.sentences_done:
            raise InputError(f"{path}: not written, there is no document to tokenize")
        store.describe(
            {
                "assembly": assembly,
                "chromosomes": json.dumps(list(out.chroms)),
                "vocab_size": tokenizer.vocab_size,
                "tokenizer_sha256": tokenizer_sha256,
                "checksum": checksum_of(store.digests),
                **(attributes or {}),
            }
        )
