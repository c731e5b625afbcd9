"""The picture of a pattern: its bases in bits, and what they contribute to a label."""

from collections.abc import Iterator

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from dna_bigbird.core.figures.letters import Letter, draw_letters
from dna_bigbird.core.figures.style import new_figure, style

# P positions of a pattern; 4 bases in the order of LETTERS

LETTERS = "ACGT"
INCHES_PER_BASE = 0.2


def motif_logo(
    shares_4P: NDArray[np.float64],
    bits_P: NDArray[np.float64],
    contributions_4P: NDArray[np.float64],
    title: str,
) -> Figure:
    """Draw two logos: information (2 bits if all sequences have one base), and mean contributions in log odds.

    Args:
        shares_4P: Shares of A, C, G and T; each column adds up to 1.
        bits_P: Information of each position.
        contributions_4P: Negative ones point down.
    """
    with style():
        width = max(2.6, 0.8 + INCHES_PER_BASE * shares_4P.shape[1])
        fig = new_figure(width, 2.5)
        bits, effects = fig.subplots(2, 1, sharex=True)
        bits.set_title(title, fontsize=8.5)
        _logo(bits, shares_4P * bits_P, "bits")
        bits.set_ylim(0, 2)
        _logo(effects, contributions_4P, "log odds")
        effects.set_xlabel("position (bp, counted from 1)")
        effects.xaxis.set_major_locator(MaxNLocator(8, integer=True))
    return fig


def _logo(ax: Axes, heights_4P: NDArray[np.float64], unit: str) -> None:
    draw_letters(ax, _stacked(heights_4P))
    highest = np.clip(heights_4P, 0, None).sum(axis=0).max()
    lowest = np.clip(heights_4P, None, 0).sum(axis=0).min()
    room = 0.04 * (highest - lowest) or 1.0
    ax.set_ylim(lowest - room, highest + room)
    ax.set_xlim(0.4, heights_4P.shape[1] + 0.6)
    ax.axhline(0, color="#8a9096", lw=0.6)
    ax.set_ylabel(unit, fontsize=8)
    ax.yaxis.set_major_locator(MaxNLocator(3))
    ax.tick_params(labelsize=7)
    ax.grid(False)


def _stacked(heights_4P: NDArray[np.float64]) -> Iterator[Letter]:
    """Yield letters: in each column the largest are farthest from zero, above and below it."""
    for position, heights_4 in enumerate(heights_4P.T, start=1):
        top = bottom = 0.0
        for base in np.argsort(np.abs(heights_4), kind="stable"):
            height = float(heights_4[base])
            if height > 0:
                yield LETTERS[base], position, top, height
                top += height
            elif height < 0:
                yield LETTERS[base], position, bottom, height
                bottom += height
