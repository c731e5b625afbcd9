"""How many characters of text each entry of a vocabulary stands for."""

from collections.abc import Sequence

import numpy as np

from dna_bigbird.corpus.text_tokenizer import TextTokenizer


def piece_characters(
    pieces: Sequence[str], unk_id: int, *, is_byte_level: bool = False, is_word_piece: bool = False
) -> np.ndarray:
    """Return the characters of every entry, shape (V,), int64.

    A word mark is the space in front of the word and counts as one; '##' of WordPiece is none. A
    piece of byte-level BPE, whose letters are bytes, counts the characters that begin in it. An
    unknown piece counts as one character, however long it was.

    Example:
        >>> piece_characters(["<unk>", "▁the", "ing"], 0).tolist()
        [1, 4, 3]
        >>> piece_characters(["<unk>", "Ġcaf", "Ã©"], 0, is_byte_level=True).tolist()
        [1, 4, 1]
    """
    letters = _bytes_by_letter() if is_byte_level else {}
    counts = np.zeros(len(pieces), dtype=np.int64)
    for i, piece in enumerate(pieces):
        if is_byte_level:
            # 0x80 to 0xBF continue a character of UTF-8.
            counts[i] = sum(not 0x80 <= letters.get(letter, 0) <= 0xBF for letter in piece)
        else:
            counts[i] = len(piece.removeprefix("##") if is_word_piece else piece)
    counts[unk_id] = 1
    return counts


def characters_of(tokenizer: TextTokenizer) -> np.ndarray:
    """Return the characters of every entry of a vocabulary, shape (V,), int64."""
    pieces = tokenizer.pieces
    byte_level = tokenizer.file.endswith(".json") and any(p.startswith("Ġ") for p in pieces)
    return piece_characters(
        pieces,
        tokenizer.unk_id,
        is_byte_level=byte_level,
        is_word_piece=tokenizer.is_word_piece,
    )


def _bytes_by_letter() -> dict[str, int]:
    """Return GPT-2's letters of the 256 bytes: printable ones stand for themselves."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in plain]
    return {chr(byte): byte for byte in plain} | {
        chr(256 + number): byte for number, byte in enumerate(others)
    }
