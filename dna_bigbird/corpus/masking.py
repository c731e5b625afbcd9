"""Dynamic masking for masked language modelling (specification §7: 15 %, 80/10/10)."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np


@dataclass(frozen=True)
class MaskingConfig:
    """Which share of the tokens is predicted, and what the model sees in their place."""

    fraction: float = 0.15
    """Share of tokens to predict (paper's text; the caption of its Figure 7 says 0.10)."""
    mask_share: float = 0.8
    """Of those, the share replaced by [MASK]."""
    random_share: float = 0.1
    """Of those, the share replaced by a random ordinary token; the rest stays as it is."""

    def __post_init__(self) -> None:
        if not 0 < self.fraction <= 1:
            raise ValueError(f"--masking.fraction {self.fraction} must be above 0 and at most 1")
        if min(self.mask_share, self.random_share) < 0 or self.mask_share + self.random_share > 1:
            raise ValueError(
                f"--masking.mask_share {self.mask_share} and --masking.random_share "
                f"{self.random_share} must not be negative and add up to at most 1"
            )


class TokenIds(Protocol):
    """What masking and pairing need to know of a vocabulary; a `DnaTokenizer` has it."""

    cls_id: int
    sep_id: int
    mask_id: int
    first_piece_id: int

    @property
    def vocab_size(self) -> int: ...


def mask_tokens(
    ids: np.ndarray,
    maskable: np.ndarray,
    rng: np.random.Generator,
    config: MaskingConfig,
    vocabulary: TokenIds,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Choose tokens to predict and hide them.

    Exactly round(fraction × maskable tokens), but at least one, are chosen without replacement;
    each of them is replaced, or not, by one independent draw. A random replacement comes from all
    ordinary tokens, so it may by chance be the true one.

    Args:
        ids: Token ids, shape (T,).
        maskable: Which positions may be chosen, shape (T,), bool; False at special tokens.

    Returns:
        What the model sees, shape (T,), int64; the chosen positions in ascending order, shape
        (M,), int64; their true ids, shape (M,), int64.

    Raises:
        ValueError: If nothing is maskable.
    """
    candidates = np.flatnonzero(maskable)
    if not len(candidates):
        raise ValueError("there is no token that could be masked")
    count = max(1, round(config.fraction * len(candidates)))
    positions = np.sort(rng.choice(candidates, size=count, replace=False, shuffle=False))
    return hide(ids, positions, rng, config, vocabulary)


def hide(
    ids: np.ndarray,
    positions: np.ndarray,
    rng: np.random.Generator,
    config: MaskingConfig,
    vocabulary: TokenIds,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Replace chosen tokens, or not, by one independent draw each.

    Args:
        positions: Ascending, shape (M,), int64.

    Returns:
        What the model sees, shape (T,); `positions`; the true ids there, shape (M,), int64.
    """
    seen = np.array(ids, dtype=np.int64)
    labels = seen[positions]
    draw = rng.random(len(positions))
    random_ids = rng.integers(vocabulary.first_piece_id, vocabulary.vocab_size, size=len(positions))
    replaced = np.where(draw < config.mask_share + config.random_share, random_ids, labels)
    seen[positions] = np.where(draw < config.mask_share, vocabulary.mask_id, replaced)
    return seen, positions, labels
