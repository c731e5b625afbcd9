"""Ranges of numbers: part of the type of a setting or argument, which is all that states them; optional settings.

    class KmersConfig:
        max_k: Annotated[int, Range(-1, most=8)] = -1

`choices.check_argument` refuses other values, and the schema of the workflow's config is made from them (tools/schema.py).
"""

import inspect
import math
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, TypeVar

Settings = TypeVar("Settings")


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


def optional(
    declared: type, sentences: Mapping[str, str]
) -> Callable[[type[Settings]], type[Settings]]:
    """Make a decorator of a frozen dataclass that has fields of another one as `... | None`, None if not given.

    Example:
        >>> @dataclass(frozen=True)
        ... class Training:
        ...     steps: Positive = 100
        >>> @optional(Training, {"steps": "If not given: chosen for the data."})
        ... class PartialTraining: ...
        >>> PartialTraining(), PartialTraining(steps=3)
        (PartialTraining(steps=None), PartialTraining(steps=3))
    """

    def decorate(settings: type[Settings]) -> type[Settings]:
        hints = {name: inspect.get_annotations(declared)[name] | None for name in sentences}
        settings.__annotations__ = hints | inspect.get_annotations(settings)
        for name in sentences:
            setattr(settings, name, None)
        settings.OPTIONAL = declared, sentences  # type: ignore[attr-defined]
        return dataclass(frozen=True)(settings)

    return decorate
