"""Values of points in a figure, which a page shows at the pointer (report/templates/report.js)."""

from collections.abc import Sequence

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.backend_bases import RendererBase
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

# N points
PARTS = 1000
"""Positions are in parts of the width and height of the figure."""


class Marks(Artist):
    """Points of an axes with their values; it draws nothing."""

    def __init__(self, points_N2: np.ndarray, name: str, pattern: str, rows: list[list[str]]):
        super().__init__()
        self.points_N2, self.name, self.pattern, self.rows = points_N2, name, pattern, rows
        self.set_in_layout(False)

    def draw(self, renderer: RendererBase) -> None:
        """Draw nothing."""


def add_marks(
    ax: Axes, x: ArrayLike, y: ArrayLike, name: str, pattern: str, *columns: Sequence[object]
) -> None:
    """Keep what a page shows at points of an axes.

    Args:
        x, y: Of the points, (N,), in data coordinates.
        name: Written before the values, such as the name of a line; may be empty.
        pattern: Text with a `{}` for each of `columns`.
        columns: Values of every point, (N,) each: text, or numbers, which are rounded.

    Example:
        >>> ax = Figure().add_subplot()
        >>> add_marks(ax, [0, 1], [0.25, 0.75], "BigBird", "recall {}, precision {}", [0, 1], [0.25, 0.75])
    """
    x_N, y_N = np.broadcast_arrays(np.asarray(x, float), np.asarray(y, float))
    rows = [[_text(value) for value in row] for row in zip(*columns, strict=True)]
    if len(rows) != len(x_N):
        raise ValueError(f"{len(x_N)} points have {len(rows)} rows of values")
    ax.add_artist(Marks(np.column_stack([x_N, y_N]), _line(name), _line(pattern), rows))


def marks_text(fig: Figure) -> str:
    """Return the marks of a figure that was drawn, as report.js reads them; "" if it has none.

    A line `=NAME<tab>PATTERN` begins a set of marks. Each of its points is a line: parts of the width from the left,
    parts of the height from the top, then the values, with tabs between. Points outside the axes are left out.
    """
    lines = []
    for marks in fig.findobj(Marks):
        drawn_N2 = marks.axes.transData.transform(marks.points_N2)
        inside_N = [marks.axes.bbox.padded(1).contains(*point) for point in drawn_N2]
        parts_N2 = PARTS * drawn_N2 / fig.bbox.size
        points = [
            "\t".join([f"{across:.0f}", f"{PARTS - up:.0f}", *row])
            for (across, up), row, inside in zip(parts_N2, marks.rows, inside_N, strict=True)
            if inside
        ]
        lines += [f"={marks.name}\t{marks.pattern}", *points] if points else []
    return "\n".join(lines)


def _text(value: object) -> str:
    if isinstance(value, int | np.integer):
        return f"{value:,}"
    return f"{value:.4g}" if isinstance(value, float | np.floating) else _line(str(value))


def _line(text: str) -> str:
    return " ".join(text.split())
