"""Random Turing machines of the class that the construction simulates."""

import random

from dna_bigbird.theory.turing.machine import Machine, Rule


def random_machine(
    seed: int, *, num_states: int = 3, num_symbols: int = 3, can_stay: bool = False
) -> Machine:
    """Draw a machine that never halts, with a rule for every state and symbol.

    Args:
        num_states: States after the input was read; the initial and the reading state come on top.
        num_symbols: Symbols, the blank included; the others may be in the input.
        can_stay: Also draw rules that do not move the head.

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
