"""The inputs on which the constructions are checked, and how many each version gets right."""

import itertools
import random
from collections.abc import Callable, Collection, Iterator, Sequence
from fractions import Fraction
from typing import NamedTuple

from dna_bigbird.core.choices import checked
from dna_bigbird.theory.turing.decoder import (
    PRINTED,
    REPAIRED,
    REPAIRS,
    Number,
    Scoring,
    first_deviation,
    simulate,
)
from dna_bigbird.theory.turing.machine import Machine, Rule, bundled_machine, run_machine


def random_machine(
    seed: int, *, num_states: int = 3, num_symbols: int = 3, can_stay: bool = False
) -> Machine:
    """Draw a machine that never halts, with a rule for every state and symbol.

    Example:
        >>> machine = random_machine(0, num_states=2)
        >>> machine.states, machine.symbols, len(machine.rules)
        (('start', 'read', 'q0', 'q1'), ('#', 'a', 'b'), 10)
    """
    rng = random.Random(seed)
    symbols = ["#", *"abcdefgh"[: num_symbols - 1]]
    states = [f"q{i}" for i in range(num_states)]
    moves = [-1, 0, 1] if can_stay else [-1, 1]

    def draw() -> Rule:
        return Rule(rng.choice(states), rng.choice(symbols), rng.choice(moves))

    rules = {("start", "#"): Rule("read", rng.choice(symbols), 1)}
    for symbol in symbols[1:]:
        rules["read", symbol] = Rule("read", rng.choice(symbols), 1)
    rules["read", "#"] = draw()._replace(state=states[0])
    rules |= {(state, symbol): draw() for state in states for symbol in symbols}
    return Machine(f"random {seed}", "a random machine", "start", frozenset(), rules)


def random_word(seed: int, machine: Machine, longest: int = 6) -> str:
    """Draw an input of a machine, at most `longest` symbols."""
    rng = random.Random(seed)
    return "".join(rng.choices(machine.input_symbols, k=rng.randint(0, longest)))


Cases = Sequence[tuple[Machine, str]]
EXHAUSTIVE = {"increment": ("01", 4), "palindrome": ("ab", 4), "bouncing": ("01", 2)}
"""Machine: alphabet and the longest word; all words up to it are tried."""
STEPS, RANDOM_STEPS = 30, 45


class Count(NamedTuple):
    """How many inputs a version of the construction gets right at every node."""

    version: str
    right: int
    inputs: int


def exhaustive_cases() -> list[tuple[Machine, str]]:
    """Return three machines with every short input: 31 + 31 + 7 = 69.

    Example:
        >>> len(exhaustive_cases())
        69
    """
    return [
        (bundled_machine(name), "".join(letters))
        for name, (alphabet, longest) in EXHAUSTIVE.items()
        for length in range(longest + 1)
        for letters in itertools.product(alphabet, repeat=length)
    ]


def witness_cases() -> list[tuple[Machine, str]]:
    """Return the machine that marks cell 0, with the empty input: it needs the edge of node 1."""
    return [(bundled_machine("mark_start"), "")]


def random_cases(count: int = 60, *, can_stay: bool = False) -> list[tuple[Machine, str]]:
    """Return random machines with 2 to 4 states and 3 symbols, each with a random input."""
    machines = [
        random_machine(seed, num_states=2 + seed % 3, can_stay=can_stay) for seed in range(count)
    ]
    return [(machine, random_word(seed, machine)) for seed, machine in enumerate(machines)]


@checked()
def count_right(
    cases: Cases,
    steps: int,
    *,
    scoring: Scoring = "product",
    repairs: Collection[str] = REPAIRED,
    number: Callable[[int], Number] = Fraction,
) -> int:
    """Return for how many inputs every node agrees with the plain simulator."""
    right = 0
    for machine, word in cases:
        expected = run_machine(machine, word, steps).configurations
        nodes = simulate(
            machine, word, len(expected) - 1, scoring=scoring, repairs=repairs, number=number
        )
        right += first_deviation(list(nodes), expected) is None
    return right


def versions() -> dict[str, frozenset[str]]:
    """Return the repaired version, the printed one, and those in between, by name."""
    edges = {"compute_edge", "first_edge"}
    named = {
        "repaired": REPAIRED,
        "as printed": PRINTED,
        "as printed, numbering repaired": PRINTED | {"numbering"},
        "edges as printed, the rest repaired": REPAIRED - edges,
    }
    return named | {f"all repairs but {name}": REPAIRED - {name} for name in REPAIRS}


@checked()
def counts(scoring: Scoring = "product") -> Iterator[Count]:
    """Yield the counts of every version on the 69 inputs and the witness, and of random machines."""
    cases = [*exhaustive_cases(), *witness_cases()]
    for name, repairs in versions().items():
        right = count_right(cases[:-1], STEPS, scoring=scoring, repairs=repairs)
        yield Count(name, right, len(cases) - 1)
    without = REPAIRED - {"first_edge"}
    right = count_right(cases[-1:], STEPS, scoring=scoring, repairs=without)
    yield Count("all repairs but first_edge, machine mark_start", right, 1)
    drawn = random_cases()
    yield Count(
        "repaired, random machines", count_right(drawn, RANDOM_STEPS, scoring=scoring), len(drawn)
    )
