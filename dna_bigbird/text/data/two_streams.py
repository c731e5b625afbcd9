"""The long and the global stream of a text row for BigBird-ETC (specification §3)."""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from dna_bigbird.models.attention_config import FIRST, QUESTION, SENTENCE

# T long tokens, G global tokens

SENTENCE_SEGMENT, TITLE_SEGMENT, QUESTION_SEGMENT, CANDIDATE_SEGMENT = 1, 2, 3, 4
"""Segments of long tokens where the public ETC code has them: HotpotQA and WikiHop."""
NUM_SEGMENTS = 5


class TwoStreams:
    """A row that grows: its tokens, its global tokens, and which token belongs to which.

    Attributes:
        ids: Tokens of the long stream so far.
        types: Types of the global tokens so far (`global_types`).
    """

    def __init__(self) -> None:
        self.ids: list[int] = []
        self.types: list[int] = []
        self._segments: list[int] = []
        self._free: list[bool] = []
        self._links: set[tuple[int, int]] = set()
        self._part = 0
        self._parts: list[int] = []
        self._global_parts: list[int] = []

    def cut(self) -> None:
        """Begin another part: the band of the long stream ends here."""
        self._part += 1

    def add_global(self, type_: int = SENTENCE, *, free: bool = False) -> int:
        """Add a global token and return its position.

        Args:
            free: It reads everything in spite of `hard_g2l`.
        """
        self.types.append(type_)
        self._free.append(free)
        self._global_parts.append(self._part)
        return len(self.types) - 1

    def add_tokens(self, ids: Iterable[int], segment: int, owners: Iterable[int] = ()) -> int:
        """Add tokens that belong to global tokens, and return the position of the first."""
        first, owners = len(self.ids), tuple(owners)
        for token in ids:
            self.link(len(self.ids), *owners)
            self.ids.append(int(token))
            self._segments.append(segment)
            self._parts.append(self._part)
        return first

    def add_each(self, ids: Iterable[int], segment: int, type_: int, *, free: bool = False) -> None:
        """Add tokens with a global token of its own for each."""
        for token in ids:
            self.add_tokens([token], segment, [self.add_global(type_, free=free)])

    def link(self, position: int, *owners: int) -> None:
        """Let the token at a position belong to global tokens."""
        self._links |= {(position, owner) for owner in owners}

    @property
    def segment_ids(self) -> NDArray[np.int8]:
        """Segments of the long tokens (T,)."""
        return np.array(self._segments, np.int8)

    def arrays(self) -> dict[str, NDArray]:
        """Return what `TextRow.arrays` has of both streams.

        `global_types` (G,), `free_global` (G,); `parts` (T,) and `global_parts` (G,), numbers of the
        parts; `links` (n, 2), a long token and the global token that it belongs to.
        """
        return {
            "global_types": np.array(self.types, np.int8),
            "free_global": np.array(self._free, bool),
            "global_parts": np.array(self._global_parts, np.int16),
            "parts": np.array(self._parts, np.int16),
            "links": np.array(sorted(self._links), np.int32).reshape(-1, 2),
        }


def question_and_parts(
    num_front: int, part_T: NDArray[np.integer], max_global: int
) -> dict[str, NDArray]:
    """Return `TwoStreams.arrays` of a row `[CLS] question [SEP]`, then the parts of a text, uncut.

    Global tokens: one for each of the first tokens, [CLS] to [SEP], then one for each part in the
    order of the text (ETC, models/nq/preproc_nq_lib.py). Tokens of further parts than there is room for
    belong to the last global token.

    Args:
        num_front: Tokens before the text.
        part_T: Number of each token's part; -1 before the text, and for tokens of none.
        max_global: Most global tokens.
    """
    streams = TwoStreams()
    for position in range(num_front):
        streams.add_tokens([0], 0, [streams.add_global(FIRST if position == 0 else QUESTION)])
    before = -1
    for part in part_T[num_front:].tolist():
        if part not in (before, -1) and len(streams.types) < max_global:
            streams.add_global(SENTENCE)
        before = part
        streams.add_tokens([0], 0, [] if part == -1 else [len(streams.types) - 1])
    return streams.arrays()
