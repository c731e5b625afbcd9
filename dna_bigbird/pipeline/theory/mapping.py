"""`dna-bigbird theory mapping`."""

from dna_bigbird.choices import checked
from dna_bigbird.errors import InputError
from dna_bigbird.pipeline.tables_and_pictures import table
from dna_bigbird.pipeline.theory.results import TheoryResult

SIZES = (
    (2, 1, 2), (2, 1, 3), (3, 1, 2), (3, 1, 3), (2, 2, 2), (2, 2, 3), (4, 1, 2), (3, 2, 2),
    (4, 2, 2), (3, 2, 3),
)  # fmt: skip
MOST_INPUTS = 1_000_000


@checked()
def mapping(grid: list[int] | None = None, steps: bool = True) -> TheoryResult:
    """Check the contextual mapping on the star graph for every input of a grid (Appendix A, Lemma 3).

    The numbers of all tokens of all inputs must differ. Without the last layer they collide, and
    the value of the global token alone may, too. Everything is computed with whole numbers. Also
    shown: how the error of piecewise constant functions falls with the step (Lemma 1).

    Examples:
        dna-bigbird theory mapping
        dna-bigbird theory mapping --grid 5 1 3 --steps false

    Args:
        grid: Tokens n, coordinates d and steps per unit m of one grid; ten grids if not given.
        steps: Also show the error of piecewise constant functions.
    """
    from dna_bigbird.theory.mapping import Grid, check_mapping, separated_stages
    from dna_bigbird.theory.steps import FUNCTIONS, largest_error

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
        errors = [
            {"function": name}
            | {f"δ = 1/{m}": f"{float(largest_error(function, 2, m)):.3f}" for m in (2, 4, 8, 16)}
            | {"bound at 1/16": f"{constant / 16:.3f}"}
            for name, (function, constant) in FUNCTIONS.items()
        ]
        text += ["", "largest error of the piecewise constant function, two tokens:", table(errors)]
    return TheoryResult(None, rows, "\n".join(text))
