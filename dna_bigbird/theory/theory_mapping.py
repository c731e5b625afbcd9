"""`dna-bigbird theory mapping`."""

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from dna_bigbird.core.choices import checked
from dna_bigbird.core.errors import InputError
from dna_bigbird.core.paths import OutputPath
from dna_bigbird.core.tables import Table, check_suffix, write_figure
from dna_bigbird.theory.results import TheoryResult

# The contextual mapping on the star graph, checked by enumeration (Appendix A, Lemma 3).
#
# The star: token 0 is global, it reads the tokens 1 … n; each of them reads token 0 and itself. A
# mapping is contextual if it gives every token of every input a number that no other token, of this
# input or of another one, has.
#
# All numbers are multiples of δ = 1/m, so they are computed as whole numbers, times m.


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
    """Return for k = 1 … n: the interval of token k has only it; one of token 0 exists.

    A network has fixed thresholds: the shift of token k must apply to values in
    [δ^{-(k-1)d}, δ^{-kd}), where in every input only token k may be; and the shift of token 0 to an
    interval that has token 0 of every input and no other token of any.
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


# --- Piecewise constant functions (Appendix A, Lemma 1): the error falls with the step δ ---

Sequences = Sequence[Fraction]
"""n tokens of one coordinate each, in [0, 1)."""


FUNCTIONS: dict[str, tuple[Callable[[Sequences], list[Fraction]], int]] = {
    "mean": (lambda x: [sum(x, Fraction(0)) / len(x)] * len(x), 1),
    "product with the largest": (lambda x: [value * max(x) for value in x], 2),
    "distance to the first": (lambda x: [abs(value - x[0]) for value in x], 2),
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
    """Return the largest error at `points` per cube and coordinate, at most constant · δ."""
    steps = [Fraction(i, m * points) for i in range(m * points)]
    return max(
        abs(a - b)
        for x in itertools.product(steps, repeat=tokens)
        for a, b in zip(function(x), function(rounded_down(x, m)), strict=True)
    )


SIZES = (
    (2, 1, 2), (2, 1, 3), (3, 1, 2), (3, 1, 3), (2, 2, 2), (2, 2, 3), (4, 1, 2), (3, 2, 2),
    (4, 2, 2), (3, 2, 3),
)  # fmt: skip
MOST_INPUTS = 1_000_000
STEPS = (2, 4, 8, 16)
"""1/δ of piecewise constant functions."""


@checked()
def mapping(
    grid: list[int] | None = None, steps: bool = True, output: OutputPath | None = None
) -> TheoryResult:
    """Check the contextual mapping on the star graph for every input of a grid (Appendix A, Lemma 3).

    The numbers of all tokens of all inputs must differ. Without the last layer they collide, and
    the value of the global token alone may, too. Everything is computed with whole numbers. Also
    shown: how the error of piecewise constant functions falls with the step (Lemma 1).

    Examples:
        dna-bigbird theory mapping
        dna-bigbird theory mapping --grid 5 1 3 --steps false
        dna-bigbird theory mapping --output errors.png

    Args:
        grid: Tokens n, coordinates d and steps per unit m of one grid; ten grids if not given.
        steps: Also show the error of piecewise constant functions.
        output: Result to write: this error by the step, with its bound; png, svg or pdf.
    """

    check_suffix(output)
    if output is not None and not steps:
        raise InputError("--output draws what --steps false leaves out; leave out one of them")
    if grid is not None and (len(grid) != 3 or min(grid[:2]) < 1 or grid[2] < 2):
        raise InputError(f"--grid {grid}: expected three numbers n, d and m: 1, 1 and 2 or more")
    rows = []
    for n, d, m in [grid] if grid else SIZES:
        if m ** (n * d) > MOST_INPUTS:
            raise InputError(
                f"--grid {n} {d} {m}: {m}^{n * d} inputs; expected at most {MOST_INPUTS:,}"
            )
        check = check_mapping(Grid(n, d, m))
        alone = all(a and b for a, b in separated_stages(Grid(n, d, m)))
        rows.append(
            {
                "n, d, 1/δ": f"{n}, {d}, {m}",
                "inputs": check.inputs,
                "contextual": "yes" if check.is_contextual else "no",
                "thresholds exist": "yes" if alone else "no",
                "collisions without the last layer": check.collisions_without_last,
                "of the global value alone": check.collisions_of_global,
                "bits": check.bits,
            }
        )
    text = [Table(rows).to_text()]
    if steps:
        errors = {
            name: [float(largest_error(function, 2, m)) for m in STEPS]
            for name, (function, _) in FUNCTIONS.items()
        }
        lines = [
            {"function": name}
            | {f"δ = 1/{m}": f"{error:.3f}" for m, error in zip(STEPS, errors[name], strict=True)}
            | {"bound at 1/16": f"{constant / 16:.3f}"}
            for name, (_, constant) in FUNCTIONS.items()
        ]
        text += [
            "",
            "largest error of the piecewise constant function, two tokens:",
            Table(lines).to_text(),
        ]
    if output is not None:
        from dna_bigbird.theory.figures import error_figure

        constants = {name: constant for name, (_, constant) in FUNCTIONS.items()}
        write_figure(output, error_figure(STEPS, errors, constants))
    return TheoryResult(output, rows, "\n".join(text))
