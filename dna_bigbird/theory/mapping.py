"""The contextual mapping on the star graph, checked by enumeration (Appendix A, Lemma 3).

The star: token 0 is global, it reads the tokens 1 … n; each of them reads token 0 and itself. A
mapping is contextual if it gives every token of every input a number that no other token, of this
input or of another one, has.

All numbers are multiples of δ = 1/m, so they are computed as whole numbers, times m.
"""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True)
class Grid:
    """Inputs: n tokens of d coordinates, each 0, δ, …, 1 - δ, with δ = 1 / m."""

    tokens: int
    dims: int
    m: int
    first_position: int = 1
    """1 as the bounds of the paper assume; 0 as its displayed matrix has it for the first token."""

    def inputs(self) -> Iterator[tuple[tuple[int, ...], ...]]:
        """Yield every input, its coordinates times m: m^(n d) of them."""
        token = list(itertools.product(range(self.m), repeat=self.dims))
        return itertools.product(token, repeat=self.tokens)

    def start(self, tokens: tuple[tuple[int, ...], ...]) -> list[int]:
        """Return ⟨u, x⟩ of token 0 and of the tokens, times m.

        u = (1, δ⁻¹, …, δ^{-(d-1)}, δ^{-nd}). Token 0 has only the last coordinate, 1. Token k has the
        position δ^{-(k-1)d} in its first one, so that its value is in [δ^{-(k-1)d}, δ^{-kd}).
        """
        values = [self.m ** (self.tokens * self.dims + 1)]
        for k, token in enumerate(tokens):
            position = self.m ** (k * self.dims + 1) if k else self.first_position * self.m
            values.append(position + sum(x * self.m**i for i, x in enumerate(token)))
        return values


@dataclass(frozen=True)
class Mapped:
    """The numbers of one input, times m."""

    last: tuple[int, ...]
    """Of the tokens 1 … n after the last layer."""
    before_last: tuple[int, ...]
    """Of the tokens before it."""
    global_value: int
    """Of token 0."""


def map_input(grid: Grid, tokens: tuple[tuple[int, ...], ...]) -> Mapped:
    """Return the numbers of an input: n pairs of shifts, and the last layer.

    For k = 1 … n: l_k ← l_k + δ^{-d} (f - l_k), then f ← f + δ^{-nd} (max - min of the l). At last
    l_i ← l_i + δ^{-n²d} (f - l_i) for every i.
    """
    global_value, *values = grid.start(tokens)
    n, d, m = grid.tokens, grid.dims, grid.m
    for k in range(n):
        values[k] += m**d * (global_value - values[k])
        global_value += m ** (n * d) * (max(values) - min(values))
    last = tuple(value + m ** (n * n * d) * (global_value - value) for value in values)
    return Mapped(last, tuple(values), global_value)


@dataclass(frozen=True)
class MappingCheck:
    """What enumeration shows for one grid."""

    grid: Grid
    inputs: int
    is_contextual: bool
    """All numbers of all tokens of all inputs differ."""
    collisions_without_last: int
    """Numbers that occur more than once if the last layer is left out."""
    collisions_of_global: int
    """Inputs that share the value of token 0 with an earlier input."""
    bits: int
    """Bits of the largest number."""


def check_mapping(grid: Grid) -> MappingCheck:
    """Map every input of a grid and compare all numbers.

    Example:
        >>> check = check_mapping(Grid(tokens=3, dims=1, m=2))
        >>> check.inputs, check.is_contextual, check.collisions_of_global > 0
        (8, True, True)
    """
    mapped = [map_input(grid, tokens) for tokens in grid.inputs()]
    last = [value for each in mapped for value in each.last]
    before = [value for each in mapped for value in each.before_last]
    return MappingCheck(
        grid,
        len(mapped),
        len(set(last)) == len(last),
        len(before) - len(set(before)),
        len(mapped) - len({each.global_value for each in mapped}),
        max(last).bit_length(),
    )


def separated_stages(grid: Grid) -> list[tuple[bool, bool]]:
    """Return for every k whether thresholds exist that fit all inputs at once.

    A network has fixed thresholds: the shift of token k must apply to values in
    [δ^{-(k-1)d}, δ^{-kd}), where in every input only token k may be; and the shift of token 0 to an
    interval that has token 0 of every input and no other token of any.

    Returns:
        (the interval of token k has only token k, an interval of token 0 exists), for k = 1 … n.
    """
    n, d, m = grid.tokens, grid.dims, grid.m
    states = [grid.start(tokens) for tokens in grid.inputs()]
    stages = []
    for k in range(1, n + 1):
        low, high = m ** ((k - 1) * d + 1), m ** (k * d + 1)
        alone = all(
            [i for i, value in enumerate(state) if low <= value < high] == [k] for state in states
        )
        for state in states:
            state[k] += m**d * (state[0] - state[k])
        globals_ = [state[0] for state in states]
        between = any(
            min(globals_) <= value <= max(globals_) for state in states for value in state[1:]
        )
        for state in states:
            state[0] += m ** (n * d) * (max(state[1:]) - min(state[1:]))
        stages.append((alone, not between))
    return stages
