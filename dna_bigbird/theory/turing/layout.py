"""The slots of a position's vector at level (e): 2 |Q| + 5 |Σ| + 13 numbers."""

from collections.abc import Iterator
from dataclasses import dataclass

from dna_bigbird.theory.turing.machine import Machine

SCALARS = (
    "cell", "next_cell", "input_position", "constant", "number", "eps", "is_compute", "bound_compute",
    "bound_other", "carried_cell", "carried_eps", "record_cell", "record_eps",
)  # fmt: skip
"""`number` is the machine step from 1, g + 1; `eps` is 1 / (g + 1). Of the two bounds one is g + 2,
the other 0: `bound_compute` is g + 2 at compute nodes. The third to ninth are of the position."""
STATE_SLOTS = ("state", "next_state")
SYMBOL_SLOTS = ("symbol", "written", "encoder_symbol", "carried_symbol", "record_symbol")
KEPT = ("state", "symbol", "cell", "carried_symbol", "carried_cell", "carried_eps")
"""What the output of a position, and so the input of the next one, consists of."""


@dataclass(frozen=True)
class Layout:
    """Where each slot of a machine's vector begins.

    Example:
        >>> from dna_bigbird.theory.turing.machine import bundled_machine
        >>> layout = Layout(bundled_machine("increment"))
        >>> layout.size, layout.at("state", "read"), layout.at("cell")
        (36, 1, 23)
    """

    machine: Machine

    @property
    def size(self) -> int:
        """Numbers in a vector."""
        states, symbols = len(self.machine.states), len(self.machine.symbols)
        return 2 * states + 5 * symbols + len(SCALARS)

    def at(self, slot: str, value: str = "") -> int:
        """Return the index of a slot, of one state or symbol in it if it is one-hot."""
        states, symbols = self.machine.states, self.machine.symbols
        if slot in STATE_SLOTS:
            return STATE_SLOTS.index(slot) * len(states) + states.index(value)
        before = 2 * len(states)
        if slot in SYMBOL_SLOTS:
            return before + SYMBOL_SLOTS.index(slot) * len(symbols) + symbols.index(value)
        return before + 5 * len(symbols) + SCALARS.index(slot)

    def values_of(self, slot: str) -> tuple[str, ...]:
        """Return the values of a one-hot slot; one empty text for a number."""
        if slot in STATE_SLOTS:
            return self.machine.states
        return self.machine.symbols if slot in SYMBOL_SLOTS else ("",)

    def indices(self, slot: str) -> Iterator[int]:
        """Yield the indices of a slot."""
        for value in self.values_of(slot):
            yield self.at(slot, value)
