"""Which sentences are hidden as a whole, for contrastive predictive coding (CPC; specification §2.4)."""

from typing import Protocol

import numpy as np


class SentenceHiding(Protocol):
    """What choosing sentences needs of a `tasks.objective_config.CpcConfig`."""

    @property
    def sentence_share(self) -> float: ...
    @property
    def fewest_sentences(self) -> int: ...


def choose_sentences(
    sentences: np.ndarray,
    maskable: np.ndarray,
    rng: np.random.Generator,
    config: SentenceHiding,
    size: int = 0,
) -> np.ndarray:
    """Choose sentences to hide; every one of them is equally likely.

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
    number = min(len(candidates), max(1, round(config.sentence_share * count)))
    return np.sort(rng.choice(candidates, size=number, replace=False))
