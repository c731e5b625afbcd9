"""The picture of an attention pattern: which key blocks a query block reads."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.colors import BoundaryNorm, ListedColormap
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from dna_bigbird.core.figures.style import DARK, KMER, MODEL, PURPLE, SKY, new_figure, style
from dna_bigbird.report.plot_attention_options import Panel

NOTHING = "#f4f5f6"
COLOURS = (MODEL, SKY, KMER, DARK, PURPLE)
"""Of the reasons 1, 2, 3, …; the first four differ in lightness, too."""


def attention_figure(
    panels: Sequence[Panel],
    reasons: Mapping[int, str],
    panels_in_a_row: int = 4,
    unit: str = "block",
) -> Figure:
    """Draw heads side by side, a square a pair of blocks."""
    columns = min(len(panels), panels_in_a_row)
    rows = -(-len(panels) // columns)
    with style():
        fig = new_figure(3.5 * columns + 0.3, 3.75 * rows + 0.35)
        axes = fig.subplots(rows, columns, squeeze=False).ravel()
        colours = ListedColormap([NOTHING, *COLOURS])
        norm = BoundaryNorm(np.arange(len(COLOURS) + 2) - 0.5, colours.N)
        for ax, panel in zip(axes, panels, strict=False):
            ax.imshow(panel.codes, cmap=colours, norm=norm, interpolation="nearest")
            ax.set(title=panel.title, xlabel=f"key {unit}", ylabel=f"query {unit}")
            ax.xaxis.set_major_locator(MaxNLocator(8, integer=True))
            ax.yaxis.set_major_locator(MaxNLocator(8, integer=True))
            _lines_between(ax, len(panel.codes))
        for ax in axes[len(panels) :]:
            ax.set_axis_off()
        shown = {code for panel in panels for code in np.unique(panel.codes).tolist()}
        handles = [
            Patch(color=COLOURS[code - 1], label=name)
            for code, name in reasons.items()
            if code in shown
        ]
        fig.legend(handles=handles, loc="outside lower center", ncols=2 if columns == 1 else 4)
    return fig


def _lines_between(ax, num_blocks: int) -> None:
    """Separate the squares while they are few enough to be counted."""
    ax.grid(False)
    ax.tick_params(which="minor", length=0)
    if num_blocks <= 64:
        edges = np.arange(num_blocks + 1) - 0.5
        ax.set_xticks(edges, minor=True)
        ax.set_yticks(edges, minor=True)
        ax.grid(True, which="minor", color="white", linewidth=0.8 if num_blocks <= 32 else 0.4)
        ax.set_axisbelow(False)
