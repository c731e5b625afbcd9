"""Ranges of numbers: part of the type of a setting or argument, which is all that states them.

    class KmersConfig:
        max_k: Annotated[int, Range(-1, most=8)] = -1

`choices.check_argument` refuses other values, and the schema of the workflow's config is made from them (tools/schema.py).
"""

import math
import typing
from dataclasses import dataclass
from typing import Annotated


@dataclass(frozen=True)
class Range:
    """The finite numbers that a setting may have.

    Example:
        >>> str(Range(0, below=1)), 1 in Range(0, below=1), float("nan") in Range(above=0)
        ('at least 0 and below 1', False, False)
    """

    least: float | None = None
    most: float | None = None
    above: float | None = None
    below: float | None = None

    def __contains__(self, value: float) -> bool:
        return (
            -math.inf < value < math.inf
            and (self.least is None or value >= self.least)
            and (self.most is None or value <= self.most)
            and (self.above is None or value > self.above)
            and (self.below is None or value < self.below)
        )

    def __str__(self) -> str:
        words = {
            "at least": self.least,
            "above": self.above,
            "at most": self.most,
            "below": self.below,
        }
        return " and ".join(f"{word} {end}" for word, end in words.items() if end is not None)


def range_of(hint: object) -> Range | None:
    """Return the range that a type carries, also within `... | None`."""
    for part in getattr(hint, "__metadata__", ()):
        if isinstance(part, Range):
            return part
    return next((limits for each in typing.get_args(hint) if (limits := range_of(each))), None)


Count = Annotated[int, Range(0)]
Seed = Annotated[int, Range(0, most=2**63 - 1)]
Positive = Annotated[int, Range(1)]
NotNegative = Annotated[float, Range(0)]
AboveZero = Annotated[float, Range(above=0)]
Share = Annotated[float, Range(0, most=1)]
ShareBelowOne = Annotated[float, Range(0, below=1)]
