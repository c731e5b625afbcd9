"""What a reader of text gives, and what a model reads of it at once."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class TextRow:
    """One input of a model."""

    token_ids: NDArray[np.int32]
    """Shape (T,), special ids included, no padding."""
    example: int
    """Index into `TextSet.examples`; several rows (windows, documents) may belong to one."""
    segment_ids: NDArray[np.int8] | None = None
    """Shape (T,); None: all 0."""
    arrays: dict[str, NDArray] = field(default_factory=dict)
    """Targets, positions, offsets: other arrays that the task needs."""


@dataclass(frozen=True)
class TextSet:
    """Examples of a set and the rows made from them."""

    examples: list
    """Frozen dataclasses of the reader, gold included (None where it is absent)."""
    rows: list[TextRow]
    """In the order of their examples."""
    counts: dict[str, int]
    """What was left out or changed, by reason in words: {"answer not in the evidence": 16}."""
