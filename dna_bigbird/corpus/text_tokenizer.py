"""Vocabularies of text, such as the English one of the published BigBird.

Only enough to hold a converted text model with its vocabulary: the DNA commands refuse them.
"""

from collections.abc import Mapping

import numpy as np

from dna_bigbird.corpus.json_tokenizer import parse
from dna_bigbird.corpus.special_tokens import find_special, names_file
from dna_bigbird.corpus.tokenizer import load_sentencepiece


class TextTokenizer:
    """A SentencePiece model or a `tokenizer.json` over text.

    Args:
        file: `spiece.model` or `tokenizer.json`; says what the bytes are.
        names: Names of special entries by role; see `corpus.special_tokens`.
        name: What to call it in messages.

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
        self.vocab_size = max(ids_by_piece.values()) + 1

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

    def encode(self, text: str) -> np.ndarray:
        """Return the token ids, shape (T,), int64; no special ids are added."""
        if self._json is not None:
            ids = self._json.encode(text, add_special_tokens=False).ids
        else:
            ids = self._processor.encode(text)
        return np.array(ids, dtype=np.int64)

    def decode(self, ids: np.ndarray) -> str:
        """Return the text of the ids; special ones stand for none."""
        special = {getattr(self, f"{role}_id") for role in self.names}
        kept = [i for i in np.asarray(ids, dtype=np.int64).tolist() if i not in special]
        return self._json.decode(kept) if self._json is not None else self._processor.decode(kept)
