"""The result of in-silico mutagenesis as a table, as arrays and as a picture."""

import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from dna_bigbird.choices import checked
from dna_bigbird.errors import InputError
from dna_bigbird.inference.results import Effect, Mutagenesis
from dna_bigbird.writing import atomic_path

LETTERS = "ACGT"
SUFFIXES = (".tsv", ".npz")
PICTURES = (".png", ".svg", ".pdf")


@checked()
def write_matrix(result: Mutagenesis, path: Path, effect: Effect) -> None:
    """Write the matrix in the format of the suffix.

    `.tsv`: see `tsv_lines`. `.npz`: both effects as arrays `diff` and `log_odds` (positions, 4,
    labels), with `chrom`, `start` (0-based), `reference`, `bases` and `labels`.

    Raises:
        InputError: If it is another suffix.
    """
    check_suffix(path)
    with atomic_path(path) as partial:
        if path.suffix == ".tsv":
            partial.write_text("".join(f"{line}\n" for line in tsv_lines(result, effect)))
            return
        with open(partial, "wb") as stream:  # numpy would add a suffix to a name
            np.savez_compressed(
                stream,
                chrom=np.array(result.chrom),
                start=np.array(result.start),
                reference=np.array(list(result.reference)),
                bases=np.array(list(LETTERS)),
                labels=np.array(result.label_names),
                diff=result.diff,
                log_odds=result.log_odds,
            )


def check_suffix(path: Path) -> None:
    """Raise InputError if the name of a matrix does not end in one of SUFFIXES."""
    if path.suffix not in SUFFIXES:
        raise InputError(f"--output {path}: the name of a matrix ends in {' or '.join(SUFFIXES)}")


@checked()
def tsv_lines(result: Mutagenesis, effect: Effect) -> Iterator[str]:
    """Yield the matrix as a table, one line per base.

    Columns: chrom, pos (from 1), ref, then `<label>_A_<effect>` and so on for C, G, T and the next
    label; nan where the reference is N.
    """
    names = [f"{label}_{base}_{effect}" for label in result.label_names for base in LETTERS]
    yield "\t".join(["chrom", "pos", "ref", *names])
    rows_PLB = result.effects(effect).transpose(0, 2, 1)
    for i, (base, values) in enumerate(zip(result.reference, rows_PLB, strict=True)):
        numbers = (f"{value:.5g}" for value in values.ravel())
        yield "\t".join([result.chrom, str(result.start + i + 1), base, *numbers])


@checked()
def print_matrix(result: Mutagenesis, effect: Effect) -> None:
    """Write the table to standard output."""
    for line in tsv_lines(result, effect):
        sys.stdout.write(f"{line}\n")


def check_picture(picture: Path, length_bp: int) -> None:
    """Raise InputError for a picture of another format, or of too many bases."""
    if picture.suffix not in PICTURES:
        raise InputError(f"--picture {picture}: the name ends in {', '.join(PICTURES)}")
    from dna_bigbird.report.figures.mutagenesis_figure import MOST_BASES

    if length_bp > MOST_BASES:
        raise InputError(
            f"--picture {picture}: a picture shows at most {MOST_BASES:,} bases, the region has "
            f"{length_bp:,}; write --output instead"
        )


@checked()
def write_picture(result: Mutagenesis, picture: Path, effect: Effect) -> list[str]:
    """Draw the matrix; return a note if not every label is drawn."""
    from dna_bigbird.report.figures.mutagenesis_figure import mutagenesis_figure
    from dna_bigbird.report.figures.style import save

    figure, drawn = mutagenesis_figure(
        result.chrom, result.start, result.reference, result.label_names, result.effects(effect),
        effect=effect,
    )  # fmt: skip
    with atomic_path(picture) as partial:
        partial.write_bytes(save(figure, picture.suffix[1:], dpi=200))
    if len(drawn) == len(result.label_names):
        return []
    return [f"{picture} shows the labels with the largest effects: {', '.join(drawn)}"]
