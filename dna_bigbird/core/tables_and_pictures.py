"""How commands print facts and write a picture."""

import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from dna_bigbird.core.errors import InputError
from dna_bigbird.core.writing import atomic_path

# Text for a terminal: facts in columns, and a model card without its Markdown.

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
    widths = [max(map(len, column)) for column in zip(*cells, strict=False)]
    lines = (
        "  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=False))
        for row in cells
    )
    return "\n".join(f"  {line.rstrip()}" for line in lines)


if TYPE_CHECKING:
    from matplotlib.figure import Figure

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
