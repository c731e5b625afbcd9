"""Dynamic masking for masked language modelling (specification §7: 15 %, 80/10/10), also of spans."""

from dataclasses import asdict, dataclass, replace
from typing import Annotated, Protocol, Self

import numpy as np

from dna_bigbird.core.choices import check_fields
from dna_bigbird.core.settings import Count, Range, Share


@dataclass(frozen=True)
class HidingConfig:
    """Which share of the tokens is predicted, and what the model sees in their place."""

    fraction: Annotated[float, Range(above=0, most=1)] = 0.15
    """Share of tokens to predict (paper's text; the caption of its Figure 7 says 0.10)."""
    mask_share: Share = 0.8
    """Of those, the share replaced by [MASK]; 1.0, with a `random_share` of 0.0, hides all of them."""
    random_share: Share = 0.1
    """Of those, the share replaced by a random ordinary token; the rest stays as it is."""

    def __post_init__(self) -> None:
        check_fields(self, "masking")
        if self.mask_share + self.random_share > 1:
            raise ValueError(
                f"--masking.mask_share {self.mask_share} and --masking.random_share "
                f"{self.random_share} must add up to at most 1 (1.0 and 0.0 show [MASK] everywhere)"
            )


@dataclass(frozen=True)
class MaskingConfig(HidingConfig):
    """Which tokens of DNA are predicted, and what the model sees in their place."""

    span_bp: Count = 0
    """Hide spans of neighbouring tokens, each of a random length of 1 to this many bases; 0: single
    tokens."""
    last_fraction: Share = 0.0
    """Share of tokens to predict at the end of the training; it begins at `fraction` and changes linearly, example by
    example. 0: `fraction` throughout."""

    def at(self, progress: float) -> Self:
        """Return the masking of an example, from 0 (the first of a training) to 1 (the last).

        Example:
            >>> MaskingConfig(0.4, last_fraction=0.2).at(0.5) == MaskingConfig(0.3)
            True
        """
        if not self.last_fraction:
            return self
        fraction = (1 - progress) * self.fraction + progress * self.last_fraction
        return replace(self, fraction=round(fraction, 6), last_fraction=0.0)

    @property
    def stored(self) -> dict:
        """Settings for a file, without a last fraction that does not apply."""
        settings = asdict(self)
        if not self.last_fraction:
            del settings["last_fraction"]
        return settings

    @property
    def in_words(self) -> str:
        """What is hidden, and how.

        Example:
            >>> MaskingConfig().in_words
            '15 % (80 % [MASK], 10 % random)'
            >>> MaskingConfig(0.3, 1.0, 0.0, span_bp=30).in_words
            '30 % (100 % [MASK], 0 % random, spans of up to 30 bp)'
        """
        spans = f", spans of up to {self.span_bp} bp" if self.span_bp else ""
        last = f" to {100 * self.last_fraction:g}" if self.last_fraction else ""
        return (
            f"{100 * self.fraction:g}{last} % ({100 * self.mask_share:g} % [MASK], "
            f"{100 * self.random_share:g} % random{spans})"
        )


PAPER = MaskingConfig()
"""The masking of validation and test, whatever training uses: figures of models can be compared."""


class TokenIds(Protocol):
    """What masking and pairing need to know of a vocabulary; a `DnaTokenizer` has it."""

    cls_id: int
    sep_id: int
    mask_id: int
    first_piece_id: int

    @property
    def vocab_size(self) -> int: ...


class PieceLengths(TokenIds, Protocol):
    """What masking of spans needs to know of a vocabulary; a `DnaTokenizer` has it."""

    piece_bp: np.ndarray
    """(V,) base pairs of every token id."""


def mask_tokens(
    ids: np.ndarray,
    maskable: np.ndarray,
    rng: np.random.Generator,
    config: MaskingConfig,
    vocabulary: PieceLengths,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Hide tokens: what the model sees (T,), chosen positions and their true ids (M,), int64."""
    # Exactly round(fraction × maskable tokens), but at least one, are chosen without replacement,
    # one by one or in spans. A random replacement comes from all ordinary tokens, so it may be the
    # true one by chance.
    candidates = np.flatnonzero(maskable)
    if not len(candidates):
        raise ValueError("there is no token that could be masked")
    count = max(1, round(config.fraction * len(candidates)))
    if config.span_bp:
        lengths = vocabulary.piece_bp[ids[candidates]]
        positions = span_positions(candidates, lengths, count, rng, config.span_bp)
    else:
        positions = np.sort(rng.choice(candidates, size=count, replace=False, shuffle=False))
    return hide(ids, positions, rng, config, vocabulary)


def span_positions(
    candidates: np.ndarray, lengths: np.ndarray, count: int, rng: np.random.Generator, span_bp: int
) -> np.ndarray:
    """Choose exactly `count` of the candidates (C,) in spans of neighbours; ascending, int64."""
    # The sequence is divided into spans, each of 1 to `span_bp` bases but at least one token, that
    # end before a position that is not a candidate. Spans are drawn without replacement, of the
    # last one only what is missing: every token is chosen with nearly the same probability.
    starts = span_starts(candidates, lengths, rng, span_bp)
    order = rng.permutation(len(starts) - 1)
    sizes = np.diff(starts)[order]
    missing = count - (np.cumsum(sizes) - sizes)
    used = np.clip(missing, 0, sizes)
    within = np.arange(count) - np.repeat(np.cumsum(used) - used, used)
    return np.sort(candidates[np.repeat(starts[order], used) + within])


def span_starts(
    candidates: np.ndarray, lengths: np.ndarray, rng: np.random.Generator, span_bp: int
) -> np.ndarray:
    """Return where spans begin among the candidates, and last the number of candidates."""
    count = len(candidates)
    ends = np.cumsum(lengths)
    # Where a span that begins at each candidate would end: every candidate draws a length, and those
    # at which a span begins use it.
    fitting = np.searchsorted(
        ends, ends - lengths + rng.integers(1, span_bp + 1, size=count), side="right"
    )
    breaks = np.append(np.flatnonzero(np.diff(candidates) != 1) + 1, count)
    numbers = np.arange(count)
    next_break = breaks[np.searchsorted(breaks, numbers, side="right")]
    following = np.maximum(numbers + 1, np.minimum(fitting, next_break)).tolist()
    starts = [0]
    while starts[-1] < count:
        starts.append(following[starts[-1]])
    return np.array(starts)


def hide(
    ids: np.ndarray,
    positions: np.ndarray,
    rng: np.random.Generator,
    config: HidingConfig,
    vocabulary: TokenIds,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Replace chosen tokens, or not, by one independent draw each; returns as `mask_tokens`."""
    seen = np.array(ids, dtype=np.int64)
    labels = seen[positions]
    draw = rng.random(len(positions))
    random_ids = rng.integers(vocabulary.first_piece_id, vocabulary.vocab_size, size=len(positions))
    replaced = np.where(draw < config.mask_share + config.random_share, random_ids, labels)
    seen[positions] = np.where(draw < config.mask_share, vocabulary.mask_id, replaced)
    return seen, positions, labels
