"""The training text that a masked model copies from: where what is shown around a token has occurred, without torch."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from dna_bigbird.core.settings import Count, Range

# T tokens of a batch, row after row; L tokens of the text, D documents, P predicted positions, K experts

REACH = 200
"""A copy goes on for so many tokens after the last whole context, right or wrong."""
COMPARED = 32
"""Tokens on each side of a position that are compared with those of the copy."""
NEAREST = 8
"""Of these, tokens whose share that agrees is a feature of its own."""
FEATURES = 5
"""Numbers that say how good a copy is: see `ReadText.copies`."""
_FACTOR = np.uint64(0x9E3779B97F4A7C15)
_NOWHERE = -1


@dataclass(frozen=True)
class CopiesConfig:
    """What a masked model copies from its training text, and how."""

    orders: tuple[Annotated[int, Range(1)], ...]
    """Tokens of the contexts, left or right of a token, whose latest occurrence is copied on."""
    hidden_size: Count = 64
    """Units of the gate between network and copies; 0: there is none."""
    input_size: Count = 0
    """Units of the layer that weighs copies as inputs of the network; 0: they are none."""
    first_piece_id: Count = 5
    """Smallest id of an ordinary token."""
    mask_id: Count = 4
    chromosomes: tuple[str, ...] = ()
    """Of the documents of the text."""

    @property
    def num_copies(self) -> int:
        """Copies of a position: two sides, two strands."""
        return 4 * len(self.orders)


@dataclass(frozen=True, eq=False)
class Strand:
    """The documents of a text as one strand reads them, with a special token, 0, after each."""

    tokens: NDArray[np.int32]
    """(L,)"""
    starts: NDArray[np.int64]
    """(D + 1,) first token of each document, and L."""
    _indices: dict[int, NDArray[np.uint64]] = field(default_factory=dict)

    @classmethod
    def of(cls, documents: Sequence[NDArray]) -> "Strand":
        """Join the token ids of documents."""
        parts = [part for ids in documents for part in (ids, [0])]
        starts = np.cumsum([0, *(len(ids) + 1 for ids in documents)])
        return cls(np.concatenate([*parts, []]).astype(np.int32), starts.astype(np.int64))

    def index(self, order: int, first_piece_id: int) -> NDArray[np.uint64]:
        """Return hash (upper half) and position (lower half) of each context, rising."""
        if order not in self._indices:
            hashes, known = hashed(self.tokens, self.tokens >= first_piece_id, order)
            at = np.flatnonzero(known).astype(np.uint64)
            self._indices[order] = np.sort(hashes[known] | at)
        return self._indices[order]

    def document(self, positions: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the document that each position lies in."""
        return np.searchsorted(self.starts, positions, side="right") - 1


def hashed(
    tokens: NDArray, is_known: NDArray[np.bool_], order: int
) -> tuple[NDArray[np.uint64], NDArray[np.bool_]]:
    """Return a hash of the `order` tokens from each on, in the upper 32 bits, and where all of them are known."""
    last = max(0, len(tokens) - order + 1)
    hashes, known = np.zeros(last, np.uint64), np.ones(last, bool)
    ids = tokens.astype(np.uint64) + np.uint64(1)
    for i in range(order):
        hashes = (hashes ^ ids[i : i + last]) * _FACTOR
        hashes ^= hashes >> np.uint64(29)
        known &= is_known[i : i + last]
    return hashes >> np.uint64(32) << np.uint64(32), known


@dataclass(frozen=True, eq=False)
class ReadText:
    """A training text on both strands, with the places of its documents.

    Attributes:
        documents: (D, 3): number into `CopiesConfig.chromosomes`, start and end, 0-based half-open.
    """

    forward: Strand
    reverse: Strand
    documents: NDArray[np.int64]

    @cached_property
    def strands(self) -> tuple[Strand, Strand]:
        """The two strands."""
        return self.forward, self.reverse

    def overlapping(self, chrom: int, start: int, end: int) -> NDArray[np.bool_]:
        """Return which documents share bases with an interval, (D,)."""
        chroms, starts, ends = self.documents.T
        return (chroms == chrom) & (starts < end) & (ends > start)

    def copies(
        self,
        tokens: NDArray,
        positions: NDArray[np.int64],
        config: CopiesConfig,
        left_out: NDArray[np.bool_] | None = None,
        rows: NDArray[np.int64] | None = None,
    ) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Return what copies say of some positions, and how good the copies are.

        A copy follows the latest occurrence of the tokens that are shown left, or right, of a position. Hidden
        tokens do not end it; special ones do. A position says nothing of itself.

        Args:
            tokens: (T,) ids of a batch, row after row; each row begins and ends with a special token.
            positions: (P,) into `tokens`.
            left_out: (rows, D) documents in which nothing is looked up.
            rows: (T,) row of each token.

        Returns:
            Ids (P, K), -1 without a copy, and features (P, K, `FEATURES`): whether there is a copy, length of
            the run of agreeing tokens to the left and to the right, shares that agree near and far; 0 to 1.
        """
        is_shown = tokens >= config.first_piece_id
        is_shown &= tokens != config.mask_id
        shown = np.where(is_shown, tokens, -1)
        ends = (tokens < config.first_piece_id) & (tokens != config.mask_id)
        stretch = np.cumsum(ends)  # between special tokens
        said, features = [], []
        for strand in self.strands:
            for order in config.orders:
                hashes, known = hashed(tokens, is_shown, order)
                begins = np.flatnonzero(known)
                excluded = None if left_out is None else left_out[rows[begins]]
                latest = _latest(strand, order, config.first_piece_id, hashes[begins], excluded)
                for step in (1, -1):
                    # A context left of token t begins at t - order, one right of it at t + 1.
                    source = np.full(len(tokens), _NOWHERE)
                    shift, next_token = (order, order) if step == 1 else (-1, -1)
                    beside = begins + shift
                    inside = (beside >= 0) & (beside < len(tokens)) & (latest >= 0)
                    source[beside[inside]] = latest[inside] + next_token
                    at, begun = (x[positions] for x in _followed(source, ends, step))
                    begun = begun if step == 1 else begun + 1  # the context, not what is before it
                    ids, scores = _compared(shown, stretch, positions, strand, at, begun)
                    said.append(np.where(ids >= config.first_piece_id, ids, -1))
                    features.append(scores * (said[-1] >= 0)[:, None])
        return np.stack(said, 1), np.stack(features, 1).astype(np.float32)


def _latest(
    strand: Strand,
    order: int,
    first_piece_id: int,
    hashes: NDArray[np.uint64],
    left_out: NDArray[np.bool_] | None,
) -> NDArray[np.int64]:
    """Return where each context occurred last in the documents that are not left out, or -1."""
    index = strand.index(order, first_piece_id)
    result = np.full(len(hashes), -1, np.int64)
    if not len(index):
        return result
    low = np.uint64(0xFFFFFFFF)
    before = np.full(len(hashes), low)  # positions from here on are not looked at
    open_ = np.arange(len(hashes))
    while len(open_):
        number = np.searchsorted(index, hashes[open_] | before[open_]) - 1
        entry = index[np.maximum(number, 0)]
        is_same = (number >= 0) & (entry >> np.uint64(32) == hashes[open_] >> np.uint64(32))
        open_, at = open_[is_same], (entry[is_same] & low).astype(np.int64)
        result[open_] = at
        if left_out is None:
            break
        document = strand.document(at)
        again = left_out[open_, document]
        open_, at = open_[again], strand.starts[document[again]]
        result[open_] = -1
        before[open_] = at.astype(np.uint64)
    return result


def _followed(
    source: NDArray[np.int64], ends: NDArray[np.bool_], step: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the source that is copied to each token, -1 where the last context is out of reach, and where it began."""
    if step == -1:
        source, ends = source[::-1], ends[::-1]
    source = np.where(ends, _NOWHERE, source)
    number = np.arange(len(source))
    anchor = np.maximum.accumulate(np.where((source >= 0) | ends, number, 0))
    age = number - anchor
    started = source[anchor]
    followed = np.where((started >= 0) & (age <= REACH) & ~ends, started + step * age, _NOWHERE)
    return (followed, started) if step == 1 else (followed[::-1], started[::-1])


def _compared(
    tokens: NDArray,
    stretch: NDArray[np.int64],
    positions: NDArray[np.int64],
    strand: Strand,
    sources: NDArray[np.int64],
    begun: NDArray[np.int64],
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the token at each source, and the features of the copy."""
    # A copy ends with the document that it began in: the next one may be left out.
    text, document = strand.tokens, strand.document(np.maximum(begun, 0))
    lows, highs = strand.starts[document], strand.starts[document + 1]
    ids = np.full(len(sources), -1, np.int64)
    inside = (sources >= 0) & (sources >= lows) & (sources < highs)
    ids[inside] = text[sources[inside]]
    scores = np.zeros((len(sources), FEATURES))
    some = np.flatnonzero(inside)
    low, high = lows[some, None], highs[some, None]
    agree, both, runs = [], [], []
    for side in (-1, 1):
        away = side * np.arange(1, COMPARED + 1)
        mine, theirs = positions[some, None] + away, sources[some, None] + away
        valid = (mine >= 0) & (mine < len(tokens)) & (theirs >= low) & (theirs < high)
        mine, theirs = np.where(valid, mine, 0), np.where(valid, theirs, 0)
        valid &= (tokens[mine] >= 0) & (stretch[mine] == stretch[positions[some], None])
        same = valid & (tokens[mine] == text[theirs])
        agree.append(same)
        both.append(valid)
        unbroken = np.cumsum(valid & ~same, axis=1) == 0
        runs.append((same & unbroken).sum(1) / COMPARED)
    scores[some, 0] = 1
    scores[some, 1:3] = np.stack(runs, 1)
    for k, most in enumerate((NEAREST, COMPARED)):
        right = sum(same[:, :most].sum(1) for same in agree)
        all_ = sum(valid[:, :most].sum(1) for valid in both)
        scores[some, 3 + k] = right / np.maximum(all_, 1)
    return ids, scores
