"""`dna-bigbird theory turing`."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, NamedTuple

from dna_bigbird.core.choices import check_fields, checked
from dna_bigbird.core.errors import InputError
from dna_bigbird.core.paths import InputPath, OutputPath
from dna_bigbird.core.settings import Positive
from dna_bigbird.core.tables import Table, check_suffix, write_figure
from dna_bigbird.theory.results import TheoryResult
from dna_bigbird.theory.turing.checks import counts
from dna_bigbird.theory.turing.decoder import (
    PRINTED,
    REPAIRED,
    Node,
    Scoring,
    encoder_reads,
    first_deviation,
    is_new_cell,
    simulate,
    step_of,
    triangular,
)
from dna_bigbird.theory.turing.layered import layers_of, run_layers, sizes
from dna_bigbird.theory.turing.layers import Layers
from dna_bigbird.theory.turing.machine import (
    Configuration,
    Machine,
    Run,
    bundled_machine,
    read_machine,
    run_machine,
)


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


@checked()
def run_decoder(
    machine: Machine, word: str, steps: int, scoring: Scoring, exact: bool, version: Collection[str]
) -> DecoderRun:
    """Run a machine plainly, then as many steps by the decoder."""
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
    """Return whether all nodes agree with the simulator, or which is the first that does not."""
    if run.deviation is None:
        return "state, symbol and cell agree with the simulator at every position"
    number = run.deviation
    expected = run.expected.configurations[step_of(number)]
    if number > len(run.nodes):
        return f"it ends before position {number}, where the simulator has {tuple(expected)}"
    actual = run.nodes[number - 1].configuration
    return f"position {number} has {tuple(actual)}, the simulator {tuple(expected)}"


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
    """Return a line per machine step; a decoder that fails has none."""
    if run.deviation is not None:
        raise InputError(f"the decoder fails, so there is no trace: {agreement(run)}")
    return trace(machine, word, run.nodes, run.scoring)


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


Repair = Literal[
    "numbering", "compute_edge", "first_edge", "key_sign", "gate", "next_state", "next_cell",
    "position_bound",
]  # fmt: skip


@checked()
def turing(
    machine: str = "increment",
    word: str = "",
    machine_steps: Positive = 100,
    machine_file: InputPath | None = None,
    trace: bool = False,
    level: Literal["definition", "matrices", "package"] = "definition",
    scoring: Literal["product", "cell_test"] = "product",
    exact: bool = True,
    printed: bool = False,
    without: list[Repair] | Repair | None = None,
    check: bool = False,
    output: OutputPath | None = None,
) -> TheoryResult:
    """Run a Turing machine with the decoder of the paper's proof (Appendix B), and compare it.

    Every position of the decoder attends to at most two earlier ones. State, symbol and cell of
    every position are compared with a plain simulator.

    Examples:
        dna-bigbird theory turing --machine increment --input 1011 --trace
        dna-bigbird theory turing --machine palindrome --word abba --level package
        dna-bigbird theory turing --machine bouncing --word 10 --machine_steps 30 --output tape.png
        dna-bigbird theory turing --check

    Args:
        machine: Machine: bouncing, busy_beaver, copy, increment, mark_start, multiply or palindrome.
        word: Input of the machine, in cells 1 to n of its tape.
        machine_steps: Most steps of the machine.
        machine_file: YAML file with another machine, as docs/explanation/theory.md describes it.
        trace: Show the tape before every step, and which step wrote the symbol that is read next.
        level: The decoder by its definition, by weight matrices with ReLU and hardmax, or by these
            matrices and the attention of this package.
        scoring: Score of the paper, or the simpler one; the levels matrices and package have the
            simpler one.
        exact: Compute with fractions; false: in float64. Level package is in float64.
        printed: Run the construction as it is printed, which fails.
        without: Repairs to leave out; position_bound at the levels matrices and package, the others
            at the level definition.
        check: Count on 69 inputs and 60 random machines how many each version gets right; only
            --scoring goes with it.
        output: Result to write: the tape over time with the edges of each compute node; png, svg or
            pdf.
    """
    check_suffix(output)
    if check:
        others = {
            "machine": machine != "increment", "word": word, "machine_steps": machine_steps != 100,
            "machine_file": machine_file, "trace": trace, "level": level != "definition",
            "exact": not exact, "printed": printed, "without": without, "output": output,
        }  # fmt: skip
        if ignored := [name for name, is_given in others.items() if is_given]:
            raise InputError(f"--{ignored[0]} does not go with --check; leave it out")
        rows = [count._asdict() for count in counts(scoring)]
        return TheoryResult(None, rows, Table(rows).to_text())
    left_out = [without] if isinstance(without, str) else without or []
    is_fixed = "position_bound" in left_out
    if is_fixed and level == "definition":
        raise InputError("--without position_bound is for --level matrices or package")
    if level != "definition" and (printed or len(left_out) > is_fixed):
        raise InputError(
            f"--level {level}: expected no --printed, and of --without only position_bound"
        )
    chosen = bundled_machine(machine) if machine_file is None else read_machine(machine_file)
    repairs = (PRINTED if printed else REPAIRED) - set(left_out)
    run = run_decoder(chosen, word, machine_steps, scoring, exact, repairs)
    lines = [description(chosen, word, run)]
    if level != "definition":
        layers = layers_of(chosen, FIXED_BOUND if is_fixed else 0)
        lines.append(matrices_text(layers, word, run, exact, is_package=level == "package"))
    if trace:
        lines += ["", trace_text(trace_lines(chosen, word, run))]
    if output is not None:
        from dna_bigbird.theory.figures import turing_figure

        write_figure(
            output, turing_figure(chosen.name, chosen.blank, trace_lines(chosen, word, run))
        )
    return TheoryResult(output, rows_of(run), "\n".join(lines))
