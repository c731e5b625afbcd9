"""The result of in-silico mutagenesis, and the files that hold it."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from dna_bigbird.choices import checked
from dna_bigbird.errors import InputError
from dna_bigbird.writing import atomic_path

# P positions, L labels; 4 bases in the order of LETTERS

LETTERS = "ACGT"
EFFECTS = ("diff", "log_odds")
KINDS = (".tsv", ".npz")
Effect = Literal["diff", "log_odds"]


@dataclass(frozen=True)
class Mutagenesis:
    """Effects of all substitutions in a region.

    0 at the reference base; NaN where the reference is N.
    """

    chrom: str
    start: int
    """0-based position of the first base."""
    reference: str
    """The bases of the region on the forward strand, (P,)."""
    label_names: list[str]
    diff: NDArray[np.float64]
    """Probability with the substitution minus that of the reference, (P, 4, L)."""
    log_odds: NDArray[np.float64]
    """The same of the log odds."""
    notes: list[str] = field(default_factory=list)
    """What a user should know of how they were computed."""

    @checked()
    def effects(self, effect: Effect) -> NDArray[np.float64]:
        """Return one of the two tables, (P, 4, L)."""
        return {"diff": self.diff, "log_odds": self.log_odds}[effect]


@checked()
def write_mutagenesis(found: Mutagenesis, path: Path, effect: Effect) -> None:
    """Write the matrix by the ending of its name.

    `.tsv`: see `tsv_lines`. `.npz`: both effects as arrays `diff` and `log_odds` (positions, 4,
    labels), with `chrom`, `start` (0-based), `reference`, `bases` and `labels`.

    Raises:
        InputError: If the name ends otherwise.
    """
    check_kind(path)
    with atomic_path(path) as partial:
        if path.suffix == ".tsv":
            partial.write_text("".join(f"{line}\n" for line in tsv_lines(found, effect)))
            return
        with open(partial, "wb") as stream:  # given a name, numpy would add an ending
            np.savez_compressed(
                stream,
                chrom=np.array(found.chrom),
                start=np.array(found.start),
                reference=np.array(list(found.reference)),
                bases=np.array(list(LETTERS)),
                labels=np.array(found.label_names),
                diff=found.diff,
                log_odds=found.log_odds,
            )


def check_kind(path: Path) -> None:
    """Refuse a name with another ending than KINDS.

    Raises:
        InputError: Naming the endings.
    """
    if path.suffix not in KINDS:
        raise InputError(f"--output {path}: the name of a matrix ends in {' or '.join(KINDS)}")


@checked()
def tsv_lines(found: Mutagenesis, effect: Effect) -> Iterator[str]:
    """Yield the matrix as a table, a line a base.

    Columns: chrom, pos (from 1), ref, then `<label>_A_<effect>` and so on for C, G, T and the next
    label; nan where the reference is N.
    """
    names = [f"{label}_{base}_{effect}" for label in found.label_names for base in LETTERS]
    yield "\t".join(["chrom", "pos", "ref", *names])
    rows_PLB = found.effects(effect).transpose(0, 2, 1)
    for i, (base, values) in enumerate(zip(found.reference, rows_PLB, strict=True)):
        numbers = (f"{value:.5g}" for value in values.ravel())
        yield "\t".join([found.chrom, str(found.start + i + 1), base, *numbers])
