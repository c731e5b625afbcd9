"""Pictures of the furthest vector task, of piecewise constant functions and of graph statistics."""

from collections.abc import Mapping, Sequence
from itertools import cycle
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch, Rectangle
from matplotlib.ticker import MaxNLocator

from dna_bigbird.core.figures.style import (
    DARK,
    GREEN,
    GREY,
    KMER,
    MODEL,
    PALE,
    PURPLE,
    SKY,
    new_figure,
    style,
)

INPUT_CELL = "#dfeaf3"
MOST_STEPS = 80
"""Longer runs are cut: letters would be unreadable."""


def turing_figure(name: str, blank: str, lines: Sequence[Any]) -> Figure:
    """Draw a row per machine step, cells to the right, time downwards."""
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
    """Draw an arrow to the step that wrote the symbol, and a thin line to the record compared."""
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


MARKERS = "osD^vPX*<>hp"
COLOURS = (MODEL, KMER, GREEN, PURPLE, SKY, GREY)

PATH_TICKS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)


def furthest_figure(rows: Sequence[Mapping[str, float]], vectors: int, dims: int) -> Figure:
    """Draw the share of right answers of one layer by its share of random edges."""
    shares = [row["edges"] for row in rows]
    with style():
        figure = new_figure(4.4, 3.6)
        axes = figure.subplots()
        axes.plot([0, 1], [0, 1], color=GREY, lw=0.9, ls="--", label="equal")
        axes.plot(shares, [row["right"] for row in rows], "o-", color=MODEL, label="one layer")
        axes.set(
            xlabel="share of edges", ylabel="share of right answers", ylim=(-0.02, 1.04),
            title=f"furthest of {vectors} vectors, {dims} dimensions",
        )  # fmt: skip
        axes.legend()
    return figure


def error_figure(
    steps: Sequence[int], errors: Mapping[str, Sequence[float]], constants: Mapping[str, int]
) -> Figure:
    """Draw the largest error by the step δ, `steps` being 1/δ, and Lipschitz constant times δ."""
    widths = [1 / m for m in steps]
    with style():
        figure = new_figure(7.2, 2.8)
        panels = figure.subplots(1, len(errors), sharex=True, sharey=True)
        for axes, (name, values) in zip(panels, errors.items(), strict=True):
            bound = [constants[name] * width for width in widths]
            axes.plot(
                widths, bound, color=GREY, lw=0.9, ls="--", label=f"bound {constants[name]} δ"
            )
            axes.plot(widths, values, "o-", color=MODEL, label="largest error")
            axes.set(xscale="log", yscale="log", title=name, xlabel="step δ")
            axes.legend(loc="upper left", fontsize=7)
            for axis in (axes.xaxis, axes.yaxis):
                axis.set_ticks([], minor=True)
        axes.set_xticks(widths, [f"1/{m}" for m in steps])
        axes.set_yticks([1, *widths], ["1", *(f"1/{m}" for m in steps)])
        panels[0].set_ylabel("error")
    return figure


def graph_figure(points: Sequence[tuple[str, int, float, float]], vertices: str) -> Figure:
    """Draw clustering by path length: points (name, length, path, clustering), joined by name."""
    names = list(dict.fromkeys(name for name, *_ in points))
    with style():
        figure = new_figure(7.2, 4.4)
        axes = figure.subplots()
        for name, marker, colour in zip(names, cycle(MARKERS), cycle(COLOURS), strict=False):
            own = [point for point in points if point[0] == name]
            axes.plot(
                [point[2] for point in own], [point[3] for point in own],
                marker=marker, ms=6, lw=0.7, color=colour, label=name, alpha=0.9,
            )  # fmt: skip
        axes.set_xscale("log")
        farthest = max(point[2] for point in points)
        ticks = [tick for tick in PATH_TICKS if tick <= max(2, 1.1 * farthest)]
        axes.set_xticks(ticks, [f"{tick:,}" for tick in ticks], minor=False)
        axes.set_xticks([], minor=True)
        lengths = ", ".join(f"{length:,}" for length in dict.fromkeys(point[1] for point in points))
        axes.set(
            xlabel=f"average shortest path between two {vertices}", ylabel="mean local clustering",
            ylim=(-0.03, 1.05), title=f"length {lengths}",
        )  # fmt: skip
        figure.legend(loc="outside right upper", fontsize=7)
    return figure
