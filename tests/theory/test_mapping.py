"""The contextual mapping, the selective shift and piecewise constant functions."""

import random
from fractions import Fraction

import pytest

from dna_bigbird.theory.figures import error_figure
from dna_bigbird.theory.theory_mapping import (
    FUNCTIONS,
    Grid,
    check_mapping,
    largest_error,
    map_input,
    separated_stages,
)
from tests.theory.selective_shift import shift_by_definition, shift_by_heads, star

LISTED = [(2, 1, 2), (2, 1, 3), (3, 1, 2), (3, 1, 3), (2, 2, 2), (2, 2, 3), (4, 1, 2), (3, 2, 2)]
LARGER = [(4, 2, 2), (3, 2, 3)]


def mapped_in_fractions(n, d, m, tokens):
    """The procedure written again with δ as a fraction."""
    step = Fraction(1, m)
    inverse = 1 / step
    u = [inverse**i for i in range(d)]
    value = [inverse ** (n * d)]
    for k, token in enumerate(tokens, start=1):
        x = [Fraction(c, m) for c in token]
        x[0] += inverse ** ((k - 1) * d)
        value.append(sum(a * b for a, b in zip(u, x, strict=True)))
    for k in range(1, n + 1):
        value[k] += inverse**d * (value[0] - value[k])
        value[0] += inverse ** (n * d) * (max(value[1:]) - min(value[1:]))
    return [x + inverse ** (n * n * d) * (value[0] - x) for x in value[1:]]


@pytest.mark.parametrize("size", LISTED + LARGER)
def test_all_numbers_of_all_inputs_differ(size):
    check = check_mapping(Grid(*size))
    n, d, m = size
    assert check.inputs == m ** (n * d)
    assert check.is_contextual
    assert check.collisions_without_last > 0
    assert (check.collisions_of_global > 0) == (size == (3, 1, 2))


@pytest.mark.parametrize("size", LISTED)
def test_the_procedure_is_the_one_in_fractions(size):
    n, d, m = size
    grid = Grid(*size)
    for tokens in grid.inputs():
        expected = mapped_in_fractions(n, d, m, tokens)
        assert [value * Fraction(1, grid.m) for value in map_input(grid, tokens).last] == expected


@pytest.mark.parametrize("size", LISTED + LARGER)
def test_thresholds_that_fit_all_inputs_exist_with_the_position_of_the_bounds(size):
    assert set(separated_stages(Grid(*size))) == {(True, True)}
    # The displayed matrix gives the first token the position 0: its interval then misses it.
    assert separated_stages(Grid(*size, first_position=0))[0][0] is False


def test_the_shift_of_two_heads_is_its_definition():
    rng = random.Random(0)
    for _ in range(200):
        values = [Fraction(rng.randrange(1, 40), 2) for _ in range(5)]
        low, high = sorted(rng.sample([Fraction(i, 4) for i in range(1, 81, 2)], 2))
        factor = Fraction(rng.randrange(1, 9))
        expected = shift_by_definition(values, star(4), low, high, factor)
        assert shift_by_heads(values, star(4), low, high, factor) == expected
        # Written again for the star: token i moves by its distance to the global value.
        for i in range(1, 5):
            moved = factor * abs(values[0] - values[i]) if low < values[i] < high else 0
            assert expected[i] == values[i] + moved


def test_testing_token_j_instead_of_row_i_would_be_another_function():
    """Slip of Lemma 2: with the printed condition row 1 would move, although it is not selected."""
    values = [Fraction(5), Fraction(1), Fraction(9)]
    moved = shift_by_definition(values, star(2), Fraction(4), Fraction(6), Fraction(1))
    assert moved == [5 + 8, 1, 9]


def test_a_value_on_a_threshold_is_refused():
    with pytest.raises(ValueError, match="token 1 has the value of the threshold, 2"):
        shift_by_heads([1, 2], star(1), 2, 3, 1)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_error_falls_with_the_step(name):
    function, constant = FUNCTIONS[name]
    errors = [largest_error(function, 2, m) for m in (2, 4, 8)]
    for error, m in zip(errors, (2, 4, 8), strict=True):
        assert 0 < error <= Fraction(constant, m)
    assert errors[0] > 1.4 * errors[1] > 1.4**2 * errors[2]


def test_an_error_by_hand():
    """The mean of (x, x) is x: at most 3/8 away from a multiple of 1/2 at the points tried."""
    assert largest_error(FUNCTIONS["mean"][0], 1, 2) == Fraction(3, 8)


def test_the_picture_has_the_errors_and_their_bounds():
    """Of the mean: 3/4 δ, because the points tried last are 3/4 δ from their corner."""
    widths, errors = (1 / 2, 1 / 4), {name: [3 / 8, 3 / 16] for name in FUNCTIONS}
    function, _ = FUNCTIONS["mean"]
    errors["mean"] = [float(largest_error(function, 2, m)) for m in (2, 4)]
    constants = {name: constant for name, (_, constant) in FUNCTIONS.items()}
    panels = error_figure((2, 4), errors, constants).axes
    assert [axes.get_title("left") for axes in panels] == list(FUNCTIONS)
    for axes, (_, constant) in zip(panels, FUNCTIONS.values(), strict=True):
        bound, drawn = axes.lines
        assert drawn.get_xydata().tolist() == [[width, 3 / 4 * width] for width in widths]
        assert bound.get_xydata().tolist() == [[width, constant * width] for width in widths]
