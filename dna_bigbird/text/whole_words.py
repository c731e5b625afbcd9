"""Dynamic masking of whole words (specification §6; BERT's and BigBird's code)."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from dna_bigbird.core.settings import Count
from dna_bigbird.corpus.masking import HidingConfig, TokenIds, hide

SHARE_OF_BUDGET = 75 / 512
"""Most predictions of an example over its length, as the published settings for 512 have it."""


@dataclass(frozen=True)
class TextMaskingConfig(HidingConfig):
    """Which share of the words is predicted, and what the model sees in their place."""

    whole_words: bool = True
    """Choose words and hide all their pieces; false chooses pieces."""
    max_predictions: Count = 0
    """Most pieces predicted in one example; 0: 75 for every 512 of --model.max_tokens, thus 600 at
    4,096."""

    def budget(self, max_tokens: int) -> int:
        """Return the most pieces predicted in an example of at most `max_tokens`.

        >>> [TextMaskingConfig().budget(n) for n in (512, 4096, 16)]
        [75, 600, 2]
        """
        return self.max_predictions or max(1, round(SHARE_OF_BUDGET * max_tokens))


class TextIds(TokenIds, Protocol):
    """What masking of words needs to know of a vocabulary; a `TextTokenizer` has it."""

    is_word_start: np.ndarray
    """(V,) bool."""


def words(ids: np.ndarray, maskable: np.ndarray, is_word_start: np.ndarray | None) -> np.ndarray:
    """Return the number of the word of each maskable token, from 0; -1 where not maskable, (T,)."""
    # A word begins at a piece with the word mark, and after anything that is not maskable. Without
    # any mark each token is a word, as in the published code.
    marked = np.zeros(len(ids), dtype=bool) if is_word_start is None else is_word_start[ids]
    starts = maskable & marked
    if starts.any():
        starts |= maskable & ~np.concatenate(([False], maskable[:-1]))
    else:
        starts = maskable
    return np.where(maskable, np.cumsum(starts) - 1, -1)


def mask_words(
    ids: np.ndarray,
    maskable: np.ndarray,
    rng: np.random.Generator,
    config: TextMaskingConfig,
    vocabulary: TextIds,
    budget: int,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Hide the pieces of drawn words; return what the model sees (T,), positions and ids (M,)."""
    # max(1, round(fraction × words)) words are drawn; in that order those are taken whose pieces
    # still fit into the budget, or the beginning of the first.
    positions = np.flatnonzero(maskable)
    if not len(positions):
        raise ValueError("there is no token that could be masked")
    numbers = words(ids, maskable, vocabulary.is_word_start if config.whole_words else None)
    starts = np.searchsorted(numbers[positions], np.arange(numbers.max() + 2))
    lengths = np.diff(starts)
    drawn = rng.permutation(len(lengths))[: max(1, round(config.fraction * len(lengths)))]
    chosen, left = [], budget
    for word in drawn.tolist():
        if lengths[word] <= left:
            chosen.append(positions[starts[word] : starts[word + 1]])
            left -= int(lengths[word])
    if not chosen:
        first = starts[drawn[0]]
        chosen = [positions[first : first + budget]]
    return hide(ids, np.sort(np.concatenate(chosen)), rng, config, vocabulary)
