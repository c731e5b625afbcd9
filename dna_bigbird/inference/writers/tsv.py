"""Predictions as a table: one row per window, one column per label."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from numpy.typing import NDArray

from dna_bigbird.inference.spool_file import Spool
from dna_bigbird.inference.writers.base import WriteContext
from dna_bigbird.writing import atomic_path

COORDINATES = ("sequence", "start", "end")


def write_tsv(path: Path, spool: Spool, context: WriteContext) -> None:
    """Write the table.

    Raises:
        OutputError: If the disk is full.
    """
    with atomic_path(path) as partial, open(partial, "w", encoding="utf-8") as stream:
        stream.write(header_line(context.label_names))
        for frame in spool.frames():
            stream.writelines(lines_of(frame))


def header_line(label_names: Sequence[str]) -> str:
    """Return the names of the columns."""
    return "\t".join([*COORDINATES, *label_names]) + "\n"


def lines_of(frame: Mapping[str, NDArray]) -> Iterator[str]:
    """Yield the rows of a frame; probabilities have five significant digits."""
    values = frame["probabilities"]
    form = "%s\t%d\t%d" + "\t%.5g" * values.shape[1] + "\n"
    columns: Iterable = (frame["sequence"], frame["start"], frame["end"], values)
    for name, start, end, row in zip(*(column.tolist() for column in columns), strict=True):
        yield form % (name.decode(), start, end, *row)
