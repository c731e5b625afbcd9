"""Vocabularies of text, such as the English one of the published BigBird."""

import functools
from collections.abc import Mapping

import numpy as np
from tokenizers.models import WordPiece

from dna_bigbird.core.results import representation
from dna_bigbird.corpus.json_tokenizer import parse
from dna_bigbird.corpus.special_tokens import find_special, names_file
from dna_bigbird.corpus.tokenizer import load_sentencepiece

# Marks that the inputs of text tasks need and published vocabularies lack.
#
# They are entries after the vocabulary: a fine-tuned text encoder has rows for them
# (`models.weight_transfer`), a tokenizer never gives them for text.

MARKERS = ("[q]", "[/q]", "<t>", "</t>", "[s]", "[ans]", "[/ans]", "<open>", "<close>")
"""Question, title, end of a sentence, candidate answer, opening and closing tag of HTML. Bundles
hold rows in this order: append only."""


WORD_MARKS = ("▁", "Ġ")
"""How SentencePiece and byte-level BPE write the space in front of a word."""


class TextTokenizer:
    """A SentencePiece model or a `tokenizer.json` over text.

    Args:
        file: `spiece.model` or `tokenizer.json`; says what the bytes are.
        names: Names of special entries by role; see `corpus.special_tokens`.
        name: What to call it in messages.

    Attributes:
        cls_id, sep_id, mask_id, pad_id, unk_id: Special entries.
        bos_id, eos_id: Those named <s> and </s>; None if there is none.
        vocab_size: Entries of the vocabulary; `markers` come after it.

    Raises:
        InputError: If the bytes are no such file or a special entry is missing.
    """

    reads = "text"

    def __init__(
        self, model_bytes: bytes, file: str, names: Mapping[str, str] | None = None, name: str = ""
    ) -> None:
        self.model_bytes, self.file = model_bytes, file
        self._name = name or file
        if file.endswith(".json"):
            self._json = parse(model_bytes, self._name)
            ids_by_piece = self._json.get_vocab(with_added_tokens=True)
        else:
            self._json = None
            self._processor, pieces = load_sentencepiece(model_bytes, self._name)
            ids_by_piece = {piece: i for i, piece in enumerate(pieces)}
        self.names = find_special(ids_by_piece, names or {}, self._name)
        for role, piece in self.names.items():
            setattr(self, f"{role}_id", ids_by_piece[piece])
        self.bos_id, self.eos_id = ids_by_piece.get("<s>"), ids_by_piece.get("</s>")
        self.vocab_size = max(ids_by_piece.values()) + 1
        self._ids_by_piece = ids_by_piece

    def __repr__(self) -> str:
        return representation(self, f"{self.vocab_size:,} entries", reads=self.reads)

    def __getstate__(self) -> dict:
        return {
            "model_bytes": self.model_bytes,
            "file": self.file,
            "names": self.names,
            "name": self._name,
        }

    def __setstate__(self, state: dict) -> None:
        self.__init__(**state)

    @property
    def files(self) -> dict[str, bytes]:
        """The files of a bundle that hold it."""
        return {self.file: self.model_bytes, "special_tokens_map.json": names_file(self.names)}

    @functools.cached_property
    def pieces(self) -> list[str]:
        """Text of every id; made when asked for, as a hostile file may name any id."""
        pieces = [""] * self.vocab_size
        for piece, i in self._ids_by_piece.items():
            pieces[i] = piece
        return pieces

    @functools.cached_property
    def first_piece_id(self) -> int:
        """The id from which entries stand for text; special ones at the very end do not count."""
        special = {getattr(self, f"{role}_id") for role in self.names} | {self.bos_id, self.eos_id}
        last = self.vocab_size - 1
        while last in special:
            special.remove(last)
            last -= 1
        return max((i for i in special if i is not None), default=-1) + 1

    @functools.cached_property
    def is_word_piece(self) -> bool:
        """Whether '##' marks pieces that go on with a word; GPT-2's has it too, as plain letters."""
        return self._json is not None and isinstance(self._json.model, WordPiece)

    @functools.cached_property
    def is_word_start(self) -> np.ndarray:
        """Return which entries begin a word: bool (vocab_size,)."""
        # '▁x' of SentencePiece and 'Ġx' of byte-level BPE do, in a vocabulary with '##x'
        # (WordPiece) whatever has no such mark.
        if self.is_word_piece:
            starts = [not piece.startswith("##") for piece in self.pieces]
        else:
            starts = [piece.startswith(WORD_MARKS) for piece in self.pieces]
        return np.array(starts)

    @property
    def size_with_markers(self) -> int:
        """Rows of the word table of a fine-tuned text encoder (at least)."""
        return self.vocab_size + len(MARKERS)

    def marker_id(self, name: str) -> int:
        """Return the id of one of `markers.MARKERS`, after the vocabulary."""
        if name not in MARKERS:
            raise ValueError(f"no marker {name!r}; there are {' '.join(MARKERS)}")
        return self.vocab_size + MARKERS.index(name)

    def encode(self, text: str) -> np.ndarray:
        """Return the token ids, shape (T,), int64; no special ids are added."""
        if self._json is not None:
            ids = self._json.encode(text, add_special_tokens=False).ids
        else:
            ids = self._processor.encode(text)
        return np.array(ids, dtype=np.int64)

    def encode_with_offsets(self, text: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return token ids and the position of each: three arrays (T,), int64.

        Starts and ends are half-open character offsets into `text`, without the white space around
        a piece. A piece of white space alone, or one that the vocabulary adds, has start == end.
        """
        if self._json is not None:
            encoding = self._json.encode(text, add_special_tokens=False)
            ids, offsets = encoding.ids, encoding.offsets
        else:
            encoding = self._processor.encode(text, return_type="offset_mapping")
            ids, offsets = encoding["ids"], encoding["offsets"]
        starts = np.array([start for start, _ in offsets], dtype=np.int64)
        ends = np.array([end for _, end in offsets], dtype=np.int64)
        for i, (start, end) in enumerate(offsets):
            while start < end and text[end - 1].isspace():
                end -= 1
            while start < end and text[start].isspace():
                start += 1
            starts[i], ends[i] = start, end
        return np.array(ids, dtype=np.int64), starts, ends

    def decode(self, ids: np.ndarray) -> str:
        """Return the text of the ids; special ones and markers stand for none."""
        special = {getattr(self, f"{role}_id") for role in self.names} | {self.bos_id, self.eos_id}
        values = np.asarray(ids, dtype=np.int64).tolist()
        kept = [i for i in values if i not in special and i < self.vocab_size]
        return self._json.decode(kept) if self._json is not None else self._processor.decode(kept)
