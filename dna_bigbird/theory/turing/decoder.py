"""The decoder that runs a Turing machine, by its definition: levels (a) to (d).

Every node is one position of a decoder with four layers and one head. A level further, with
weight matrices: `layers`.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from fractions import Fraction
from math import isqrt
from typing import Literal, NamedTuple

from dna_bigbird.core.choices import checked
from dna_bigbird.theory.turing.machine import Configuration, Machine

# Which decoder node belongs to which machine step, and the edges between nodes (Appendix B).
#
# Nodes count from 1. Block j = nodes T(j) + 1 … T(j + 1) belongs to machine step j, with the
# triangular numbers T(k) = k (k + 1) / 2. The last node of a block is its compute node; it keeps the
# record of the step. Node T(j) + k compares the record of step k - 1, which node T(k) has.

REPAIRS = {
    "numbering": "the step of a node counts nodes from 1, as the edges do",
    "compute_edge": "the second edge of a compute node goes to the node before it",
    "first_edge": "node 1 has an edge, to itself",
    "key_sign": "the key has minus the cell, so that the score compares cells",
    "gate": "the output tests whether it reads the input only at compute nodes",
    "next_state": "the transition gives the next state (a slip of the pen)",
    "next_cell": "intermediate nodes query with the cell after the step, not with the one before it",
}
"""What the printed construction needs, and what is easy to lose (`next_cell`); docs/explanation/theory.md."""
PRINTED = frozenset({"next_cell"})
"""The repairs that the printed construction has."""
REPAIRED = frozenset(REPAIRS)


def triangular(k: int) -> int:
    """Return T(k) = 1 + 2 + … + k."""
    return k * (k + 1) // 2


def step_of(node: int) -> int:
    """Return the machine step of a node: the block that it is in.

    Example:
        >>> [step_of(node) for node in range(1, 8)]
        [0, 1, 1, 2, 2, 2, 3]
    """
    return (isqrt(8 * node - 7) - 1) // 2


def printed_step_of(node: int) -> int:
    """Return the formula of the paper, which is right only for nodes that count from 0.

    Example:
        >>> [printed_step_of(node) for node in range(1, 8)]
        [1, 1, 2, 2, 2, 3, 3]
    """
    return (isqrt(8 * node + 1) - 1) // 2


def edges_of(node: int, repairs: Collection[str] = REPAIRED) -> tuple[int, ...]:
    """Return the nodes that a node attends to: one or two, none later than itself.

    Example:
        >>> [edges_of(node) for node in (1, 2, 3, 7, 8, 10)]
        [(1,), (1, 1), (3, 2), (1, 6), (3, 8), (10, 9)]
        >>> edges_of(10, PRINTED), edges_of(1, PRINTED)
        ((10, 10), ())
    """
    block = step_of(node)
    k = node - triangular(block)
    if block == 0:
        return (1,) if "first_edge" in repairs else ()
    if k == 1:
        return (1, triangular(block))
    if k <= block:
        return (triangular(k), node)
    return (node, node - 1) if "compute_edge" in repairs else (node, node)


Number = Fraction | float
Scoring = Literal["product", "cell_test"]
"""'product': the score of the paper. 'cell_test': a simpler one without products of inputs."""


class Record(NamedTuple):
    """What a compute node keeps of its step τ, for later nodes to read."""

    symbol: str
    """Written in step τ."""
    number: int
    """τ + 1."""
    eps: Number
    """1 / (τ + 1)."""
    cell: int
    """The cell that was written."""


class Node(NamedTuple):
    """One position of the decoder: its input and what it attends to."""

    number: int
    """From 1."""
    step: int
    """Of the machine."""
    is_compute: bool
    configuration: Configuration
    """State, symbol and cell in the input of this position."""
    edges: tuple[int, ...]
    winner: Record | None
    """The record that attention chooses; None if there is none to read."""
    gap: Number | None
    """How much worse the second record scores; None if all edges lead to the same record."""


@checked()
def simulate(
    machine: Machine,
    word: str,
    steps: int,
    *,
    scoring: Scoring = "product",
    repairs: Collection[str] = REPAIRED,
    number: Callable[[int], Number] = Fraction,
) -> Iterator[Node]:
    """Yield the nodes of `steps` machine steps: T(steps) + 1 of them."""
    # The configuration before step j is in the first node of block j. The printed construction
    # may reach a state and symbol without a rule, or no record at all; the nodes then end there.
    # 'product' reads "the winner is this step" as "this cell is new".
    if scoring == "product" and machine.can_stay:
        raise ValueError(f"{machine.name} has moves S: use the scoring 'cell_test'")
    step_at = step_of if "numbering" in repairs else printed_step_of
    state, symbol, cell = machine.start, machine.blank, 0
    carried: Record | None = None
    records: dict[int, Record | None] = {}
    for node in range(1, triangular(steps) + 2):
        step = step_at(node)
        is_compute = step_at(node + 1) == step + 1
        rule = machine.rules.get((state, symbol))
        if rule is None and node <= triangular(steps):
            return
        before = Configuration(state, symbol, cell)
        if rule is None:  # the last node, after a final state
            yield Node(node, step, is_compute, before, (), None, None)
            return
        after = cell + rule.move
        own = Record(rule.symbol, step + 1, number(1) / (step + 1), cell)
        records[node] = own if is_compute else carried
        edges = edges_of(node, repairs)
        asked = after if is_compute or "next_cell" in repairs else cell
        read = [records[edge] for edge in edges]
        winner, gap = _attend(read, asked, (own.eps, number(1) / 3), scoring, repairs)
        yield Node(node, step, is_compute, before, edges, winner, gap)
        test = records[node].number if "gate" not in repairs and records[node] else step + 1
        if is_compute or "gate" not in repairs:
            symbol = _read(
                machine, word, before, (winner, after, step + 1, test), is_compute, scoring
            )
        if is_compute:
            state, cell = rule.state if "next_state" in repairs else state, after
        carried = winner


def _attend(
    records: Sequence[Record | None],
    cell: int,
    factors: tuple[Number, Number],
    scoring: Scoring,
    repairs: Collection[str],
) -> tuple[Record | None, Number | None]:
    """Return the record whose score is nearest to 0, and its lead; `factors` are ε and 1/3."""
    eps, third = factors
    sign = -1 if "key_sign" in repairs else 1
    distinct = list(dict.fromkeys(record for record in records if record is not None))
    if not distinct:
        return None, None
    if scoring == "product":
        query = (cell * eps, eps, eps * eps * third)
        keys = [(r.eps, sign * r.cell * r.eps, r.eps * r.eps) for r in distinct]
    else:
        query = (cell, 1, third)
        keys = [(1, sign * r.cell, r.eps) for r in distinct]
    scores = [abs(sum(a * b for a, b in zip(query, key, strict=True))) for key in keys]
    best = min(range(len(scores)), key=scores.__getitem__)
    gaps = [score - scores[best] for i, score in enumerate(scores) if i != best]
    return distinct[best], min(gaps, default=None)


def _read(
    machine: Machine,
    word: str,
    before: Configuration,
    attended: tuple[Record | None, int, int, int],
    is_compute: bool,
    scoring: Scoring,
) -> str:
    """Return the symbol of the next node: the function F of the paper."""
    winner, cell, number, test = attended
    encoder_symbol, encoder_position = encoder_reads(machine, word, number)
    if test == encoder_position:
        return encoder_symbol
    if not is_compute:
        return before.symbol
    if winner is None:
        return ""
    return machine.blank if is_new_cell(winner, number, cell, scoring) else winner.symbol


@checked()
def is_new_cell(winner: Record, number: int, cell: int, scoring: Scoring) -> bool:
    """Return True if no earlier step wrote the cell after step `number`, as the score tells it."""
    return winner.number == number if scoring == "product" else winner.cell != cell


def encoder_reads(machine: Machine, word: str, position: int) -> tuple[str, int]:
    """Return the symbol at min(position, n) and this number; an empty input is a blank."""
    letters = word or machine.blank
    nearest = min(position, len(letters))
    return letters[nearest - 1], nearest


def first_deviation(nodes: Sequence[Node], expected: Sequence[Configuration]) -> int | None:
    """Return the first node whose configuration is not the simulator's, None if all agree."""
    last = triangular(len(expected) - 1) + 1
    for number, node in enumerate(nodes, start=1):
        if node.configuration != expected[step_of(number)]:
            return number
    return None if len(nodes) == last else len(nodes) + 1
