"""Token store of a text corpus, in one HDF5 file.

Layout (D documents, T tokens):
    token_ids         (T,) uint16, documents in the order of the corpus, no special tokens
    document_offsets  (D+1,) int64 into token_ids
    counts            (vocab_size,) int64, how often each entry occurs
Equal inputs give equal bytes. Checksums: core.hdf5.
"""

import hashlib
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from dna_bigbird.core.errors import InputError, note
from dna_bigbird.core.files import sha256_of
from dna_bigbird.core.hdf5 import StoredArrays, StoreFormat, StoreWriter
from dna_bigbird.corpus.text_tokenizer import TextTokenizer
from dna_bigbird.text.data.reading import read_documents

STORE = StoreFormat(
    "dna-bigbird text store",
    "text store",
    again="dna-bigbird text pretrain makes it again",
    make="dna-bigbird text pretrain makes one",
    key="kind",
)
_BUFFER_TOKENS = 1 << 20


def write_text_store(
    path: Path, documents: Iterable[str], tokenizer: TextTokenizer, source_sha256: str
) -> None:
    """Tokenize documents into a new store; documents without a token are left out and counted."""
    if tokenizer.vocab_size > 65536:
        raise InputError(
            f"the vocabulary has {tokenizer.vocab_size} entries; a text store holds 65536"
        )
    num_empty = 0
    with STORE.create(path) as store:
        tokens = _TokenWriter(store, tokenizer.vocab_size)
        for text in documents:
            ids = tokenizer.encode(text)
            if len(ids):
                tokens.add(ids)
            else:
                num_empty += 1
        if len(tokens.offsets) == 1:
            raise InputError(f"{path}: not written, the corpus has no token")
        tokens.finish()
        store.describe(
            {
                "vocab_size": tokenizer.vocab_size,
                "tokenizer_sha256": hashlib.sha256(tokenizer.model_bytes).hexdigest(),
                "source_sha256": source_sha256,
                "num_empty_documents": num_empty,
                "checksum": tokens.digest.hexdigest(),
            }
        )


class _TokenWriter:
    """Writes tokens of documents to a store, about a million at a time, counted and hashed."""

    def __init__(self, store: StoreWriter, vocab_size: int) -> None:
        self.store = store
        self.tokens = store.growing("token_ids", np.uint16, 65536)
        self.counts = np.zeros(vocab_size, dtype=np.int64)
        self.digest = hashlib.sha256()
        self.offsets = [0]
        self._waiting: list[np.ndarray] = []

    def add(self, ids: np.ndarray) -> None:
        self._waiting.append(ids)
        self.offsets.append(self.offsets[-1] + len(ids))
        if self.offsets[-1] - len(self.tokens) >= _BUFFER_TOKENS:
            self._flush()

    def finish(self) -> None:
        """Write the remaining tokens, the offsets and the counts."""
        if self._waiting:
            self._flush()
        offsets = np.array(self.offsets, np.int64)
        self.store.put("document_offsets", offsets, named_last=True)
        self.store.put("counts", self.counts, named_last=True)
        self.digest.update(offsets)

    def _flush(self) -> None:
        values = np.concatenate(self._waiting).astype(np.uint16)
        self.store.append("token_ids", values)
        self.counts += np.bincount(values, minlength=len(self.counts))
        self.digest.update(values)
        self._waiting.clear()


class TextStore:
    """Reads a text store; after pickling or a fork each process opens the file again."""

    # document_offsets: (D+1,), int64. counts: (vocab_size,), int64, how often each entry occurs.

    def __init__(self, path: Path, *, verify: bool = True) -> None:
        self.path = Path(path)
        self._arrays = StoredArrays(self.path, STORE)
        with STORE.open(self.path, verify=verify) as (file, attributes):
            self.document_offsets = file["document_offsets"][:]
            self.counts = file["counts"][:]
            self.tokenizer_sha256 = str(attributes["tokenizer_sha256"])
            self.source_sha256 = str(attributes["source_sha256"])
            self.checksum = str(attributes["checksum"])
            self.num_empty_documents = int(attributes["num_empty_documents"])

    @property
    def num_tokens(self) -> int:
        return int(self.document_offsets[-1])

    @property
    def num_documents(self) -> int:
        return len(self.document_offsets) - 1

    def tokens(self, start: int, end: int) -> np.ndarray:
        """Return the token ids between two offsets, int64."""
        return self._arrays.read("token_ids", start, end).astype(np.int64)


def text_store(
    text: Path, tokenizer: TextTokenizer, path: Path, *, verify: bool = True
) -> TextStore:
    """Return the store of a text file, made now unless `path` holds it undamaged."""
    if not Path(text).is_file():
        raise InputError(f"{text}: no such file; expected a corpus of text")
    checksums = (sha256_of(text), hashlib.sha256(tokenizer.model_bytes).hexdigest())
    if path.is_file():
        try:
            store = TextStore(path, verify=verify)
            if (store.source_sha256, store.tokenizer_sha256) == checksums:
                return store
        except InputError as error:  # damaged, or of an older version
            note(str(error))
    path.parent.mkdir(parents=True, exist_ok=True)
    write_text_store(path, read_documents(text), tokenizer, checksums[0])
    return TextStore(path, verify=False)
