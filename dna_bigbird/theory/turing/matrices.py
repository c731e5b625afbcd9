"""Weight matrices whose entries are exact, and ReLU networks made of them."""

from collections import defaultdict
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

Vector = Sequence
"""Numbers of one type: Fraction, or float64 in an array."""
Weights = Mapping[int, int | Fraction]
"""A row of a matrix: weight by column."""


@dataclass(frozen=True)
class Matrix:
    """A matrix given by its rows; entries that are not listed are 0."""

    rows: tuple[Weights, ...]
    columns: int

    def times(self, vector: Vector) -> Vector:
        """Return the product with a vector, in the arithmetic of the vector."""
        if isinstance(vector, np.ndarray):
            return self.dense @ vector
        return [sum((w * vector[i] for i, w in row.items()), Fraction(0)) for row in self.rows]

    @cached_property
    def dense(self) -> np.ndarray:
        """The matrix as float64 (rows, columns)."""
        array = np.zeros((len(self.rows), self.columns))
        for number, row in enumerate(self.rows):
            array[number, list(row)] = [float(weight) for weight in row.values()]
        return array


@dataclass(frozen=True)
class Network:
    """A fully connected network: matrices with ReLU between them, and no bias."""

    matrices: tuple[Matrix, ...]

    def __call__(self, vector: Vector) -> Vector:
        """Return the output."""
        for matrix in self.matrices[:-1]:
            vector = relu(matrix.times(vector))
        return self.matrices[-1].times(vector)

    @property
    def hidden_sizes(self) -> tuple[int, ...]:
        """Units of each hidden layer."""
        return tuple(len(matrix.rows) for matrix in self.matrices[:-1])


def relu(vector: Vector) -> Vector:
    """Return max(x, 0) of each number."""
    if isinstance(vector, np.ndarray):
        return np.maximum(vector, 0.0)
    return [x if x > 0 else Fraction(0) for x in vector]


def add(first: Vector, second: Vector) -> Vector:
    """Return the sum of two vectors: a residual connection."""
    if isinstance(first, np.ndarray):
        return first + second
    return [a + b for a, b in zip(first, second, strict=True)]


class Update:
    """A network with one hidden layer whose output is added to a vector, while it is built."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.units: list[Weights] = []
        self.output: list[dict[int, int]] = [{} for _ in range(size)]

    def add_to(self, index: int, weights: Weights, times: int = 1) -> None:
        """Add `times` ReLU(weights · x) to x[index]."""
        self.output[index][self.unit(weights)] = times

    def unit(self, weights: Weights) -> int:
        """Add ReLU(weights · x) as a hidden unit that several sums may use; return its number."""
        self.units.append(dict(weights))
        return len(self.units) - 1

    def add_signed(self, index: int, weights: Weights, times: int = 1) -> None:
        """Add `times` (weights · x), a number of any sign, to x[index]: as two units."""
        self.add_to(index, weights, times)
        self.add_to(index, {column: -weight for column, weight in weights.items()}, -times)

    def network(self) -> Network:
        """Return the network."""
        last = Matrix(tuple(self.output), len(self.units))
        return Network((Matrix(tuple(self.units), self.size), last))


class Wires:
    """A network with several hidden layers, while it is built; its numbers have names."""

    def __init__(self, size: int, inputs: Mapping[Hashable, int]) -> None:
        self.size, self.columns = size, size
        self.names: dict[Hashable, Weights] = {name: {index: 1} for name, index in inputs.items()}
        self.matrices: list[Matrix] = []

    def stage(self, units: Mapping[Hashable, Mapping], keep: Sequence[Hashable]) -> None:
        """Add a hidden layer: ReLU of each sum; what is kept passes as ReLU(x) - ReLU(-x)."""
        rows = [self._row(weights) for weights in units.values()]
        names: dict[Hashable, Weights] = {name: {i: 1} for i, name in enumerate(units)}
        for name in keep:
            names[name] = {len(rows): 1, len(rows) + 1: -1}
            rows += [self._row({name: 1}), self._row({name: -1})]
        self.matrices.append(Matrix(tuple(rows), self.columns))
        self.names, self.columns = names, len(rows)

    def network(self, sums: Mapping[int, Mapping]) -> Network:
        """Return the network whose output has these sums at these indices, 0 elsewhere."""
        rows = tuple(self._row(sums.get(index, {})) for index in range(self.size))
        return Network((*self.matrices, Matrix(rows, self.columns)))

    def _row(self, weights: Mapping) -> Weights:
        """Return weights of named numbers as weights of the units before."""
        row: dict[int, int | Fraction] = defaultdict(int)
        for name, weight in weights.items():
            for unit, sign in self.names[name].items():
                row[unit] += weight * sign
        return dict(row)


def vector_of(values: Mapping[int, object], size: int, number: Callable) -> Vector:
    """Return a vector with these values, 0 elsewhere, of Fraction or float."""
    if number is float:
        array = np.zeros(size)
        array[list(values)] = [float(value) for value in values.values()]
        return array
    return [Fraction(values.get(index, 0)) for index in range(size)]
