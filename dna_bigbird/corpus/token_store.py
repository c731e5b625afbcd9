"""Token store: documents as token ids with the coordinates of every sentence, in one HDF5 file.

Layout (S sentences, D documents, T tokens; docs/explanation/documents-and-tokens.md has the table):
    token_ids                (T,) uint16, sentences in reading order, no special tokens
    sentence_token_offsets   (S+1,) int64 into token_ids
    sentence_bounds          (S, 2) int64, 0-based half-open on the chromosome, also on '-'
    document_sentence_offsets (D+1,) int64 into the sentences
    document_bounds          (D, 2) int64; document_chrom (D,) uint32; document_strand (D,) int8
Equal inputs give equal bytes for any number of workers. Checksums: core.hdf5;
the attribute `checksum` is the sha256 of `datasets_sha256`, and older stores have only that.
"""

import hashlib
import json
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Protocol

import numpy as np

from dna_bigbird.core.errors import InputError
from dna_bigbird.core.files import sha256_of
from dna_bigbird.core.hdf5 import HEADER, StoredArrays, StoreFormat, dataset_digests
from dna_bigbird.core.progress import progress_bar
from dna_bigbird.core.results import brief, representation
from dna_bigbird.corpus.tokenizer import DnaTokenizer
from dna_bigbird.genome import Genome, Interval
from dna_bigbird.genome.coverage import Spans, merge_spans
from dna_bigbird.genome.fasta_stream import combined_sha256, sequence_sha256

TOKEN_TYPE = np.uint16
"""Of the tokens held while they are counted; vocabularies have at most 65,536 entries."""


class Store(Protocol):
    """What the baselines read of a `TokenStore`."""

    vocab_size: int

    @property
    def num_documents(self) -> int: ...
    def document_interval(self, document: int): ...
    def document(self, document: int) -> np.ndarray: ...


MOST_COUNTED_BP = 50_000_000
"""Bases of a store that a mixture of counts reads at most; they take 1 to 2 GB."""


def covering_documents(store: Store, max_documents: int | None = None) -> list[int]:
    """Choose documents that do not overlap, from each chromosome's start to its end."""
    # The next document is the first one that starts where the last one ended or later; within one
    # pass documents follow each other without holes, so nearly every base is covered once.
    intervals = [store.document_interval(d) for d in range(store.num_documents)]
    order = sorted(range(len(intervals)), key=lambda d: (intervals[d].chrom, intervals[d].start, d))
    chosen: list[int] = []
    for document in order:
        interval = intervals[document]
        last = intervals[chosen[-1]] if chosen else None
        if last is None or last.chrom != interval.chrom or interval.start >= last.end:
            chosen.append(document)
    if max_documents is not None and len(chosen) > max_documents:
        spaced = np.linspace(0, len(chosen) - 1, max_documents).round().astype(int)
        chosen = [chosen[i] for i in spaced]
    return chosen


def documents_within(store: Store, max_documents: int | None, most_bases: int) -> list[int]:
    """Choose `covering_documents` of about `most_bases` together at most, evenly spaced."""
    chosen = covering_documents(store, max_documents)
    bases = sum(store.document_interval(d).length for d in chosen)
    if bases <= most_bases:
        return chosen
    return covering_documents(store, max(1, len(chosen) * most_bases // bases))


def covering_tokens(store: Store, max_documents: int | None = None) -> list[np.ndarray]:
    """Return the token ids of `covering_documents`, one array per document, two bytes per token."""
    chosen = covering_documents(store, max_documents)
    return [store.document(d).astype(TOKEN_TYPE) for d in chosen]


STORE = StoreFormat(
    "dna-bigbird token store",
    "token store",
    again="make it again: dna-bigbird tokenize",
    make="make it with: dna-bigbird tokenize",
    key="kind",
    lacking="its attributes have no checksum",
)
DATASETS = {  # name: (dtype, columns or 0, rows in a chunk)
    "token_ids": (np.uint16, 0, 65536),
    "sentence_token_offsets": (np.int64, 0, 8192),
    "sentence_bounds": (np.int64, 2, 8192),
    "document_sentence_offsets": (np.int64, 0, 1024),
    "document_bounds": (np.int64, 2, 1024),
    "document_chrom": (np.uint32, 0, 1024),
    "document_strand": (np.int8, 0, 1024),
}
_TABLES = ("document_sentence_offsets", "document_bounds", "document_chrom", "document_strand")
"""Small: read, and compared with their checksums, whenever a store is opened."""


def checksum_of(digests: dict[str, str]) -> str:
    """Return the attribute `checksum` of a store whose datasets have these sha256."""
    return hashlib.sha256(json.dumps(digests, sort_keys=True).encode()).hexdigest()


class TokenStore:
    """Reads a token store; may be pickled and used after a fork. `verify` checks the tokens too."""

    # The sentences of document d are `document_sentence_offsets[d]` up to but not including
    # `document_sentence_offsets[d + 1]`.

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        self._arrays = StoredArrays(self.path, STORE)
        with STORE.open(self.path, verify=_TABLES) as (file, self.attributes):
            self.document_sentence_offsets = file["document_sentence_offsets"][:]
            self._bounds = file["document_bounds"][:]
            self._chrom = file["document_chrom"][:]
            self._strand = file["document_strand"][:]
            self.num_tokens = len(file["token_ids"])
            self.chromosomes: list[str] = json.loads(self.attributes["chromosomes"])
            self.vocab_size = int(self.attributes["vocab_size"])
            self.assembly = str(self.attributes["assembly"])
            self.tokenizer_sha256 = str(self.attributes["tokenizer_sha256"])

    def __repr__(self) -> str:
        return representation(
            self,
            brief(self.path),
            f"{self.num_documents:,} documents",
            f"{self.num_tokens:,} tokens",
            assembly=self.assembly,
            vocab_size=self.vocab_size,
        )

    @property
    def num_documents(self) -> int:
        """Number of documents."""
        return len(self._bounds)

    @property
    def num_bp(self) -> int:
        """Base pairs of all documents, those of every pass counted."""
        return int((self._bounds[:, 1] - self._bounds[:, 0]).sum())

    def regions(self) -> dict[str, Spans]:
        """Return the bases of all documents as merged intervals by chromosome."""
        return {
            self.chromosomes[number]: merge_spans(*self._bounds[self._chrom == number].T)
            for number in np.unique(self._chrom).tolist()
        }

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
        return self._arrays.read("sentence_token_offsets", first, last + 1)

    def tokens(self, start: int, end: int) -> np.ndarray:
        """Token ids between two offsets (see `token_offsets`), int64."""
        return self._arrays.read("token_ids", start, end).astype(np.int64)

    def document(self, document: int) -> np.ndarray:
        """Token ids of a whole document in reading order, int64."""
        offsets = self.token_offsets(document)
        return self.tokens(int(offsets[0]), int(offsets[-1]))

    def sentence(self, document: int, sentence: int) -> np.ndarray:
        """Token ids of one sentence, int64; sentences count from 0 in reading order."""
        offsets = self.token_offsets(document)
        self._check(document, sentence)
        return self.tokens(int(offsets[sentence]), int(offsets[sentence + 1]))

    def token_bounds(
        self, document: int, piece_bp: np.ndarray, first: int = 0, last: int | None = None
    ) -> np.ndarray:
        """Return start and end of tokens in reading order, (T, 2), 0-based, on '+'."""
        last = self.num_sentences(document) if last is None else last
        interval = self.sentence_interval(document, first, last)
        offsets = self.token_offsets(document)
        lengths = piece_bp[self.tokens(int(offsets[first]), int(offsets[last]))]
        ends = np.cumsum(lengths)
        read = np.stack([ends - lengths, ends], axis=1)
        return interval.end - read[:, ::-1] if interval.strand == "-" else interval.start + read

    def sentence_interval(self, document: int, first: int, last: int | None = None) -> Interval:
        """Where a sentence lies, or sentences `first` up to but not including `last`."""
        last = first + 1 if last is None else last
        self._check(document, first)
        self._check(document, last - 1)
        base = int(self.document_sentence_offsets[document])
        bounds = self._arrays.read("sentence_bounds", base + first, base + last)
        interval = self.document_interval(document)
        return Interval(interval.chrom, int(bounds.min()), int(bounds.max()), interval.strand)

    def _check(self, document: int, sentence: int) -> None:
        if not 0 <= sentence < self.num_sentences(document):
            raise IndexError(
                f"document {document} has {self.num_sentences(document)} sentences, not {sentence}"
            )

    def verify(self, progress: Callable[[list], Iterable] = iter) -> None:
        """Read everything and compare it with the checksums in the file, with little memory."""
        rest = [name for name in DATASETS if name not in _TABLES]
        with STORE.open(self.path, verify=rest, progress=progress) as (file, attributes):
            if HEADER in attributes:
                return
            checksum = checksum_of(dataset_digests(file, DATASETS, progress))  # an older store
        if checksum != (expected := str(attributes["checksum"])):
            raise InputError(
                f"{self.path}: damaged: its checksum is {checksum[:12]}…, the file says "
                f"{expected[:12]}…; {STORE.again}"
            )


def check_tokenizer(store: TokenStore, tokenizer: DnaTokenizer, tokenizer_path: Path | str) -> None:
    """Raise InputError if another tokenizer made a token store."""
    if hashlib.sha256(tokenizer.model_bytes).hexdigest() != store.tokenizer_sha256:
        raise InputError(
            f"{store.path}: made with another tokenizer than {tokenizer_path}; the ids would mean "
            "other bases. Make it again: dna-bigbird tokenize"
        )


def check_store_genome(store: TokenStore, genome: Genome) -> None:
    """Raise InputError if a token store was made from another genome."""
    # The same file is recognised by its checksum, another file by that of its sequences. Stores of
    # earlier versions have the checksum of the file only, so another file is refused.
    if sha256_of(genome.path) == store.attributes.get("genome_sha256"):
        return
    recorded = store.attributes.get("sequences_sha256")
    if recorded is None:
        reason = f"{genome.path} is another file (its checksum differs)"
    else:
        checksums = {chrom: sequence_sha256(genome, chrom) for chrom in store.chromosomes}
        if combined_sha256(checksums) == recorded:
            return
        reason = f"{genome.path} has other bases on {', '.join(store.chromosomes[:5])}"
    assembly = f" ({store.assembly})" if store.assembly else ""
    raise InputError(
        f"{store.path}: made from another genome{assembly}: {reason}. Use the FASTA that it was made "
        "from, or make the store again: dna-bigbird tokenize"
    )


def verify_stores(stores: Iterable[TokenStore]) -> None:
    """Compare token stores with their checksums, each file once; progress on a terminal."""
    for store in {store.path: store for store in stores}.values():
        store.verify(partial(progress_bar, desc="verify", unit="block"))
