"""Tables as tab-separated text."""

from collections.abc import Mapping, Sequence


def to_tsv(rows: Sequence[Mapping[str, object]]) -> str:
    """Return a header, the keys of the first row, and one line per row; None is an empty cell.

    Example:
        >>> to_tsv([{"name": "gc", "auroc": 0.5}, {"name": "kmer", "auroc": None}])
        'name\\tauroc\\ngc\\t0.5\\nkmer\\t\\n'
    """
    columns = list(rows[0])
    lines = [columns, *([_cell(row.get(column)) for column in columns] for row in rows)]
    return "".join("\t".join(line) + "\n" for line in lines)


def _cell(value: object) -> str:
    return "" if value is None else str(value)
