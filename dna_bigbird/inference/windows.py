"""Cutting sequences into the windows that a model sees."""

from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True)
class Window:
    """A piece of a named sequence; `start` and `end` are 0-based, half-open on that sequence."""

    name: str
    start: int
    end: int
    bases: str


def window_starts(length_bp: int, window_bp: int, stride_bp: int) -> list[int]:
    """Return where windows start so that together they cover every base.

    A sequence no longer than a window is one window. Otherwise windows follow each other by the
    stride, and the last one is moved left to end with the sequence, so that none is short.

    Example:
        >>> window_starts(2500, window_bp=1000, stride_bp=1000)
        [0, 1000, 1500]
        >>> window_starts(700, window_bp=1000, stride_bp=1000)
        [0]
    """
    if length_bp <= window_bp:
        return [0]
    last = length_bp - window_bp
    return [*range(0, last, stride_bp), last]


def windows_of(
    name: str, bases: str, window_bp: int, stride_bp: int, offset: int = 0
) -> Iterator[Window]:
    """Yield the windows of one sequence; `offset` is added to their coordinates."""
    for start in window_starts(len(bases), window_bp, stride_bp):
        end = min(start + window_bp, len(bases))
        yield Window(name, offset + start, offset + end, bases[start:end])
