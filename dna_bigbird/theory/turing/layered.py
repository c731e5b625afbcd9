"""The decoder computed with the weight matrices of `layers`: level (e)."""

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from dna_bigbird.theory.turing.decoder import Number, edges_of, step_of, triangular
from dna_bigbird.theory.turing.layers import STATE_SLOTS, Layers, Layout
from dna_bigbird.theory.turing.machine import Configuration, Machine, check_word
from dna_bigbird.theory.turing.matrices import Matrix, Vector, add, vector_of

Attend = Callable[[int, list[Vector], list[Vector], list[Vector]], Vector]
"""Attention of the last node: (node from 1, queries, keys, values of all nodes so far)."""


class Position(NamedTuple):
    """One position of the decoder."""

    configuration: Configuration
    """Read from the vector, which must be exactly one-hot in state and symbol."""
    gap: Number | None
    """Difference of f² between the best key and the next one that leads to another record."""


def run_layers(
    layers: Layers,
    word: str,
    steps: int,
    number: Callable[[int], Number] = Fraction,
    attend: Attend | None = None,
) -> Iterator[Position]:
    """Yield the positions of `steps` machine steps: T(steps) + 1 of them."""
    layout = layers.layout
    attend = attend or hardmax
    machine = layout.machine
    check_word(machine, word)
    # Before the first node: initial state, a blank, cell 0, no record.
    values_at_start = {layout.at("state", machine.start): 1, layout.at("symbol", machine.blank): 1}
    vector = vector_of(values_at_start, layout.size, number)
    queries: list[Vector] = []
    keys: list[Vector] = []
    values: list[Vector] = []
    for node in range(1, triangular(steps) + 2):
        configuration = read_configuration(layout, vector)
        if node > triangular(steps):
            yield Position(configuration, None)
            return
        x = add(vector, position_code(layout, node, number))
        x = add(x, cross_attention(layers, word, x, number))
        x = add(x, layers.transition(x))
        x = add(x, layers.gating(x))
        for matrix, so_far in ((layers.query, queries), (layers.key, keys), (layers.value, values)):
            so_far.append(matrix.times(x))
        yield Position(configuration, square_gap(node, queries, keys, values))
        x = add(x, layers.into_carried.times(attend(node, queries, keys, values)))
        vector = layers.output(x)


def position_code(layout: Layout, node: int, number: Callable) -> Vector:
    """Return the position encoding of a node: six numbers, functions of the node alone."""
    step = step_of(node)
    h = step_of(node + 1) - step
    values = {
        "constant": 1, "number": step + 1, "eps": number(1) / (step + 1), "is_compute": h,
        "bound_compute": h * (step + 2), "bound_other": (1 - h) * (step + 2),
    }  # fmt: skip
    return vector_of({layout.at(k): v for k, v in values.items()}, layout.size, number)


def cross_attention(layers: Layers, word: str, x: Vector, number: Callable) -> Vector:
    """Return the input symbol nearest to this step, and its position."""
    # Hardmax of -|⟨(g + 1, 1), (1, -i)⟩| over the positions i of the input.
    layout = layers.layout
    letters = word or layout.machine.blank
    query = layers.encoder_query.times(x)
    keys = [(1, -position) for position in range(1, len(letters) + 1)]
    scores = [abs(query[0] * a + query[1] * b) for a, b in keys]
    best = min(range(len(letters)), key=scores.__getitem__)
    values = {layout.at("encoder_symbol", letters[best]): 1, layout.at("input_position"): best + 1}
    return vector_of(values, layout.size, number)


def hardmax(node: int, queries: list[Vector], keys: list[Vector], values: list[Vector]) -> Vector:
    """Return the mean value of the edges whose score -|⟨q, k⟩| is largest."""
    edges = edges_of(node)
    scores = [abs(_dot(queries[-1], keys[edge - 1])) for edge in edges]
    best = [edge for edge, score in zip(edges, scores, strict=True) if score == min(scores)]
    total = values[best[0] - 1]
    for edge in best[1:]:
        total = add(total, values[edge - 1])
    share = Fraction(1, len(best))
    if isinstance(total, np.ndarray):
        return total * float(share)
    return [x * share for x in total]


def square_gap(
    node: int, queries: list[Vector], keys: list[Vector], values: list[Vector]
) -> Number | None:
    """Return how far apart f² = ⟨q, k⟩² is for the two edges; None if both lead to one record."""
    edges = edges_of(node)
    first, last = edges[0] - 1, edges[-1] - 1
    if all(a == b for a, b in zip(values[first], values[last], strict=True)):
        return None
    squares = [_dot(queries[-1], keys[edge]) ** 2 for edge in (first, last)]
    return abs(squares[0] - squares[1])


def _dot(first: Vector, second: Vector) -> Number:
    return sum(a * b for a, b in zip(first, second, strict=True))


def read_configuration(layout: Layout, vector: Vector) -> Configuration:
    """Return what a vector says; a text with '?' for a slot that is not exactly one-hot."""

    def one_hot(slot: str) -> str:
        values = {v: vector[layout.at(slot, v)] for v in layout.values_of(slot)}
        chosen = [value for value, number in values.items() if number == 1]
        return chosen[0] if len(chosen) == 1 and sum(map(abs, values.values())) == 1 else "?"

    cell = vector[layout.at("cell")]
    return Configuration(
        one_hot(STATE_SLOTS[0]), one_hot("symbol"), int(cell) if cell == int(cell) else -(10**9)
    )


def layers_of(machine: Machine, fixed_bound: int = 0) -> Layers:
    """Return the weights for a machine."""
    return Layers(Layout(machine), fixed_bound)


def sizes(layers: Layers) -> dict[str, Sequence[int]]:
    """Return the sizes of the matrices: (rows, columns), or the units of each hidden layer."""
    networks = {"transition": layers.transition, "gating": layers.gating, "output": layers.output}
    matrices: dict[str, Matrix] = {"query": layers.query, "key": layers.key, "value": layers.value}
    sizes = {name: network.hidden_sizes for name, network in networks.items()}
    return sizes | {name: (len(m.rows), m.columns) for name, m in matrices.items()}
