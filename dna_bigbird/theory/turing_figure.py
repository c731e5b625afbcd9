"""The picture of a Turing machine run by attention: the tape over time, and the edges."""

from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch, Rectangle
from matplotlib.ticker import MaxNLocator

from dna_bigbird.core.figures.style import DARK, GREY, KMER, MODEL, PALE, SKY, new_figure, style

INPUT_CELL = "#dfeaf3"
MOST_STEPS = 80
"""Longer runs are cut: letters would be unreadable."""


def turing_figure(name: str, blank: str, lines: Sequence[Any]) -> Figure:
    """Draw a row per machine step, cells to the right, time downwards.

    An arrow leads from the head after a step to the step that wrote the symbol it reads: the edge
    that attention chose. A thin line leads from a compute node to the step whose record it compared
    with its own.

    Args:
        blank: Symbol of empty cells.
        lines: `theory.turing.trace.Line` of every step.
    """
    title = name if len(lines) <= MOST_STEPS else f"{name}, first {MOST_STEPS} steps"
    lines = lines[:MOST_STEPS]
    cells = [cell for line in lines for cell in (*line.tape, line.configuration.cell)]
    low, high = min(cells), max(cells)
    with style():
        figure = new_figure(1.8 + 0.34 * (high - low + 1), 1.2 + 0.3 * len(lines))
        axes = figure.subplots()
        for row, line in enumerate(lines):
            _tape(axes, row, line, range(low, high + 1), blank)
        heads = [line.configuration.cell for line in lines]
        for row, line in enumerate(lines[:-1]):
            _edges(axes, row, line, heads)
        axes.set(
            xlim=(low - 0.6, high + 0.6), ylim=(len(lines) - 0.4, -0.6),
            xlabel="cell of the tape", ylabel="step of the machine", title=title,
        )  # fmt: skip
        axes.xaxis.set_major_locator(MaxNLocator(12, integer=True))
        axes.yaxis.set_major_locator(MaxNLocator(20, integer=True))
        axes.grid(False)
    return figure


def _tape(axes: Axes, row: int, line: Any, cells: range, blank: str) -> None:
    """Draw one row: a square per cell, the head with a frame, the state next to it."""
    state, symbol, head = line.configuration
    tape = line.tape | {head: symbol}
    for cell in cells:
        text = tape.get(cell, blank)
        colour = PALE if text == blank else INPUT_CELL
        edge = {"edgecolor": DARK, "linewidth": 1.4} if cell == head else {"edgecolor": "white"}
        axes.add_patch(Rectangle((cell - 0.45, row - 0.42), 0.9, 0.84, facecolor=colour, **edge))
        shown = "" if text == blank else text
        axes.text(cell, row, shown, ha="center", va="center", fontsize=8, color=DARK)
    axes.text(cells[-1] + 0.7, row, state, va="center", fontsize=7, color=GREY, clip_on=False)


def _edges(axes: Axes, row: int, line: Any, heads: Sequence[int]) -> None:
    """Draw what the compute node of a step attends to."""
    start = (heads[row + 1], row + 1)
    if line.carried_step not in (None, row):
        target = (heads[line.carried_step], line.carried_step)
        axes.plot(*zip((heads[row], row), target, strict=True), color=SKY, lw=0.6, zorder=2)
    if line.source_step is not None:
        target = (heads[line.source_step], line.source_step)
        arrow = FancyArrowPatch(
            start, target, arrowstyle="-|>", mutation_scale=7, color=KMER, lw=1.1,
            connectionstyle="arc3,rad=0.25", shrinkA=5, shrinkB=5, zorder=3,
        )  # fmt: skip
        axes.add_patch(arrow)
    elif line.source == "input":
        axes.plot(*start, marker="o", ms=13, mfc="none", mec=MODEL, mew=0.8, zorder=2)
