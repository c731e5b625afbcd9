"""Tables as tab-separated, Markdown and aligned text; facts in columns; pictures as files."""

import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from dna_bigbird.core.errors import InputError
from dna_bigbird.core.writing import atomic_path

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WIDTH = 88


MANY = 3
"""Facts of a group that fit on one line."""


def as_columns(facts: Mapping[str, object], indent: str = "") -> str:
    """Return one line per fact, the values in a column; a group of many facts below its name.

    Example:
        >>> print(as_columns({"n": 1200, "window": "300 bp", "rows": {"a": 1, "b": 2}}))
        n       1,200
        window  300 bp
        rows    a 1, b 2
    """
    width = max(map(len, facts), default=0)
    lines = []
    for name, value in facts.items():
        if isinstance(value, Mapping) and len(value) > MANY:
            lines += [f"{indent}{name}", as_columns(value, f"{indent}  ")]
        else:
            lines.append(f"{indent}{name:<{width}}  {in_words(value)}")
    return "\n".join(lines)


def in_words(value: object) -> str:
    """Return a value of a JSON file in words."""
    if isinstance(value, bool) or value in (None, ""):
        return {True: "yes", False: "no"}.get(value, "–")
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {in_words(item)}" for name, item in value.items()) or "none"
    if isinstance(value, list):
        return "; ".join(map(in_words, value)) or "none"
    return str(value)


def without_markdown(text: str, width: int = WIDTH) -> str:
    """Return a card as plain text: paragraphs filled, tables in columns, no control characters.

    Example:
        >>> print(without_markdown("## Scores\\n\\n| a | model |\\n|---|---|\\n| auroc | **0.9** |"))
        Scores
        <BLANKLINE>
          a      model
          auroc  0.9
    """
    printable = "".join(c for c in text if c.isprintable() or c == "\n").replace("**", "")
    blocks = [block.splitlines() for block in printable.split("\n\n") if block.strip()]
    return "\n\n".join(_block(lines, width) for lines in blocks)


def _block(lines: list[str], width: int) -> str:
    if all(line.startswith("|") for line in lines):
        return _table([[cell.strip() for cell in line.strip("|").split("|")] for line in lines])
    items: list[str] = []
    for line in lines:
        text = line.lstrip("#> ").replace("`", "")
        if items and not text.startswith("- "):  # lines of one paragraph or item
            items[-1] += f" {text.strip()}"
        else:
            items.append(text)
    return "\n".join(
        textwrap.fill(item, width, subsequent_indent="  " if item.startswith("- ") else "")
        for item in items
    )


def _table(cells: list[list[str]]) -> str:
    cells = [row for row in cells if any(cell.strip("-: ") for cell in row)]
    return "\n".join(f"  {line}" for line in _aligned(cells, str.ljust))


def _aligned(lines: Sequence[Sequence[str]], justify: Callable[[str, int], str]) -> list[str]:
    """Return lines with equal columns, the first of them to the left."""
    widths = [max(map(len, column)) for column in zip(*lines, strict=False)]
    return [
        "  ".join(
            justify(text, width) if i else text.ljust(width)
            for i, (text, width) in enumerate(zip(line, widths, strict=False))
        ).rstrip()
        for line in lines
    ]


FORMATS = ("png", "svg", "pdf")


def check_suffix(output: Path | None) -> None:
    """Raise InputError early if the name of a picture has another suffix than a format."""
    if output is not None and output.suffix.lstrip(".") not in FORMATS:
        raise InputError(f"--output {output}: the name of a picture ends in .{', .'.join(FORMATS)}")


def write_figure(output: Path, figure: "Figure") -> None:
    """Write a picture in the format of the file's suffix."""
    from dna_bigbird.core.figures.style import save

    with atomic_path(output) as partial:
        partial.write_bytes(save(figure, output.suffix.lstrip(".")))


@dataclass(frozen=True)
class Table:
    """Rows by column name; None is an empty cell, `_low` and `_high` end the interval of a score."""

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
        return "\n".join(_aligned(lines, str.rjust))


def _readable(row: Mapping[str, object], name: str) -> str:
    value = row.get(name)
    if value is None:
        return "–"
    if isinstance(value, float) and f"{name}_low" in row:
        low, high = row[f"{name}_low"], row[f"{name}_high"]
        return f"{value:.3f}" + (f" [{low:.3f}, {high:.3f}]" if low is not None else "")
    return f"{value:,}" if isinstance(value, int) else str(value)
