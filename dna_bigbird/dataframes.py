"""Data frames of results. pandas is optional: only this module imports it, when a frame is made."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

TEXT_COLUMNS = (
    "sequence", "chrom", "id", "ref", "alt", "effect", "name", "label", "group", "source", "split",
    "strand", "category", "other_split",
)  # fmt: skip
"""Columns of our tables whose values are text also if they read 22, NA or nan."""


def dataframe(columns: Mapping[str, object]) -> "pd.DataFrame":
    """Return a data frame with these columns.

    Raises:
        ImportError: Without pandas; it names the command that installs it.
    """
    return _pandas().DataFrame(dict(columns))


def dataframe_of_rows(rows: Iterable[Mapping[str, object]]) -> "pd.DataFrame":
    """Return a data frame of rows; its columns are the keys of the first."""
    rows = list(rows)
    return _pandas().DataFrame(rows, columns=list(rows[0]) if rows else None)


def with_values(
    columns: Mapping[str, object], names: Iterable[str], values: "np.ndarray"
) -> "pd.DataFrame":
    """Return a data frame of columns and, after them, the columns of a matrix.

    Args:
        names: Of the columns of the matrix; a name may occur twice.
        values: (rows, names).
    """
    pandas = _pandas()
    first = pandas.DataFrame(dict(columns))
    rest = pandas.DataFrame(values, columns=list(names))
    return pandas.concat([first, rest], axis=1)


def read_table(path: Path | str) -> "pd.DataFrame":
    """Read a table that this package has written (TSV)."""
    pandas = _pandas()
    header = pandas.read_csv(path, sep="\t", nrows=0, comment=None).columns
    text = {name: str for name in header if name in TEXT_COLUMNS}
    return pandas.read_csv(
        path,
        sep="\t",
        dtype=text,
        keep_default_na=False,
        na_values={name: ["", "nan"] for name in header if name not in text},
        quoting=3,  # no quotes: they are part of names
    )


def _pandas():
    try:
        import pandas
    except ImportError as error:
        raise ImportError(
            "a data frame needs pandas: pip install 'dna-bigbird[dataframe]'"
        ) from error
    return pandas
