"""The 919 labels of DeepSEA: name, group, cell, target. The column is the key: names repeat."""

from pathlib import Path
from typing import NamedTuple

from dna_bigbird.core.errors import InputError
from dna_bigbird.core.files import numbered_lines

GROUPS = (("DHS", 0, 125), ("TF", 125, 815), ("HM", 815, 919))
"""Columns [start, end) of each group, counted from 0 (Zhou and Troyanskaya 2015)."""


class Label(NamedTuple):
    """One column of the labels."""

    name: str
    group: str
    cell: str
    target: str


def read_labels(path: Path) -> list[Label]:
    """Read label names, in the order of the columns.

    The file has one name per line (`cell_target_treatment`), 919 of them, whose groups follow from
    their places; or it is a tab-separated table with the columns `label`, `group` and `cell`, as
    data_specs/deepsea_919_peaks.tsv. Blanks around a name are dropped.

    Raises:
        InputError: If there are not 919 names, or the table lacks a column or a value.
    """
    lines = [line.rstrip("\n") for _, line in numbered_lines(path)]
    while lines and not lines[-1].strip():
        lines.pop()
    if lines and "\t" in lines[0]:
        return _from_table(path, [line.split("\t") for line in lines])
    names = [line.strip() for line in lines]
    expected = GROUPS[-1][-1]
    if len(names) != expected:
        raise InputError(
            f"{path}: {len(names)} lines, expected {expected}, one name each. For other labels "
            "give a tab-separated table with the columns label, group, cell"
        )
    groups = [group for group, start, end in GROUPS for _ in range(start, end)]
    known = _cells(names)
    return [
        Label(name, group, *_parts(name, known)) for name, group in zip(names, groups, strict=True)
    ]


def _from_table(path: Path, rows: list[list[str]]) -> list[Label]:
    header, *rows = rows
    missing = [name for name in ("label", "group", "cell") if name not in header]
    if missing:
        raise InputError(f"{path}:1: the header lacks {', '.join(missing)}")
    labels = []
    for number, row in enumerate(rows, start=2):
        cells = {key: value.strip() for key, value in zip(header, row, strict=False)}
        name, group, cell = (cells.get(key, "") for key in ("label", "group", "cell"))
        if not name or not group:
            raise InputError(f"{path}:{number}: no label or no group; expected both")
        labels.append(Label(name, group, cell, _parts(name, {cell})[1]))
    return labels


def _cells(names: list[str]) -> set[str]:
    """Return the cells of the DNase labels: those whose name has a `_` are not seen otherwise."""
    return {name.partition("_DNase_")[0] for name in names if "_DNase_" in name}


def _parts(name: str, known_cells: set[str]) -> tuple[str, str]:
    """Return the cell and the target of `cell_target_treatment`; the treatment may hold a `_`."""
    fits = [cell for cell in known_cells if cell and name.startswith(f"{cell}_")]
    cell = max(fits, key=len, default=name.partition("_")[0])
    return cell, name[len(cell) + 1 :].partition("_")[0]
