"""`dna-bigbird theory turing`."""

from typing import Literal

from dna_bigbird.core.choices import checked
from dna_bigbird.core.errors import InputError
from dna_bigbird.core.paths import InputPath, OutputPath
from dna_bigbird.core.settings import Positive
from dna_bigbird.core.tables import Table, check_suffix, write_figure
from dna_bigbird.theory.results import TheoryResult

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
        machine_file: YAML file with another machine, as docs/theory.md describes it.
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
    from dna_bigbird.theory import theory_turing_run as steps

    check_suffix(output)
    if check:
        others = {
            "machine": machine != "increment", "word": word, "machine_steps": machine_steps != 100,
            "machine_file": machine_file, "trace": trace, "level": level != "definition",
            "exact": not exact, "printed": printed, "without": without, "output": output,
        }  # fmt: skip
        if ignored := [name for name, is_given in others.items() if is_given]:
            raise InputError(f"--{ignored[0]} does not go with --check; leave it out")
        rows = steps.version_rows(scoring)
        return TheoryResult(None, rows, Table(rows).to_text())
    left_out = [without] if isinstance(without, str) else without or []
    is_fixed = "position_bound" in left_out
    if is_fixed and level == "definition":
        raise InputError("--without position_bound is for --level matrices or package")
    if level != "definition" and (printed or len(left_out) > is_fixed):
        raise InputError(
            f"--level {level}: expected no --printed, and of --without only position_bound"
        )
    chosen = steps.find_machine(machine, machine_file)
    run = steps.run(chosen, word, machine_steps, scoring, exact, steps.repairs(printed, left_out))
    lines = [steps.description(chosen, word, run)]
    if level != "definition":
        layers = steps.layers(chosen, is_fixed)
        lines.append(steps.matrices_text(layers, word, run, exact, is_package=level == "package"))
    if trace:
        lines += ["", steps.trace_of(chosen, word, run)]
    if output is not None:
        from dna_bigbird.theory.figures import turing_figure

        write_figure(
            output, turing_figure(chosen.name, chosen.blank, steps.trace_lines(chosen, word, run))
        )
    return TheoryResult(output, steps.rows_of(run), "\n".join(lines))
