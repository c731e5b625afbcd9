"""Entries that two vocabularies of text share, by what they spell."""

import numpy as np

from dna_bigbird.corpus.text_tokenizer import WORD_MARKS, TextTokenizer

FRESH = -1


def same_pieces(target: TextTokenizer, source: TextTokenizer) -> tuple[np.ndarray, dict[str, int]]:
    """Find for every entry of `target` the entry of `source` that means the same.

    Ordinary pieces are the same if they spell the same and both begin a word or both do not: '▁the'
    of SentencePiece, 'Ġthe' of byte-level BPE and 'the' of WordPiece. So RoBERTa's pieces are found
    in the published BigBird vocabulary, which has GPT-2's, with any ids. Punctuation, which
    WordPiece takes for words, is also matched by its spelling alone. Special entries are
    matched by role; <s> and </s> of a target take [CLS] and [SEP] where the source has none.

    Returns:
        Ids in `source`, `FRESH` where there is none, shape (V,), int64; and how many entries were
        found, by kind.
    """
    ids = {key: i for i, key in _ordinary(source)}
    rows = np.full(target.vocab_size, FRESH, dtype=np.int64)
    for i, key in _ordinary(target):
        rows[i] = ids.get(key, FRESH)
        if rows[i] == FRESH and not any(map(str.isalnum, key[1])):
            rows[i] = ids.get((True, key[1]), FRESH)
    num_same = int((rows >= 0).sum())
    for role in target.names:
        rows[getattr(target, f"{role}_id")] = getattr(source, f"{role}_id")
    marks = (
        (target.bos_id, source.bos_id, source.cls_id),
        (target.eos_id, source.eos_id, source.sep_id),
    )
    for ours, theirs, instead in marks:
        if ours is not None:
            rows[ours] = instead if theirs is None else theirs
    return rows, {
        "pieces taken over": num_same,
        "special entries taken over": int((rows >= 0).sum()) - num_same,
        "entries drawn fresh": int((rows < 0).sum()),
    }


def _ordinary(vocabulary: TextTokenizer) -> list[tuple[int, tuple[bool, str]]]:
    """Return (id, (begins a word, letters)) of the entries that stand for text."""
    special = {getattr(vocabulary, f"{role}_id") for role in vocabulary.names}
    special |= {vocabulary.bos_id, vocabulary.eos_id}
    starts = vocabulary.is_word_start.tolist()
    return [
        (i, (starts[i], letters(piece, vocabulary.is_word_piece)))
        for i, piece in enumerate(vocabulary.pieces)
        if i >= vocabulary.first_piece_id and i not in special
    ]


def letters(piece: str, is_word_piece: bool) -> str:
    """Return a piece without its mark of a word.

    Example:
        >>> letters("▁the", False), letters("##", False), letters("##ing", True)
        ('the', '##', 'ing')
    """
    if is_word_piece:
        return piece.removeprefix("##")
    return piece[1:] if piece.startswith(WORD_MARKS) else piece
