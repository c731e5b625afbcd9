"""The selective shift (Appendix A, Lemma 2): two hardmax heads with thresholds, no ReLU."""

from collections.abc import Mapping, Sequence
from fractions import Fraction

Value = int | Fraction
Neighbours = Mapping[int, Sequence[int]]
"""The tokens that each token reads."""


def star(tokens: int) -> dict[int, list[int]]:
    """Return the star graph: token 0 reads the others, each of them reads token 0 and itself.

    Example:
        >>> star(2)
        {0: [1, 2], 1: [0, 1], 2: [0, 2]}
    """
    return {0: list(range(1, tokens + 1))} | {i: [0, i] for i in range(1, tokens + 1)}


def shift_by_definition(
    values: Sequence[Value], neighbours: Neighbours, low: Value, high: Value, factor: Value
) -> list[Value]:
    """Return the values after the shift, as Lemma 2 defines it.

    Token i with low < values[i] < high moves by factor (max - min of what it reads), the others
    stay. (The printed condition tests token j, a slip: it is the row i that is selected.)
    """
    shifted = []
    for i, value in enumerate(values):
        read = [values[j] for j in neighbours[i]]
        shifted.append(value + factor * (max(read) - min(read)) if low < value < high else value)
    return shifted


def shift_by_heads(
    values: Sequence[Value], neighbours: Neighbours, low: Value, high: Value, factor: Value
) -> list[Value]:
    """Return the same by attention: the difference of two heads with thresholds.

    A head with threshold b scores (values[i] - b) values[j]: hardmax takes the largest value that
    token i reads if values[i] > b, the smallest if values[i] < b. The heads for `low` and `high`
    differ only between the thresholds.

    Raises:
        ValueError: If a value equals a threshold, where the two heads are not defined.
    """
    first, second = (_head(values, neighbours, threshold) for threshold in (low, high))
    return [value + factor * (a - b) for value, a, b in zip(values, first, second, strict=True)]


def _head(values: Sequence[Value], neighbours: Neighbours, threshold: Value) -> list[Value]:
    outputs = []
    for i, value in enumerate(values):
        if value == threshold:
            raise ValueError(f"token {i} has the value of the threshold, {threshold}")
        outputs.append(
            max((values[j] for j in neighbours[i]), key=lambda x: (value - threshold) * x)
        )
    return outputs
