"""One look for all pictures.

Blue for the model, vermilion for the k-mer baseline, green and grey for n-grams and chance (the
colours of Okabe and Ito, which colour-blind readers can distinguish). Each also has its own line
style, so a grey print is readable.
"""

import contextlib
import io
from collections.abc import Iterable, Iterator, Sequence

import matplotlib
import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.backend_bases import RendererBase
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import PathCollection
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.path import Path
from matplotlib.textpath import TextPath
from matplotlib.transforms import Affine2D
from numpy.typing import ArrayLike

# Values of points in a figure, which a page shows at the pointer (report/templates/report.js).

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
    """Keep what a page shows at points (N,) of an axes; `pattern` has a {} for each of `columns`."""
    x_N, y_N = np.broadcast_arrays(np.asarray(x, float), np.asarray(y, float))
    rows = [[_text(value) for value in row] for row in zip(*columns, strict=True)]
    if len(rows) != len(x_N):
        raise ValueError(f"{len(x_N)} points have {len(rows)} rows of values")
    ax.add_artist(Marks(np.column_stack([x_N, y_N]), _line(name), _line(pattern), rows))


def marks_text(fig: Figure) -> str:
    """Return the marks of a drawn figure as report.js reads them; "" if it has none."""
    # `=NAME<tab>PATTERN` begins a set of marks; then a line per point: parts of the width from the left, of
    # the height from the top, and the values, between tabs. Points outside the axes are left out.
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


MODEL, KMER, GREEN, PURPLE, SKY = "#0072B2", "#D55E00", "#009E73", "#9C5A8A", "#56B4E9"
GREY, DARK, PALE = "#6b7075", "#22272b", "#e8eaec"
STYLE = {
    "font.family": "DejaVu Sans",
    "font.size": 9,
    "axes.titlesize": 10,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.titlepad": 8,
    "axes.labelcolor": DARK,
    "axes.edgecolor": "#8a9096",
    "axes.linewidth": 0.8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": PALE,
    "grid.linewidth": 0.8,
    "xtick.color": GREY,
    "ytick.color": GREY,
    "xtick.labelcolor": DARK,
    "ytick.labelcolor": DARK,
    "legend.frameon": False,
    "legend.fontsize": 8.5,
    "text.color": DARK,
    "text.parse_math": False,  # a label name may contain dollar signs
    "figure.facecolor": "white",
    "savefig.facecolor": "white",
    "svg.fonttype": "path",
    "svg.hashsalt": "dna-bigbird",
    "path.simplify": True,
}


Look = tuple[str, str | tuple]
"""Colour and dashes of a line, as matplotlib takes them."""


def line_look(number: int, looks: Sequence[Look]) -> Look:
    """Return the look of a line, different for as many lines as `looks` has pairs with itself.

    Example:
        >>> [line_look(i, [("red", "-"), ("blue", ":")]) for i in (1, 2)]
        [('blue', ':'), ('red', ':')]
    """
    turn, colour = divmod(number, len(looks))
    return looks[colour][0], looks[(colour + turn) % len(looks)][1]


@contextlib.contextmanager
def style() -> Iterator[None]:
    """Use the look of the report while a figure is drawn or saved; global settings are restored."""
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(STYLE)
        yield


def save(fig: Figure, image_format: str, dpi: int = 160) -> bytes:
    """Return a figure as bytes of `svg`, `png` or `pdf`, the same for equal figures."""
    data = io.BytesIO()
    metadata = {
        "png": {"Software": None},
        "svg": {"Date": None, "Creator": None},
        "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
    }[image_format]
    with style():
        if fig.get_layout_engine() is not None:
            fig.draw_without_rendering()
            fig.set_layout_engine("none")  # laying out again would move things by a little
        fig.savefig(data, format=image_format, dpi=dpi, metadata=metadata)
    return data.getvalue()


def new_figure(width: float, height: float, tag: str = "") -> Figure:
    """Return an empty figure in inches; `tag` (such as "semi-synthetic") is written at its head."""
    fig = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(fig)
    if tag:
        fig.suptitle(tag, x=0.99, ha="right", fontsize=7, color=GREY, style="italic")
    return fig


# Bases as letters of any height, for sequence logos and tracks.

COLOURS = {"A": GREEN, "C": MODEL, "G": "#E69F00", "T": KMER, "N": GREY}
WIDTH = 0.92
"""Of a letter, as a share of its column."""

Letter = tuple[str, float, float, float]
"""Base, middle of its column, lower end and height; of negative height the letter is upside down."""


def draw_letters(ax: Axes, letters: Iterable[Letter]) -> None:
    """Draw every letter as a shape that fills its column up to its height."""
    listed = list(letters)
    paths = [
        Affine2D()
        .scale(WIDTH, height)
        .translate(middle - WIDTH / 2, bottom)
        .transform_path(_glyph(base))
        for base, middle, bottom, height in listed
    ]
    colours = [COLOURS[base] for base, *_ in listed]
    ax.add_collection(PathCollection(paths, facecolors=colours, linewidths=0))


def _glyph(base: str) -> Path:
    """Return the outline of a letter, one wide and one high, its left lower corner at 0, 0."""
    path = TextPath((0, 0), base, size=1, prop=FontProperties(family="DejaVu Sans", weight="bold"))
    box = path.get_extents()
    return (
        Affine2D()
        .translate(-box.x0, -box.y0)
        .scale(1 / box.width, 1 / box.height)
        .transform_path(path)
    )
