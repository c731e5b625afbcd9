"""Piecewise constant functions (Appendix A, Lemma 1): the error falls with the step δ."""

import itertools
from collections.abc import Callable, Sequence
from fractions import Fraction

Sequences = Sequence[Fraction]
"""n tokens of one coordinate each, in [0, 1)."""


def mean_of_all(x: Sequences) -> list[Fraction]:
    """Every token gets the mean."""
    return [sum(x, Fraction(0)) / len(x)] * len(x)


def product_with_largest(x: Sequences) -> list[Fraction]:
    """Every token is multiplied with the largest."""
    return [value * max(x) for value in x]


def distance_to_first(x: Sequences) -> list[Fraction]:
    """Every token gets its distance to the first one."""
    return [abs(value - x[0]) for value in x]


FUNCTIONS: dict[str, tuple[Callable, int]] = {
    "mean": (mean_of_all, 1),
    "product with the largest": (product_with_largest, 2),
    "distance to the first": (distance_to_first, 2),
}
"""Function and its Lipschitz constant, both in the maximum norm."""


def rounded_down(x: Sequences, m: int) -> list[Fraction]:
    """Return the corner of the cube of width 1/m that contains a point.

    Example:
        >>> rounded_down([Fraction(3, 8), Fraction(5, 8)], 2)
        [Fraction(0, 1), Fraction(1, 2)]
    """
    return [Fraction(int(value * m), m) for value in x]


def largest_error(function: Callable, tokens: int, m: int, points: int = 4) -> Fraction:
    """Return the largest difference between a function and its value at the corner of the cube.

    Exact at the points that are tried: `points` per cube and coordinate, evenly spread and the cube's
    last point nearly included. At most Lipschitz constant times δ.
    """
    steps = [Fraction(i, m * points) for i in range(m * points)]
    return max(
        abs(a - b)
        for x in itertools.product(steps, repeat=tokens)
        for a, b in zip(function(x), function(rounded_down(x, m)), strict=True)
    )
