"""Which decoder node belongs to which machine step, and the edges between nodes (Appendix B).

Nodes count from 1. Block j = nodes T(j) + 1 … T(j + 1) belongs to machine step j, with the
triangular numbers T(k) = k (k + 1) / 2. The last node of a block is its compute node; it keeps the
record of the step. Node T(j) + k compares the record of step k - 1, which node T(k) has.
"""

from collections.abc import Collection
from math import isqrt

REPAIRS = {
    "numbering": "the step of a node counts nodes from 1, as the edges do",
    "compute_edge": "the second edge of a compute node goes to the node before it",
    "first_edge": "node 1 has an edge, to itself",
    "key_sign": "the key has minus the cell, so that the score compares cells",
    "gate": "the output tests whether it reads the input only at compute nodes",
    "next_state": "the transition gives the next state (a slip of the pen)",
    "next_cell": "intermediate nodes query with the cell after the step, not with the one before it",
}
"""What the printed construction needs, and what is easy to lose (`next_cell`); docs/theory.md."""
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
