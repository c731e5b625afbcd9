"""Writes a token store: tokenizes documents in parts and joins them (layout: token_store.py)."""

import contextlib
import hashlib
import json
from collections.abc import Iterable
from pathlib import Path

import h5py
import numpy as np

from dna_bigbird.core.checked_hdf5 import (
    Digests,
    write_checksums,
)
from dna_bigbird.core.errors import InputError
from dna_bigbird.core.hdf5 import new_hdf5
from dna_bigbird.corpus.documents import Document
from dna_bigbird.corpus.token_parts import Part, iter_parts, parts_folder
from dna_bigbird.corpus.token_store import DATASETS, FORMAT_VERSION, checksum_of
from dna_bigbird.corpus.tokenizer import DnaTokenizer
from dna_bigbird.genome import Genome


class Appender:
    """Appends rows to the datasets of a new file and keeps the checksum of what it wrote."""

    def __init__(self, file: h5py.File) -> None:
        self._file = file
        self.digests = Digests()
        for name, (dtype, columns, rows) in DATASETS.items():
            tail = (columns,) if columns else ()
            file.create_dataset(
                name, (0, *tail), dtype, maxshape=(None, *tail), chunks=(rows, *tail)
            )
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

    def append(self, name: str, values: np.ndarray | list) -> None:
        dataset = self._file[name]
        values = np.ascontiguousarray(values, dtype=dataset.dtype)
        dataset.resize(len(dataset) + len(values), axis=0)
        dataset[len(dataset) - len(values) :] = values
        self.digests.update(name, values)


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
    """Tokenize documents into a new store.

    They are tokenized in parts, each kept in the hidden folder `.NAME.parts` next to the store
    until all of them are joined in it; after a kill the same call goes on with the parts that are
    there. The bytes written depend neither on that nor on the number of workers.

    Args:
        documents: Read once, in order, without holding all of them.
        workers: Processes; 0 and 1 mean this one.
        assembly: Name of the genome, kept in the file.
        attributes: More attributes, such as checksums of the inputs and the command; neither
            paths nor times, or equal runs would differ.
        restart_key: Stands for genome and documents, such as their checksums. Only parts made with
            the same key and tokenizer are used again; without a key none are.

    Raises:
        InputError: If there is no document, one lies outside the genome, the vocabulary is too
            large, another process writes the same store, or the disk is full.
    """
    if tokenizer.vocab_size > 65536:
        raise InputError(f"the tokenizer has {tokenizer.vocab_size} entries; a store holds 65536")
    tokenizer_sha256 = hashlib.sha256(tokenizer.model_bytes).hexdigest()
    key = f"{FORMAT_VERSION} {tokenizer_sha256} {restart_key}" if restart_key else ""
    with (
        parts_folder(Path(path), key) as folder,
        new_hdf5(path) as file,
        contextlib.closing(iter_parts(folder, documents, genome, tokenizer, workers)) as parts,
    ):
        out = Appender(file)
        for part in parts:
            out.append_part(part)
        if not out.sentences_done:
            raise InputError(f"{path}: not written, there is no document to tokenize")
        file.attrs.update(
            {
                "kind": "dna-bigbird token store",
                "format_version": FORMAT_VERSION,
                "assembly": assembly,
                "chromosomes": json.dumps(list(out.chroms)),
                "vocab_size": tokenizer.vocab_size,
                "tokenizer_sha256": tokenizer_sha256,
                "checksum": checksum_of(out.digests.as_json()),
                **(attributes or {}),
            },
        )
        write_checksums(file, out.digests)
