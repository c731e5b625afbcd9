"""Scores that the BigBird paper prints, as data of the report; none was computed or repeated here."""

from dataclasses import dataclass, replace

NONE = "–"
"""A cell that the paper leaves empty."""


@dataclass(frozen=True)
class Column:
    """One column of a published table, and the measured scores to show below it."""

    title: str
    run: str
    """Name of the set, which is the folder of its evaluation; empty: not measured here."""
    keys: tuple[str, ...]
    """Scores of its metrics.json, as many as the cell has numbers."""
    factor: float = 100.0
    """From metrics.json to the table."""
    higher_is_better: bool = True


@dataclass(frozen=True)
class PublishedTable:
    """A table of the paper, or some columns of one."""

    number: int
    title: str
    about: str
    columns: tuple[Column, ...]
    rows: dict[str, tuple[str, ...]]
    """By system; as many cells as there are columns."""


def cells_by_system(text: str) -> dict[str, tuple[str, ...]]:
    """Return cells by system.

    Example:
        >>> cells_by_system("BERT | 1 | 2")
        {'BERT': ('1', '2')}
    """
    lines = ([cell.strip() for cell in line.split("|")] for line in text.strip().splitlines())
    return {name: tuple(cells) for name, *cells in lines}


def joined(parts: list[PublishedTable]) -> list[PublishedTable]:
    """Join parts of the same number, sorted; a system that a part lacks has empty cells."""
    tables: dict[int, PublishedTable] = {}
    for part in parts:
        table = tables.get(part.number)
        tables[part.number] = part if table is None else _widened(table, part)
    return [tables[number] for number in sorted(tables)]


def _widened(table: PublishedTable, part: PublishedTable) -> PublishedTable:
    cells = {}
    for system in dict.fromkeys([*table.rows, *part.rows]):
        left = table.rows.get(system, (NONE,) * len(table.columns))
        cells[system] = left + part.rows.get(system, (NONE,) * len(part.columns))
    about = table.about if part.about in table.about else f"{table.about} {part.about}"
    return replace(table, about=about, columns=table.columns + part.columns, rows=cells)
