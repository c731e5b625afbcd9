"""The picture of planted variants: one row of dots per effect, one panel per source of scores."""

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator
from numpy.typing import NDArray

from dna_bigbird.core.figures.marks import add_marks
from dna_bigbird.core.figures.style import DARK, GREY, KMER, MODEL, new_figure, style

SOURCES = {"model": "BigBird", "kmer": "k-mer baseline", "gc": "change of GC content"}
"""By the name that their columns have in ranked.tsv."""
MORE_SOURCES = {
    "likelihood": "masked likelihood, pretrained",
    "embedding": "distance of vectors, pretrained",
    "counts": "counting bases",
}
"""The same of sources that not every run has."""
ROWS = {
    "create": ("created site", KMER),
    "break": ("broken site", MODEL),
    "none": ("neutral", GREY),
}
DRAWN = ("model", "kmer")


def variant_figure(
    largest: dict[str, NDArray], effects: NDArray[np.str_], *, tag: str = ""
) -> Figure:
    """Draw the largest absolute change over all labels of every variant, on a logarithmic axis.

    Args:
        largest: (variants,) by source; a source of NaN alone is left out.
        effects: (variants,), keys of ROWS.
    """
    drawn = [name for name in DRAWN if np.isfinite(largest.get(name, np.nan)).any()]
    rows = [name for name in ROWS if (effects == name).any()]
    with style():
        fig = new_figure(4.6 * len(drawn) + 0.6, 0.9 + 0.55 * len(rows), tag)
        axes = fig.subplots(1, len(drawn), sharey=True, squeeze=False)[0]
        for ax, name in zip(axes, drawn, strict=True):
            jitter = np.random.default_rng(0).uniform(-0.3, 0.3, len(effects))
            for y, row in enumerate(reversed(rows)):
                here = (effects == row) & (largest[name] > 0)
                x = largest[name][here]
                text, colour = ROWS[row]
                ax.scatter(x, y + jitter[here], s=7, color=colour, alpha=0.55, linewidths=0)
                add_marks(ax, x, y + jitter[here], text, "change of log odds {}", x)
                middle = np.median(x)
                ax.plot([middle, middle], [y - 0.38, y + 0.38], color=DARK, lw=1.6)
            ax.set_xscale("log")
            ax.xaxis.set_major_locator(LogLocator(subs=(1, 3), numticks=12))
            ax.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}"))
            ax.xaxis.set_minor_locator(NullLocator())
            ax.set(title=SOURCES[name], xlabel="largest change of log odds over all labels")
            names = [f"{ROWS[r][0]} ({(effects == r).sum()})" for r in reversed(rows)]
            ax.set_yticks(range(len(rows)), names)
            ax.grid(axis="y", visible=False)
    return fig
