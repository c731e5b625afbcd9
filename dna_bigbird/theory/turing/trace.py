"""A run of the decoder as text: the tape over time, and from where each symbol is read."""

from collections.abc import Sequence
from typing import NamedTuple

from dna_bigbird.core.choices import checked
from dna_bigbird.theory.turing.decoder import Node, Scoring, encoder_reads, is_new_cell
from dna_bigbird.theory.turing.machine import Configuration, Machine
from dna_bigbird.theory.turing.triangular import triangular


class Line(NamedTuple):
    """One machine step, computed by one compute node."""

    step: int
    node: int
    configuration: Configuration
    tape: dict[int, str]
    """Cells that were written or contain input, before the step."""
    source: str
    """Where the next symbol comes from: input, blank, or the step that wrote it."""
    source_step: int | None
    """That step, None for input and blank."""
    carried_step: int | None
    """The step whose record the node compares with its own, the best one so far; None if there is none."""


@checked()
def trace(
    machine: Machine, word: str, nodes: Sequence[Node], scoring: Scoring = "product"
) -> list[Line]:
    """Return a line per machine step from the nodes of the decoder."""
    tape = dict(enumerate(word, start=1))
    lines = []
    for node in nodes:
        if not node.is_compute:
            continue
        step, before = node.step, node.configuration
        rule = machine.rules[before.state, before.symbol]
        source, source_step = _source(machine, word, node, before.cell + rule.move, scoring)
        # Its second edge: the record that the node before it got from the node before that.
        carried = nodes[node.number - 3].winner if step else node.winner
        carried_step = carried and carried.number - 1
        lines.append(Line(step, node.number, before, dict(tape), source, source_step, carried_step))
        tape[before.cell] = rule.symbol
    last = nodes[-1]
    if last.number == triangular(last.step) + 1:  # the configuration after the last step
        lines.append(Line(last.step, last.number, last.configuration, dict(tape), "", None, None))
    return lines


def _source(
    machine: Machine, word: str, node: Node, cell: int, scoring: Scoring
) -> tuple[str, int | None]:
    if encoder_reads(machine, word, node.step + 1)[1] == node.step + 1:
        return "input", None
    if is_new_cell(node.winner, node.step + 1, cell, scoring):
        return "blank, a new cell", None
    step = node.winner.number - 1
    return f"step {step}", step


def trace_text(lines: Sequence[Line]) -> str:
    """Return the trace as a table; brackets mark the head."""
    cells = [cell for line in lines for cell in (*line.tape, line.configuration.cell)]
    low, high = min(cells), max(cells)
    states = max(len("state"), *(len(line.configuration.state) for line in lines))
    width = 3 * (high - low + 1)
    rows = [
        f"step   node  {'state':<{states}}  {f'tape, cells {low} to {high}':<{width}}  next symbol from"
    ]
    for line in lines:
        state, symbol, head = line.configuration
        tape = line.tape | {head: symbol}
        drawn = "".join(
            f"[{tape[cell]}]" if cell == head else f" {tape.get(cell, Machine.blank)} "
            for cell in range(low, high + 1)
        )
        row = f"{line.step:>4}  {line.node:>5}  {state:<{states}}  {drawn:<{width}}  {line.source}"
        rows.append(row.rstrip())
    return "\n".join(rows)
