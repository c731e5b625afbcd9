"""Data frames of results. pandas is optional: only this module imports it, when a frame is made."""

import csv
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from dna_bigbird.core.errors import MissingExtraError
from dna_bigbird.core.extras import advice

if TYPE_CHECKING:
    import numpy as np
    from pandas import DataFrame as DataFrame
else:
    DataFrame = Any
"""Type of a data frame."""
TEXT_COLUMNS = (
    "sequence", "chrom", "id", "ref", "alt", "effect", "name", "label", "group", "source", "split",
    "strand", "category", "other_split",
)  # fmt: skip
"""Columns of our tables whose values are text also if they read 22, NA or nan."""


def dataframe(columns: Mapping[str, object]) -> DataFrame:
    return _pandas().DataFrame(dict(columns))


def dataframe_of_rows(rows: Iterable[Mapping[str, object]]) -> DataFrame:
    """Return a data frame of rows; its columns are the keys of the first."""
    rows = list(rows)
    return _pandas().DataFrame(rows, columns=list(rows[0]) if rows else None)


def with_values(
    columns: Mapping[str, object],
    names: Iterable[str],
    values: "np.ndarray",
    last: Mapping[str, object] = MappingProxyType({}),
) -> DataFrame:
    """Return a data frame of columns, then of a matrix (rows, names), then of the `last` columns."""
    pandas = _pandas()
    matrix = pandas.DataFrame(values, columns=list(names))
    parts = [pandas.DataFrame(dict(columns)), matrix]
    return pandas.concat([*parts, *([pandas.DataFrame(dict(last))] if last else [])], axis=1)


def read_table(path: Path | str) -> DataFrame:
    """Read a table that this package has written: CSV if its name says so, else TSV."""
    pandas = _pandas()
    is_csv = Path(path).suffix.lower() == ".csv"
    # In a TSV quotes are part of names.
    layout = {"sep": ","} if is_csv else {"sep": "\t", "quoting": csv.QUOTE_NONE}
    header = pandas.read_csv(path, nrows=0, **layout).columns
    text = {name: str for name in header if name in TEXT_COLUMNS}
    return pandas.read_csv(
        path,
        dtype=text,
        keep_default_na=False,
        na_values={name: ["", "nan"] for name in header if name not in text},
        **layout,
    )


def _pandas() -> Any:
    try:
        import pandas
    except ImportError as error:
        raise MissingExtraError(advice("pandas")) from error
    return pandas
