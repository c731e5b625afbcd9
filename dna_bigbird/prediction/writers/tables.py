"""Tables with one row per window, allele or base: lines of TSV and CSV, and predictions as such files."""

import csv
import functools
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from numpy.typing import NDArray

from dna_bigbird.core.writing import atomic_path
from dna_bigbird.prediction.partial_results_file import Spool
from dna_bigbird.prediction.writers.target import ROW_NAME, WriteContext

COORDINATES = ("sequence", "start", "end")


class _Line:
    """A file whose `write` returns the text, as `csv.writer.writerow` then does."""

    def write(self, text: str) -> str:
        return text


_CSV = csv.writer(_Line(), lineterminator="\n")


def table_line(fields: Sequence[str], format: str) -> str:
    """Return a line of a table in TSV or CSV; a field of CSV that has a comma or quote is quoted.

    Example:
        >>> table_line(["chr1", "a, b", "0.5"], "csv")
        'chr1,"a, b",0.5\\n'
    """
    return _CSV.writerow(fields) if format == "csv" else "\t".join(fields) + "\n"


def header_of(label_names: Sequence[str], frame: Mapping[str, NDArray]) -> list[str]:
    """Return the names of the columns: coordinates, labels, then the name of the BED row if there is one."""
    return [*COORDINATES, *label_names, *([ROW_NAME] if ROW_NAME in frame else [])]


def lines_of(frame: Mapping[str, NDArray], format: str) -> Iterator[str]:
    """Yield the rows of a frame as lines; probabilities have five significant digits."""
    values = frame["probabilities"]
    form = "%s\t%d\t%d" + "\t%.5g" * values.shape[1] + ("\t%s" if ROW_NAME in frame else "")
    names = [(name.decode(),) for name in frame[ROW_NAME].tolist()] if ROW_NAME in frame else None
    columns = (frame["sequence"], frame["start"], frame["end"], values)
    rows = zip(*(column.tolist() for column in columns), strict=True)
    for number, (sequence, start, end, row) in enumerate(rows):
        line = form % (sequence.decode(), start, end, *row, *(names[number] if names else ()))
        yield f"{line}\n" if format == "tsv" else table_line(line.split("\t"), format)


def _write(format: str, path: Path, spool: Spool, context: WriteContext) -> None:
    with atomic_path(path) as partial, open(partial, "w", encoding="utf-8") as stream:
        header = header_of(context.label_names, next(spool.frames(), {}))
        stream.write(table_line(header, format))
        for frame in spool.frames():
            stream.writelines(lines_of(frame, format))


write_tsv = functools.partial(_write, "tsv")
write_csv = functools.partial(_write, "csv")
