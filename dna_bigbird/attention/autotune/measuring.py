"""Time the backends on a problem of one class, whatever computes it."""

from collections.abc import Callable
from typing import NamedTuple

from dna_bigbird.attention.autotune.shape_class import ShapeClass

DENSE_UP_TO = 1024
"""Tokens: above, the whole score matrix is never the fastest."""

Call = Callable[[], object]
Make = Callable[[str, ShapeClass], Call]
Timer = Callable[[Call], float]


class Row(NamedTuple):
    """One backend."""

    backend: str
    seconds: float | None
    """Of one call; None if it does not run."""
    reason: str = ""
    """Why it does not, in one line."""


def candidates(shape: ShapeClass) -> list[str]:
    """Return the backends that are tried on a GPU."""
    names = ["triton", "flex", "gather"]
    return [*names, "dense"] if shape.tokens <= DENSE_UP_TO else names


def measure(shape: ShapeClass, make: Make, timer: Timer) -> list[Row]:
    """Return how long each backend takes, fastest first; those that do not run come last.

    Args:
        make: Returns the call of a backend.
        timer: Returns the seconds of a call.
    """
    rows = []
    for backend in candidates(shape):
        try:
            rows.append(Row(backend, timer(make(backend, shape))))
        except Exception as error:  # compilers raise any kind
            rows.append(Row(backend, None, first_line(error)))
    return sorted(rows, key=lambda row: (row.seconds is None, row.seconds))


def first_line(error: Exception) -> str:
    """Return the first line of what an error says."""
    return (str(error).strip() or type(error).__name__).splitlines()[0]
