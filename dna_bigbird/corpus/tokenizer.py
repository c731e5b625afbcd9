"""DNA byte-pair encoding with SentencePiece (paper, appendix F.1: 32K pieces over A C G T N).

The text is what `genome.normalise` gives. Nothing is normalised again, no character stands for a
space, and pieces are joined back to exactly the same text, so every token knows its bases.
"""

import io
import itertools
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
import sentencepiece

from dna_bigbird.core.choices import check_fields
from dna_bigbird.core.errors import InputError
from dna_bigbird.core.results import representation
from dna_bigbird.core.settings import Positive, Range
from dna_bigbird.corpus.symmetric_vocabulary import (
    CLS_ID,
    FIRST_PIECE_ID,
    MASK_ID,
    PAD_ID,
    SEP_ID,
    SPECIAL_PIECES,
    UNK_ID,
    alternate_strands,
    closed_pieces,
    symmetric_vocabulary,
    vocabulary_file,
)
from dna_bigbird.genome.alphabet import BASES

_MAX_LINE_BP = 4096
"""SentencePiece counts positions in 16 bits; longer training sequences are cut."""


SMALLEST = FIRST_PIECE_ID + len(BASES)
"""Entries of a vocabulary of single bases, and the fewest of any other."""
DEFAULT_SIZE = 32000


@dataclass(frozen=True)
class TokenizerConfig:
    """The algorithm, the size of the vocabulary and of the sample it is learnt from."""

    algorithm: Literal["bpe", "symmetric_bpe", "bases"] = "bpe"
    """`bpe`: byte-pair encoding (paper). `symmetric_bpe`: closed under reverse complement, and both strands
    are cut at the same places. `bases`: one token per base, nothing is learned."""
    # Token stores hold 16 bits.
    vocab_size: Annotated[int, Range(SMALLEST, most=65536)] | None = None
    """Entries of the vocabulary: the five special ones included. If not given: 32000 (paper: 32K), or 10 with
    `--tokenizer.algorithm bases`, which allows no other."""
    max_piece_bp: Positive = 16
    """Longest piece in base pairs; keeps satellites and poly-A from filling the vocabulary."""
    sample_bp: Positive = 20_000_000
    """Learn from at most this many base pairs of documents, drawn at random; bounds the memory."""

    def __post_init__(self) -> None:
        check_fields(self, "tokenizer")
        if self.algorithm == "bases" and self.num_entries != SMALLEST:
            raise ValueError(
                f"--tokenizer.vocab_size {self.vocab_size} does not fit --tokenizer.algorithm bases, "
                f"which has {SMALLEST} entries (five special ones and A C G T N); leave it out"
            )

    @property
    def num_entries(self) -> int:
        """Entries of the vocabulary, also where `vocab_size` is not given."""
        if self.vocab_size is not None:
            return self.vocab_size
        return SMALLEST if self.algorithm == "bases" else DEFAULT_SIZE

    @property
    def longest_piece_bp(self) -> int:
        """Most base pairs of a token."""
        return 1 if self.algorithm == "bases" else self.max_piece_bp


def train_tokenizer(
    sequences: Iterable[str], config: TokenizerConfig, *, num_threads: int = 1
) -> bytes:
    """Learn a vocabulary from normalised DNA and return the SentencePiece model."""
    # `num_threads` changes no piece, but SentencePiece notes it in the model's bytes.
    if config.algorithm == "bases":
        return vocabulary_file({base: -float(i) for i, base in enumerate(BASES)})
    if config.algorithm == "bpe":
        return _learn_pairs(sequences, config, num_threads)
    texts = list(sequences)
    proposed = _learn_pairs(alternate_strands(texts), config, num_threads)
    pieces = load_sentencepiece(proposed, "proposed pieces")[1][FIRST_PIECE_ID:]
    size = config.num_entries
    closed = closed_pieces(pieces, size - SMALLEST, config.max_piece_bp)
    if len(closed) < size - SMALLEST:
        raise InputError(
            f"--tokenizer.vocab_size {size} cannot be closed under reverse complement with pieces of at "
            f"most {config.max_piece_bp} bases; take {size - 1} or {size + 1}"
        )
    return symmetric_vocabulary(texts, closed)


def _learn_pairs(sequences: Iterable[str], config: TokenizerConfig, num_threads: int) -> bytes:
    model = io.BytesIO()
    try:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=_lines(sequences),
            model_writer=model,
            model_type="bpe",
            vocab_size=config.num_entries,
            max_sentencepiece_length=config.max_piece_bp,
            normalization_rule_name="identity",
            add_dummy_prefix=False,
            remove_extra_whitespaces=False,
            split_by_whitespace=False,
            split_by_unicode_script=False,
            split_by_number=False,
            character_coverage=1.0,
            required_chars=BASES,
            pad_id=PAD_ID,
            unk_id=UNK_ID,
            bos_id=-1,
            eos_id=-1,
            pad_piece=SPECIAL_PIECES[PAD_ID],
            unk_piece=SPECIAL_PIECES[UNK_ID],
            control_symbols=list(SPECIAL_PIECES[CLS_ID:]),
            max_sentence_length=2 * _MAX_LINE_BP,
            shuffle_input_sentence=False,
            num_threads=num_threads,
            minloglevel=2,
        )
    except RuntimeError as error:
        largest = re.search(r"set it to a value <= (\d+)", str(error))
        if largest is None:
            raise
        raise InputError(
            f"--tokenizer.vocab_size {config.num_entries} is too large for the training sequences; "
            f"they allow at most {largest[1]}. Give more sequence or a smaller vocabulary"
        ) from error
    return model.getvalue()


def _lines(sequences: Iterable[str]) -> Iterator[str]:
    yield from BASES  # SentencePiece only takes letters that occur, and a sample may have no N
    for sequence in sequences:
        for start in range(0, len(sequence), _MAX_LINE_BP):
            yield sequence[start : start + _MAX_LINE_BP]


def load_sentencepiece(
    model_bytes: bytes, name: str
) -> tuple[sentencepiece.SentencePieceProcessor, list[str]]:
    """Return a SentencePiece model and its pieces in the order of their ids."""
    processor = sentencepiece.SentencePieceProcessor()
    try:
        processor.load_from_serialized_proto(model_bytes)
        size = processor.get_piece_size() if model_bytes else 0
        return processor, [processor.id_to_piece(i) for i in range(size)]
    except (RuntimeError, ValueError) as error:  # ValueError: a piece that is not UTF-8
        raise InputError(f"{name}: this is not a SentencePiece model, or a damaged one") from error


class DnaTokenizer:
    """A trained vocabulary: normalised DNA to token ids and back, without loss.

    Attributes:
        piece_bp: Base pairs of every id, shape (vocab_size,), int64; 0 for special ids.
        pieces: Text of every id; the special ones have their names in brackets.
        scores: SentencePiece's score of every ordinary entry, shape (vocab_size - 5,).

    Raises:
        InputError: If the bytes are not a SentencePiece model, or not one of this package.
    """

    pad_id, unk_id, cls_id, sep_id, mask_id = PAD_ID, UNK_ID, CLS_ID, SEP_ID, MASK_ID
    first_piece_id = FIRST_PIECE_ID
    reads = "dna"

    def __init__(self, model_bytes: bytes, name: str = "tokenizer") -> None:
        self.model_bytes = model_bytes
        self._name = name
        self._processor, self.pieces = load_sentencepiece(model_bytes, name)
        ordinary = self.pieces[FIRST_PIECE_ID:]
        if (
            tuple(self.pieces[:FIRST_PIECE_ID]) != SPECIAL_PIECES
            or not set(BASES) <= set(ordinary)
            or not set(BASES).issuperset("".join(ordinary))
        ):
            raise InputError(
                f"{name}: not a tokenizer of dna-bigbird; its first entries should be "
                f"{' '.join(SPECIAL_PIECES)}, the others of the letters A C G T N, and each of "
                "these should be an entry"
            )
        self.piece_bp = np.array([len(piece) for piece in self.pieces], dtype=np.int64)
        self.piece_bp[:FIRST_PIECE_ID] = 0
        ids = range(FIRST_PIECE_ID, len(self.pieces))
        self.scores = np.array([self._processor.get_score(i) for i in ids], dtype=np.float64)

    @classmethod
    def from_bytes(cls, model_bytes: bytes) -> "DnaTokenizer":
        """Load a model from the bytes `train_tokenizer` returns."""
        return cls(model_bytes)

    @classmethod
    def from_file(cls, path: Path | str) -> "DnaTokenizer":
        """Load a `.model` file."""
        if not Path(path).is_file():
            raise InputError(f"{path}: no such tokenizer file")
        return cls(Path(path).read_bytes(), str(path))

    def __repr__(self) -> str:
        return representation(self, f"{self.vocab_size:,} entries", reads=self.reads)

    def __getstate__(self) -> dict:
        return {"model_bytes": self.model_bytes, "name": self._name}

    def __setstate__(self, state: dict) -> None:
        self.__init__(state["model_bytes"], state["name"])

    @property
    def vocab_size(self) -> int:
        """Entries of the vocabulary, special ones included."""
        return len(self.pieces)

    @property
    def joins_pairs(self) -> bool:
        """True if the neighbours that make the earliest piece are joined first, as in BPE."""
        # Otherwise the segmentation with the highest sum of scores is taken, which are logarithms;
        # SentencePiece numbers the pieces of byte-pair encoding 0, -1, -2, ….
        return bool((self.scores == -np.arange(len(self.scores))).all())

    @property
    def names(self) -> dict[str, str]:
        """Names of the special entries by role."""
        return dict(zip(("pad", "unk", "cls", "sep", "mask"), SPECIAL_PIECES, strict=True))

    @property
    def files(self) -> dict[str, bytes]:
        """The files of a bundle that hold it."""
        return {"tokenizer.model": self.model_bytes}

    def encode(self, sequence: str) -> np.ndarray:
        """Return the token ids, shape (T,), int64, of normalised DNA; no special ids are added.

        Raises:
            ValueError: If a letter is not A, C, G, T or N (see `genome.normalise`).
        """
        return self.encode_all([sequence])[0]

    def encode_with_spans(self, sequence: str) -> tuple[np.ndarray, np.ndarray]:
        """Return the token ids, shape (T,), and their 0-based, half-open base offsets, (T, 2)."""
        ids = self.encode(sequence)
        return ids, self.spans(ids)

    def encode_all(self, sequences: Sequence[str], num_threads: int = 1) -> list[np.ndarray]:
        """Return the token ids of each sequence, encoded alone; as `encode`, but faster."""
        ids, counts = self.encode_flat(sequences, num_threads)
        return np.split(ids, np.cumsum(counts)[:-1]) if len(counts) else []

    def encode_flat(
        self, sequences: Sequence[str], num_threads: int = 1
    ) -> tuple[np.ndarray, np.ndarray]:
        """Encode each sequence alone: all token ids (T,), and how many each sequence has, int64."""
        encoded = self._processor.encode(list(sequences), num_threads=num_threads)
        counts = np.fromiter(map(len, encoded), dtype=np.int64, count=len(encoded))
        flat = itertools.chain.from_iterable(encoded)
        ids = np.fromiter(flat, dtype=np.int64, count=int(counts.sum()))
        if (ids < FIRST_PIECE_ID).any():
            letters = set().union(*sequences) - set(BASES)
            if letters:
                raise ValueError(
                    f"letters {''.join(sorted(letters))!r} are not A C G T N; pass the sequence "
                    "through normalise()"
                )
        if self.piece_bp[ids].sum() != sum(map(len, sequences)):
            raise InputError(
                f"{self._name}: its tokens do not spell the sequence they were made from; the file "
                "is damaged. Copy it again"
            )
        return ids, counts

    def decode(self, ids: Iterable[int]) -> str:
        """Return the bases the tokens stand for; special ids stand for none."""
        pieces = self.pieces
        return "".join(
            [pieces[i] for i in np.asarray(ids, dtype=np.int64).tolist() if i >= FIRST_PIECE_ID]
        )

    def spans(self, ids: np.ndarray) -> np.ndarray:
        """Return 0-based, half-open base offsets of each token, shape (T, 2), int64.

        They count from the first base of the tokenised text; a special id has an empty span.
        """
        lengths = self.piece_bp[np.asarray(ids, dtype=np.int64)]
        ends = np.cumsum(lengths)
        return np.stack([ends - lengths, ends], axis=1)
