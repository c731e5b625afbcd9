"""One look for all pictures.

Blue for the model, vermilion for the k-mer baseline, green and grey for n-grams and chance (the
colours of Okabe and Ito, which colour-blind readers can distinguish). Each also has its own line
style, so a grey print is readable.
"""

import contextlib
import io
from collections.abc import Iterator, Sequence

import matplotlib
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

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

    After the last look the colours come again, with the dashes of the next.

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
