"""Levels (e) and (f): weight matrices, ReLU and hardmax; then this package's own attention."""

from fractions import Fraction

import numpy as np
import pytest

from dna_bigbird.theory.turing.decoder import edges_of, first_deviation
from dna_bigbird.theory.turing.layered import layers_of, position_code, run_layers
from dna_bigbird.theory.turing.machine import bundled_machine, run_machine
from dna_bigbird.theory.turing.matrices import Matrix, Network
from dna_bigbird.theory.turing.package_attention import (
    attend_edges,
    edge_pattern,
    run_package,
    scale_for,
)

CASES = [
    ("increment", "1"), ("increment", "101"), ("increment", "0111"), ("palindrome", ""),
    ("palindrome", "a"), ("palindrome", "ab"), ("palindrome", "aba"), ("bouncing", ""),
    ("bouncing", "1"), ("bouncing", "10"), ("copy", "a"), ("copy", "ab"), ("copy", "bba"),
    ("multiply", "1*1"), ("multiply", "*"), ("busy_beaver", ""), ("mark_start", ""),
    ("mark_start", "11"),
]  # fmt: skip
FAST = [("increment", "1"), ("palindrome", "a"), ("mark_start", "11"), ("bouncing", "")]


def deviation(name, word, steps, number, **options):
    machine = bundled_machine(name)
    expected = run_machine(machine, word, steps).configurations
    positions = list(run_layers(layers_of(machine, **options), word, len(expected) - 1, number))
    return first_deviation(positions, expected)


def package_run(name, word, steps):
    machine = bundled_machine(name)
    expected = run_machine(machine, word, steps).configurations
    result = run_package(layers_of(machine), word, len(expected) - 1)
    return result, first_deviation(result.positions, expected)


@pytest.mark.parametrize(("name", "word"), FAST)
def test_matrices_agree_with_the_simulator(name, word):
    assert deviation(name, word, 7, Fraction) is None
    assert deviation(name, word, 12, float) is None


@pytest.mark.slow
@pytest.mark.parametrize(("name", "word"), CASES)
def test_matrices_on_18_inputs(name, word):
    """Exact over 14 machine steps, in float64 over 25."""
    assert deviation(name, word, 14, Fraction) is None
    assert deviation(name, word, 25, float) is None


@pytest.mark.parametrize(("name", "word"), FAST)
def test_own_attention_agrees_with_the_simulator(name, word):
    result, first = package_run(name, word, 6)
    assert first is None
    assert result.largest_change == 0


@pytest.mark.slow
@pytest.mark.parametrize(("name", "word"), CASES)
def test_own_attention_on_18_inputs(name, word):
    result, first = package_run(name, word, 14)
    assert first is None
    assert result.largest_change == 0
    assert result.smallest_gap is None or result.smallest_gap > 0


def test_own_attention_reads_only_the_edges_of_a_position(monkeypatch):
    """At most three rows a position, so that the time grows with the positions; then all at once."""
    module = "dna_bigbird.theory.turing.package_attention.attend_edges"
    rows = []

    def counted(queries, *others):
        rows.append(len(queries))
        return attend_edges(queries, *others)

    monkeypatch.setattr(module, counted)
    assert package_run("bouncing", "10", 20)[1] is None
    assert max(rows[:-1]) == 3
    assert rows[-1] == len(rows) - 1 == 210


def test_a_softer_softmax_is_wrong(monkeypatch):
    """The scale matters: with a thousandth of it records mix."""
    module = "dna_bigbird.theory.turing.package_attention.scale_for"
    monkeypatch.setattr(module, lambda gap, head_dim: scale_for(gap, head_dim) / 1024)
    assert package_run("bouncing", "", 6)[1] is not None


def test_the_fixed_bound_of_the_printed_selection_fails_later():
    """Slip 6: with a constant instead of the bounds of the position, long runs go wrong."""
    assert deviation("bouncing", "10", 12, float, fixed_bound=100) is None
    first = deviation("bouncing", "10", 12, float, fixed_bound=3)
    assert first is not None
    assert deviation("bouncing", "10", 12, float) is None


def test_a_vector_has_the_stated_size():
    for name in ("increment", "copy", "multiply"):
        machine = bundled_machine(name)
        layers = layers_of(machine)
        size = 2 * len(machine.states) + 5 * len(machine.symbols) + 13
        assert layers.layout.size == size
        assert layers.transition.matrices[0].dense.shape == (len(machine.rules) + 2, size)
        assert len(layers.output.hidden_sizes) == 4


def test_positions_give_functions_of_the_node_alone():
    layout = layers_of(bundled_machine("increment")).layout
    code = position_code(layout, 6, Fraction)  # node 6 is the compute node of step 2
    names = ("number", "eps", "is_compute", "bound_compute", "bound_other")
    assert [code[layout.at(name)] for name in names] == [3, Fraction(1, 3), 1, 4, 0]
    code = position_code(layout, 5, Fraction)
    assert [code[layout.at(name)] for name in names] == [3, Fraction(1, 3), 0, 0, 4]


def test_a_sparse_matrix_is_its_dense_one():
    matrix = Matrix(({0: 2, 2: Fraction(1, 3)}, {}, {1: -1}), 3)
    network = Network((matrix, matrix))
    x = [Fraction(1), Fraction(-2), Fraction(6)]
    by_hand = np.maximum(matrix.dense @ np.array([1.0, -2.0, 6.0]), 0)
    assert np.allclose(matrix.dense @ by_hand, [float(value) for value in network(x)])
    assert network(x) == [2 * 4 + Fraction(2, 3), 0, 0]


def test_the_pattern_has_the_edges():
    times = edge_pattern(30).times()[0]
    for node in range(1, 31):
        assert np.flatnonzero(times[node - 1]).tolist() == sorted({e - 1 for e in edges_of(node)})
    assert times.max() == 1
