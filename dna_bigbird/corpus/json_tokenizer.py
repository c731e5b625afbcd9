"""DNA vocabularies of other projects, in the `tokenizers` JSON form (GENA-LM and the like).

The file decides how DNA is cut. Two forms are known: without the letter N (each N is then one
unknown token), and with a rule that makes a long run of N one gap token.
"""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import tokenizers

from dna_bigbird.core.errors import InputError
from dna_bigbird.core.results import representation
from dna_bigbird.corpus.special_tokens import find_special, names_file
from dna_bigbird.genome.alphabet import BASES, IUPAC_AMBIGUOUS

FILE = "tokenizer.json"
_LETTERS = frozenset(BASES + IUPAC_AMBIGUOUS)
_BASES = frozenset(BASES)
_LARGEST_ID = 2**24
"""Tables are as long as the largest id, for any number of entries."""


def is_dna_vocabulary(pieces: Iterable[str]) -> bool:
    """True if most entries are DNA and single bases are among them."""
    pieces = set(pieces)
    return set("ACGT") <= pieces and 2 * sum(map(_LETTERS.issuperset, pieces)) > len(pieces)


def parse(json_bytes: bytes, source: str) -> tokenizers.Tokenizer:
    """Return the tokenizer of a `tokenizer.json`, without padding and truncation."""
    try:
        parsed = tokenizers.Tokenizer.from_str(json_bytes.decode("utf-8"))
    except Exception as error:  # the library raises plain Exception
        raise InputError(f"{source}: the tokenizers library cannot read it: {error}") from error
    parsed.no_padding()
    parsed.no_truncation()
    return parsed


class JsonDnaTokenizer:
    """A `tokenizers` vocabulary over DNA; the calls are those of `DnaTokenizer`."""

    # `piece_bp` of an unknown token is 1 if the vocabulary lacks N; 0 for special ids and for
    # entries that stand for no fixed text.

    reads = "dna"

    def __init__(
        self, json_bytes: bytes, names: Mapping[str, str] | None = None, name: str = FILE
    ) -> None:
        self.model_bytes = json_bytes
        self._name = name
        self._tokenizer = parse(json_bytes, name)
        ids_by_piece = self._tokenizer.get_vocab(with_added_tokens=True)
        if not is_dna_vocabulary(ids_by_piece):
            raise InputError(f"{name}: the vocabulary is not one of DNA")
        self._names = find_special(ids_by_piece, names or {}, name)
        for role, piece in self._names.items():
            setattr(self, f"{role}_id", ids_by_piece[piece])
        self._lacks_n = "N" not in ids_by_piece
        if self._lacks_n and getattr(self._tokenizer.model, "fuse_unk", False):
            raise InputError(
                f"{name}: it has no letter N and makes a run of them one unknown token (fuse_unk), "
                "so tokens would lose their places"
            )
        self._describe(ids_by_piece)

    def _describe(self, ids_by_piece: dict[str, int]) -> None:
        added = self._tokenizer.get_added_tokens_decoder()
        if max(ids_by_piece.values()) > _LARGEST_ID:
            raise InputError(f"{self._name}: an entry has the id {max(ids_by_piece.values())}")
        special = {i for i, token in added.items() if token.special}
        special |= {ids_by_piece[piece] for piece in self._names.values()}
        self.first_piece_id = max(special) + 1
        self.pieces = [""] * (max(ids_by_piece.values()) + 1)
        self.piece_bp = np.zeros(len(self.pieces), dtype=np.int64)
        for piece, i in ids_by_piece.items():
            self.pieces[i] = piece
            if i not in special and _LETTERS.issuperset(piece):
                self.piece_bp[i] = len(piece)
        if self._lacks_n:
            self.piece_bp[self.unk_id] = 1
        roles = [ids_by_piece[piece] for piece in self._names.values()]
        self._is_fixed = self.piece_bp > 0
        self._is_fixed[roles] = True

    def __repr__(self) -> str:
        return representation(self, f"{self.vocab_size:,} entries", reads=self.reads)

    def __getstate__(self) -> dict:
        return {"json_bytes": self.model_bytes, "names": self._names, "name": self._name}

    def __setstate__(self, state: dict) -> None:
        self.__init__(**state)

    @property
    def vocab_size(self) -> int:
        """Entries of the vocabulary, special ones included."""
        return len(self.pieces)

    @property
    def files(self) -> dict[str, bytes]:
        """The files of a bundle that hold it."""
        return {FILE: self.model_bytes, "special_tokens_map.json": names_file(self._names)}

    @property
    def names(self) -> dict[str, str]:
        """Names of the special entries by role."""
        return dict(self._names)

    def encode(self, sequence: str) -> np.ndarray:
        """Return the token ids, shape (T,), int64, of normalised DNA; no special ids are added."""
        return self.encode_with_spans(sequence)[0]

    def encode_with_spans(self, sequence: str) -> tuple[np.ndarray, np.ndarray]:
        """Return the token ids, shape (T,), and their 0-based, half-open base offsets, (T, 2)."""
        if not _BASES.issuperset(sequence):
            letters = "".join(sorted(set(sequence) - _BASES))
            raise ValueError(
                f"letters {letters!r} are not A C G T N; pass the sequence through normalise()"
            )
        try:
            encoding = self._tokenizer.encode(sequence, add_special_tokens=False)
        except Exception as error:  # the library raises plain Exception
            raise InputError(f"{self._name}: it cannot cut DNA into tokens: {error}") from error
        # Tokens follow each other. Where a rule replaced a run, the library gives it its last base
        # only.
        ends = np.array([end for _, end in encoding.offsets], dtype=np.int64)
        if (np.diff(ends, prepend=0) < 0).any() or ends.max(initial=0) != len(sequence):
            raise InputError(
                f"{self._name}: its tokens do not cover the sequence they were made from"
            )
        spans = np.stack([np.concatenate([[0], ends])[:-1], ends], axis=1)
        return np.array(encoding.ids, dtype=np.int64), spans

    def encode_all(self, sequences: Sequence[str], num_threads: int = 1) -> list[np.ndarray]:
        """Return the token ids of each sequence, encoded alone, always by one thread."""
        return [self.encode(sequence) for sequence in sequences]

    def decode(self, ids: Iterable[int]) -> str:
        """Return the bases; ValueError if a token is a run of unknown length, such as a gap."""
        ids = self._fixed(ids)
        pieces = [*self.pieces]
        for role in self._names:
            pieces[getattr(self, f"{role}_id")] = ""
        if self._lacks_n:
            pieces[self.unk_id] = "N"
        return "".join([pieces[i] for i in ids.tolist()])

    def spans(self, ids: np.ndarray) -> np.ndarray:
        """Return 0-based, half-open base offsets, (T, 2); ValueError as `decode`."""
        lengths = self.piece_bp[self._fixed(ids)]
        ends = np.cumsum(lengths)
        return np.stack([ends - lengths, ends], axis=1)

    def _fixed(self, ids: Iterable[int]) -> np.ndarray:
        ids = np.asarray(ids, dtype=np.int64)
        for i in ids[~self._is_fixed[ids]][:1]:
            raise ValueError(f"token {self.pieces[i]!r} stands for no fixed number of bases")
        return ids
