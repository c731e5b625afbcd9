"""Pictures of the furthest vector task, of piecewise constant functions and of graph statistics."""

from collections.abc import Mapping, Sequence
from itertools import cycle

from matplotlib.figure import Figure

from dna_bigbird.core.figures.style import GREEN, GREY, KMER, MODEL, PURPLE, SKY, new_figure, style

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
    """Draw the largest error of piecewise constant functions by their step δ, and constant times δ.

    Args:
        steps: 1/δ.
        constants: The Lipschitz constant of each function.
    """
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
    """Draw clustering by path length: a point per graph, joined over lengths.

    Args:
        points: Name, length of the sequence, average shortest path, mean local clustering.
    """
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
