"""`dna-bigbird theory mapping`."""

from dna_bigbird.core.choices import checked
from dna_bigbird.core.errors import InputError
from dna_bigbird.core.paths import OutputPath
from dna_bigbird.core.tables_and_pictures import check_suffix, table, write_figure
from dna_bigbird.theory.results import TheoryResult

SIZES = (
    (2, 1, 2), (2, 1, 3), (3, 1, 2), (3, 1, 3), (2, 2, 2), (2, 2, 3), (4, 1, 2), (3, 2, 2),
    (4, 2, 2), (3, 2, 3),
)  # fmt: skip
MOST_INPUTS = 1_000_000
STEPS = (2, 4, 8, 16)
"""1/δ of piecewise constant functions."""


@checked()
def mapping(
    grid: list[int] | None = None, steps: bool = True, output: OutputPath | None = None
) -> TheoryResult:
    """Check the contextual mapping on the star graph for every input of a grid (Appendix A, Lemma 3).

    The numbers of all tokens of all inputs must differ. Without the last layer they collide, and
    the value of the global token alone may, too. Everything is computed with whole numbers. Also
    shown: how the error of piecewise constant functions falls with the step (Lemma 1).

    Examples:
        dna-bigbird theory mapping
        dna-bigbird theory mapping --grid 5 1 3 --steps false
        dna-bigbird theory mapping --output errors.png

    Args:
        grid: Tokens n, coordinates d and steps per unit m of one grid; ten grids if not given.
        steps: Also show the error of piecewise constant functions.
        output: Result to write: this error by the step, with its bound; png, svg or pdf.
    """
    from dna_bigbird.theory.mapping import Grid, check_mapping, separated_stages
    from dna_bigbird.theory.steps import FUNCTIONS, largest_error

    check_suffix(output)
    if output is not None and not steps:
        raise InputError("--output draws what --steps false leaves out; leave out one of them")
    if grid is not None and (len(grid) != 3 or min(grid[:2]) < 1 or grid[2] < 2):
        raise InputError(f"--grid {grid}: expected three numbers n, d and m: 1, 1 and 2 or more")
    rows = []
    for n, d, m in [grid] if grid else SIZES:
        if m ** (n * d) > MOST_INPUTS:
            raise InputError(
                f"--grid {n} {d} {m}: {m}^{n * d} inputs; expected at most {MOST_INPUTS:,}"
            )
        check = check_mapping(Grid(n, d, m))
        alone = all(a and b for a, b in separated_stages(Grid(n, d, m)))
        rows.append(
            {
                "n, d, 1/δ": f"{n}, {d}, {m}",
                "inputs": check.inputs,
                "contextual": "yes" if check.is_contextual else "no",
                "thresholds exist": "yes" if alone else "no",
                "collisions without the last layer": check.collisions_without_last,
                "of the global value alone": check.collisions_of_global,
                "bits": check.bits,
            }
        )
    text = [table(rows)]
    if steps:
        errors = {
            name: [float(largest_error(function, 2, m)) for m in STEPS]
            for name, (function, _) in FUNCTIONS.items()
        }
        lines = [
            {"function": name}
            | {f"δ = 1/{m}": f"{error:.3f}" for m, error in zip(STEPS, errors[name], strict=True)}
            | {"bound at 1/16": f"{constant / 16:.3f}"}
            for name, (_, constant) in FUNCTIONS.items()
        ]
        text += ["", "largest error of the piecewise constant function, two tokens:", table(lines)]
    if output is not None:
        from dna_bigbird.theory.figures import error_figure

        constants = {name: constant for name, (_, constant) in FUNCTIONS.items()}
        write_figure(output, error_figure(STEPS, errors, constants))
    return TheoryResult(output, rows, "\n".join(text))
