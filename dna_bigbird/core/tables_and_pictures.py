"""How commands print a table and write a picture."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from dna_bigbird.core.errors import InputError
from dna_bigbird.core.writing import atomic_path

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


def table(rows: Sequence[dict[str, object]]) -> str:
    """Return rows as aligned text; the first column to the left, the others to the right.

    Example:
        >>> print(table([{"graph": "ring", "edges": 12}, {"graph": "star", "edges": 7}]))
        graph  edges
        ring      12
        star       7
    """
    names = list(rows[0])
    lines = [names, *([str(row[name]) for name in names] for row in rows)]
    widths = [max(len(line[i]) for line in lines) for i in range(len(names))]
    return "\n".join(
        "  ".join(
            text.rjust(width) if i else text.ljust(width)
            for i, (text, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )
