"""Steps of `theory turing`: the machine, its runs, and the texts about them."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from dna_bigbird.core.choices import check_fields, checked
from dna_bigbird.core.errors import InputError
from dna_bigbird.theory.turing.checks import counts
from dna_bigbird.theory.turing.decoder import Node, Scoring, first_deviation, simulate
from dna_bigbird.theory.turing.layered import layers_of, run_layers, sizes
from dna_bigbird.theory.turing.layers import Layers
from dna_bigbird.theory.turing.machine import (
    Machine,
    Run,
    bundled_machine,
    read_machine,
    run_machine,
)
from dna_bigbird.theory.turing.trace import Line, trace, trace_text
from dna_bigbird.theory.turing.triangular import PRINTED, REPAIRED, step_of

FIXED_BOUND = 10
"""Of `--without position_bound`: some twenty steps of a machine are still right."""


@dataclass(frozen=True)
class DecoderRun:
    """A machine run plainly and by the decoder."""

    expected: Run
    nodes: list[Node]
    deviation: int | None
    """The first node that differs from the plain simulator."""
    scoring: Scoring

    def __post_init__(self) -> None:
        check_fields(self)


def find_machine(name: str, path: Path | None) -> Machine:
    """Return the machine of a file, or a bundled one."""
    return read_machine(path) if path is not None else bundled_machine(name)


def repairs(printed: bool, without: Collection[str]) -> frozenset[str]:
    """Return the repairs of a version."""
    return (PRINTED if printed else REPAIRED) - set(without)


@checked()
def run(
    machine: Machine,
    word: str,
    steps: int,
    scoring: Scoring,
    exact: bool,
    version: Collection[str],
) -> DecoderRun:
    """Run a machine plainly, then as many steps by the decoder.

    Raises:
        InputError: If the word is not an input of the machine, or the score does not suit it.
    """
    expected = run_machine(machine, word, steps)
    try:
        nodes = list(
            simulate(
                machine,
                word,
                len(expected.configurations) - 1,
                scoring=scoring,
                repairs=version,
                number=Fraction if exact else float,
            )
        )
    except ValueError as error:
        raise InputError(f"--scoring {scoring}: {error}") from None
    deviation = first_deviation(nodes, expected.configurations)
    return DecoderRun(expected, nodes, deviation, scoring)


def description(machine: Machine, word: str, run: DecoderRun) -> str:
    """Return what the machine did, and whether the decoder agrees."""
    steps = len(run.expected.configurations) - 1
    state = run.expected.configurations[-1].state
    end = f"halts in state {state!r}" if run.expected.is_halted else "was stopped"
    tape = run.expected.tape
    cells = range(min(tape, default=0), max(tape, default=0) + 1)
    text = "".join(tape.get(cell, machine.blank) for cell in cells).strip(machine.blank)
    edges = sum(len(set(node.edges)) for node in run.nodes)
    return "\n".join(
        [
            f"{machine.name}: {machine.about}",
            f"input {word!r}: {steps:,} steps, {end}; tape {text!r}",
            f"decoder: {len(run.nodes):,} positions, {edges:,} attention edges; {agreement(run)}",
        ]
    )


def agreement(run: DecoderRun) -> str:
    """Return whether all nodes agree with the plain simulator, or which is the first that does not."""
    if run.deviation is None:
        return "state, symbol and cell agree with the simulator at every position"
    number = run.deviation
    expected = run.expected.configurations[step_of(number)]
    if number > len(run.nodes):
        return f"it ends before position {number}, where the simulator has {tuple(expected)}"
    actual = run.nodes[number - 1].configuration
    return f"position {number} has {tuple(actual)}, the simulator {tuple(expected)}"


def layers(machine: Machine, is_fixed: bool) -> Layers:
    """Return the weights of a machine, with a fixed bound instead of those of the position or not."""
    return layers_of(machine, FIXED_BOUND if is_fixed else 0)


def matrices_text(
    layers: Layers, word: str, run: DecoderRun, exact: bool, *, is_package: bool
) -> str:
    """Run levels (e) and (f) and return what they show."""
    steps = len(run.expected.configurations) - 1
    shapes = ", ".join(f"{name} {'-'.join(map(str, size))}" for name, size in sizes(layers).items())
    text = f"matrices: vectors of {layers.layout.size}; hidden units or rows-columns: {shapes}\n"
    if not is_package:
        positions = list(run_layers(layers, word, steps, Fraction if exact else float))
        return text + f"matrices: {_agree(positions, run)}"
    from dna_bigbird.theory.turing.package_attention import run_package

    result = run_package(layers, word, steps)
    gap = "none" if result.smallest_gap is None else f"{float(result.smallest_gap):.3g}"
    return text + (
        f"attention of this package: head dimension {result.head_dim}, smallest gap of f² {gap}, "
        f"scale {result.scale:,.0f}; {_agree(result.positions, run)}; all positions again in one "
        f"call change by {result.largest_change:g}"
    )


def _agree(positions: Sequence, run: DecoderRun) -> str:
    number = first_deviation(positions, run.expected.configurations)
    if number is None:
        return f"all {len(positions):,} positions agree with the simulator"
    return f"position {number} differs from the simulator"


def trace_lines(machine: Machine, word: str, run: DecoderRun) -> list[Line]:
    """Return a line per machine step.

    Raises:
        InputError: If the decoder fails, because its steps then are not those of a machine.
    """
    if run.deviation is not None:
        raise InputError(f"the decoder fails, so there is no trace: {agreement(run)}")
    return trace(machine, word, run.nodes, run.scoring)


def trace_of(machine: Machine, word: str, run: DecoderRun) -> str:
    """Return the trace as text."""
    return trace_text(trace_lines(machine, word, run))


def rows_of(run: DecoderRun) -> list[dict]:
    """Return a row per position."""
    return [
        {
            "node": node.number,
            "step": node.step,
            "is_compute": node.is_compute,
            **node.configuration._asdict(),
            "edges": list(node.edges),
        }
        for node in run.nodes
    ]


@checked()
def version_rows(scoring: Scoring) -> list[dict]:
    """Return a row per version of the construction."""
    return [count._asdict() for count in counts(scoring)]
