"""Which sentences are hidden as a whole, for contrastive predictive coding (CPC; specification §2.4)."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class CpcConfig:
    """Contrastive predictive coding of hidden sentences; the defaults are those of the ETC paper."""

    weight: float = 0.2
    """Share of CPC in the loss, the rest is that of masked tokens; 0: no CPC."""
    sentence_share: float = 0.1
    """Share of the sentences of an example that are hidden as a whole, at least one."""
    fewest_sentences: int = 7
    """Sentences that an example has at least, or none of them is hidden."""

    def __post_init__(self) -> None:
        for name in ("weight", "sentence_share"):
            if not 0 <= getattr(self, name) < 1:
                raise ValueError(
                    f"--cpc.{name} {getattr(self, name)}: expected at least 0 and below 1"
                )
        if not self.sentence_share:
            raise ValueError(
                "--cpc.sentence_share 0.0: expected more; --cpc.weight 0 is without CPC"
            )
        if self.fewest_sentences < 1:
            raise ValueError(f"--cpc.fewest_sentences {self.fewest_sentences}: expected at least 1")


def choose_sentences(
    sentences: np.ndarray,
    maskable: np.ndarray,
    rng: np.random.Generator,
    config: CpcConfig,
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
