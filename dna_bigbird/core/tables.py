"""Tables as tab-separated text, as Markdown and as aligned text."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Table:
    """Rows by the name of the column; None is an empty cell.

    Columns whose names end in `_low` and `_high` are the ends of the interval of a score.
    """

    rows: Sequence[Mapping[str, object]]
    columns: Sequence[str] = ()
    """Names in order; by default all of the rows."""

    def __post_init__(self) -> None:
        names = self.columns or dict.fromkeys(name for row in self.rows for name in row)
        object.__setattr__(self, "columns", list(names))

    def to_tsv(self) -> str:
        """Return a header and one line per row.

        Example:
            >>> Table([{"name": "gc", "auroc": 0.5}, {"name": "kmer", "auroc": None}]).to_tsv()
            'name\\tauroc\\ngc\\t0.5\\nkmer\\t\\n'
        """
        rows = ([row.get(name) for name in self.columns] for row in self.rows)
        cells = (["" if value is None else str(value) for value in row] for row in rows)
        return "".join("\t".join(line) + "\n" for line in (self.columns, *cells))

    def to_markdown(self) -> list[str]:
        """Return the lines of a Markdown table for readers, an interval after its score.

        Example:
            >>> row = {"name": "gc", "f1_score": 0.5, "f1_score_low": 0.25, "f1_score_high": 0.75}
            >>> Table([row | {"n": 1000}, row | {"f1_score": None}]).to_markdown()[1:]
            ['|---|---|---|', '| gc | 0.500 [0.250, 0.750] | 1,000 |', '| gc | – | – |']
        """
        names = [name for name in self.columns if not name.endswith(("_low", "_high"))]
        rows = ([_readable(row, name) for name in names] for row in self.rows)
        head, *body = (
            f"| {' | '.join(line)} |"
            for line in ([name.replace("_", " ") for name in names], *rows)
        )
        return [head, "|---" * len(names) + "|", *body]

    def to_text(self) -> str:
        """Return aligned text; the first column to the left, the others to the right.

        Example:
            >>> print(Table([{"graph": "ring", "edges": 12}, {"graph": "star", "edges": 7}]).to_text())
            graph  edges
            ring      12
            star       7
        """
        lines = [self.columns, *([str(row[name]) for name in self.columns] for row in self.rows)]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        return "\n".join(
            "  ".join(
                text.rjust(width) if i else text.ljust(width)
                for i, (text, width) in enumerate(zip(line, widths, strict=True))
            ).rstrip()
            for line in lines
        )


def _readable(row: Mapping[str, object], name: str) -> str:
    value = row.get(name)
    if value is None:
        return "–"
    if isinstance(value, float) and f"{name}_low" in row:
        low, high = row[f"{name}_low"], row[f"{name}_high"]
        return f"{value:.3f}" + (f" [{low:.3f}, {high:.3f}]" if low is not None else "")
    return f"{value:,}" if isinstance(value, int) else str(value)
