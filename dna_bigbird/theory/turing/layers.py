"""The layers of the decoder as weight matrices: level (e), for the cell test.

Each adds its output to the vector (a residual connection), as a transformer does; only the last
constant, F, forms the input of the next position. Biases are weights of the slot that is always 1.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from dna_bigbird.theory.turing.machine import Machine
from dna_bigbird.theory.turing.matrices import Matrix, Network, Update, Wires

# The slots of a position's vector at level (e): 2 |Q| + 5 |Σ| + 13 numbers.

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


@dataclass(frozen=True)
class Layers:
    """All weights for one machine."""

    layout: Layout
    fixed_bound: int = 0
    """Slip 6 of docs/explanation/theory.md: a constant instead of the position's bounds; it must not be passed."""

    @cached_property
    def encoder_query(self) -> Matrix:
        """(2, size): the step from 1, and 1. Keys of the encoder are (1, -position)."""
        return Matrix(
            ({self.layout.at("number"): 1}, {self.layout.at("constant"): 1}), self.layout.size
        )

    @cached_property
    def transition(self) -> Network:
        """Layers 1 and 2: a unit per state and symbol; c(g + 1) = c(g) + move."""
        at, update = self.layout.at, Update(self.layout.size)
        update.add_signed(at("next_cell"), {at("cell"): 1})
        for (state, symbol), rule in self.layout.machine.rules.items():
            both = {at("state", state): 1, at("symbol", symbol): 1, at("constant"): -1}
            unit = update.unit(both)
            update.output[at("next_state", rule.state)][unit] = 1
            update.output[at("written", rule.symbol)][unit] = 1
            update.output[at("next_cell")][unit] = rule.move
        return update.network()

    @cached_property
    def gating(self) -> Network:
        """Layer 3: a compute node moves on and has its own record, the others keep what they have."""
        at, update = self.layout.at, Update(self.layout.size)
        constant, h = at("constant"), at("is_compute")
        pairs = [("state", "next_state", "state"), ("record_symbol", "written", "carried_symbol")]
        for target, if_compute, otherwise in [*pairs, ("record_eps", "eps", "carried_eps")]:
            for value in self.layout.values_of(target):
                index = at(target, value)
                update.add_to(index, {at(if_compute, value): 1, h: 1, constant: -1})
                update.add_to(index, {at(otherwise, value): 1, h: -1})
        for index in self.layout.indices("state"):  # the old state leaves
            update.add_to(index, {index: 1}, -1)
        self._record_cell(update)
        move = {at("next_cell"): 1, at("cell"): -1}
        update.add_to(at("cell"), {**move, h: 2, constant: -1})
        update.add_to(at("cell"), {h: 1}, -1)
        for slot in ("carried_symbol", "carried_cell", "carried_eps"):  # attention writes here
            for index in self.layout.indices(slot):
                update.add_signed(index, {index: 1}, -1)
        return update.network()

    def _record_cell(self, update: Update) -> None:
        """Select one of two numbers, at most ± g in size: shifted by g + 1, then cut off."""
        at = self.layout.at
        number, target = at("number"), at("record_cell")
        h, constant = at("is_compute"), at("constant")
        if self.fixed_bound:
            off_here = {h: -2 * self.fixed_bound}
            off_there = {h: 2 * self.fixed_bound, constant: -2 * self.fixed_bound}
        else:
            off_here, off_there = {at("bound_compute"): -2}, {at("bound_other"): -2}
        update.add_to(target, {at("cell"): 1, number: 1, **off_there})
        update.add_to(target, {at("carried_cell"): 1, number: 1, **off_here})
        update.add_to(target, {number: 1}, -1)

    @cached_property
    def query(self) -> Matrix:
        """(3, size): (c(g + 1), 1, 1/3)."""
        at = self.layout.at
        rows = ({at("next_cell"): 1}, {at("constant"): 1}, {at("constant"): Fraction(1, 3)})
        return Matrix(rows, self.layout.size)

    @cached_property
    def key(self) -> Matrix:
        """(3, size): (1, -c(τ), ε(τ))."""
        at = self.layout.at
        rows = ({at("constant"): 1}, {at("record_cell"): -1}, {at("record_eps"): 1})
        return Matrix(rows, self.layout.size)

    @cached_property
    def value(self) -> Matrix:
        """(|Σ| + 2, size): symbol, cell and ε of the record."""
        slots = ("record_symbol", "record_cell", "record_eps")
        rows = tuple({index: 1} for slot in slots for index in self.layout.indices(slot))
        return Matrix(rows, self.layout.size)

    @cached_property
    def into_carried(self) -> Matrix:
        """(size, |Σ| + 2): where a value goes."""
        slots = ("carried_symbol", "carried_cell", "carried_eps")
        indices = [index for slot in slots for index in self.layout.indices(slot)]
        rows: list[dict[int, int]] = [{} for _ in range(self.layout.size)]
        for column, index in enumerate(indices):
            rows[index] = {column: 1}
        return Matrix(tuple(rows), len(indices))

    @cached_property
    def output(self) -> Network:
        """F, four stages of ReLU: which symbol is next; the other slots pass or are dropped."""
        return _output(self.layout)


def _output(layout: Layout) -> Network:
    """F: keep s at intermediate nodes; else α, the record's symbol or a blank."""
    at, symbols = layout.at, layout.machine.symbols
    slots = [(slot, v) for slot in (*KEPT, "encoder_symbol") for v in layout.values_of(slot)]
    scalars = ("constant", "input_position", "number", "next_cell", "is_compute")
    wires = Wires(layout.size, {s: at(*s) for s in [*slots, *((name, "") for name in scalars)]})
    constant, h = ("constant", ""), ("is_compute", "")
    pairs = {
        "input": (("input_position", ""), ("number", "")),
        "record": (("carried_cell", ""), ("next_cell", "")),
    }
    wires.stage(
        {(n, sign): {a: sign, b: -sign} for n, (a, b) in pairs.items() for sign in (1, -1)},
        keep=[*slots, constant, h],
    )
    wires.stage(
        {n: {constant: 1, (n, 1): -1, (n, -1): -1} for n in pairs}, keep=[*slots, constant, h]
    )
    wires.stage(
        {
            "use_input": {h: 1, "input": 1, constant: -1},
            "use_record": {h: 1, "record": 1, "input": -1, constant: -1},
        },
        keep=[*slots, constant, h],
    )
    units = {"use_blank": {h: 1, "use_input": -1, "use_record": -1}}
    for s in symbols:
        units["keep", s] = {("symbol", s): 1, h: -1}
        units["input", s] = {("encoder_symbol", s): 1, "use_input": 1, constant: -1}
        units["record", s] = {("carried_symbol", s): 1, "use_record": 1, constant: -1}
    wires.stage(units, keep=[slot for slot in slots if slot[0] not in ("symbol", "encoder_symbol")])
    sums = {
        at(*slot): {slot: 1} for slot in wires.names if isinstance(slot, tuple) and slot[0] in KEPT
    }
    for s in symbols:
        sums[at("symbol", s)] = {("keep", s): 1, ("input", s): 1, ("record", s): 1}
    sums[at("symbol", layout.machine.blank)]["use_blank"] = 1
    return wires.network(sums)
