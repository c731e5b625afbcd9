"""Which sentences are hidden as a whole, for contrastive predictive coding (CPC; specification §2.4)."""

from collections.abc import Sequence
from typing import Protocol

import numpy as np


class SentenceHiding(Protocol):
    """What choosing sentences needs of a `training.objective_config.CpcConfig`."""

    @property
    def sentence_share(self) -> float: ...
    @property
    def fewest_sentences(self) -> int: ...


SENTENCE_ENDS = (".", "!", "?")
"""Last characters of a piece after which a sentence of text begins."""


def ends_of_sentences(pieces: Sequence[str]) -> np.ndarray:
    """Return which pieces end a sentence of text, (V,) bool: those that end with . ! or ?."""
    return np.array([piece.endswith(SENTENCE_ENDS) for piece in pieces])


def sentences_of_text(ids: np.ndarray, is_text: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """Return the number of the sentence of each token, from 0, -1 outside of text.

    A sentence begins after the last piece of the one before, and where text begins. Abbreviations end
    one, too.

    Args:
        ids: Token ids, shape (T,).
        is_text: False at special tokens, shape (T,), bool.
        ends: Which ids end a sentence, shape (V,), bool.

    Example:
        >>> ends = np.array([False, False, True])  # the third piece is "."
        >>> ids = np.array([0, 1, 1, 2, 1, 0, 1])
        >>> sentences_of_text(ids, ids > 0, ends).tolist()
        [-1, 0, 0, 0, 1, -1, 2]
    """
    before = np.concatenate(([True], (~is_text | ends[ids])[:-1]))
    return np.where(is_text, np.cumsum(is_text & before) - 1, -1)


def choose_sentences(
    sentences: np.ndarray,
    maskable: np.ndarray,
    rng: np.random.Generator,
    config: SentenceHiding,
    size: int = 0,
) -> np.ndarray:
    """Choose sentences to hide; every one of them is equally likely, and one is left at least.

    Args:
        sentences: Number of each token's sentence from 0, -1 for none, shape (T,).
        maskable: Which tokens may be masked, shape (T,), bool; a sentence with another one stays.
        size: Hide only sentences of so many tokens, so that their length says nothing; 0: of any.

    Returns:
        Numbers of the chosen sentences, ascending, int64.
    """
    count = int(sentences.max(initial=-1)) + 1
    if count < config.fewest_sentences:
        return np.empty(0, dtype=np.int64)
    within = sentences >= 0
    tokens = np.bincount(sentences[within], minlength=count)
    free = np.bincount(sentences[within & maskable], minlength=count)
    candidates = np.flatnonzero((free == tokens) & (tokens > 0) & ((tokens == size) | (size == 0)))
    number = min(len(candidates), count - 1, max(1, round(config.sentence_share * count)))
    return np.sort(rng.choice(candidates, size=number, replace=False))
