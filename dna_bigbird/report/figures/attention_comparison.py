"""The picture of `compare-attention`: one panel per question, one line per core."""

from collections.abc import Mapping, Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from dna_bigbird.figures.style import (
    GREEN,
    GREY,
    KMER,
    MODEL,
    PURPLE,
    SKY,
    new_figure,
    style,
)  # fmt: skip

LOOKS = {
    "full": (GREY, "-", "o"),
    "bigbird": (MODEL, "-", "s"),
    "etc": (SKY, (0, (5, 1)), "D"),
    "longformer": (GREEN, "-.", "^"),
    "performer": (KMER, "--", "v"),
}
"""Colour, dashes and marker of each core."""
OTHER = (PURPLE, ":", "x")
Tables = Mapping[str, Sequence[Mapping]]


def comparison_figure(tables: Tables) -> Figure:
    """Draw the tables that there are; an empty picture says so."""
    panels = []
    if "cost" in tables:
        panels += [_time, _memory]
    with style():
        fig = new_figure(3.6 * max(1, len(panels)), 3.3)
        for ax, draw in zip(
            fig.subplots(1, max(1, len(panels)), squeeze=False)[0],
            panels or [_nothing],
            strict=True,
        ):
            draw(ax, tables)
        fig.axes[0].legend()
    return fig


def lines_by_core(ax: Axes, rows: Sequence[Mapping], x: str, y: str, scale: float = 1.0) -> None:
    """Draw one line per core."""
    for core in dict.fromkeys(row["core"] for row in rows):
        colour, dashes, marker = LOOKS.get(core, OTHER)
        points = [(row[x], scale * row[y]) for row in rows if row["core"] == core]
        ax.plot(
            *zip(*sorted(points), strict=True),
            color=colour,
            ls=dashes,
            marker=marker,
            ms=4,
            label=core,
        )


def _time(ax: Axes, tables: Tables) -> None:
    lines_by_core(ax, tables["cost"], "tokens", "forward_backward_s", 1000)
    ax.set(
        xscale="log", yscale="log", xlabel="tokens", ylabel="forward and backward, ms", title="time"
    )
    _ticks(ax, tables["cost"])


def _memory(ax: Axes, tables: Tables) -> None:
    lines_by_core(ax, tables["cost"], "tokens", "saved_bytes", 1e-6)
    ax.set(
        xscale="log",
        yscale="log",
        xlabel="tokens",
        ylabel="kept for the backward pass, MB",
        title="memory",
    )
    _ticks(ax, tables["cost"])


def _ticks(ax: Axes, rows: Sequence[Mapping]) -> None:
    lengths = sorted({row["tokens"] for row in rows})
    ax.set_xticks(lengths, [f"{length:,}" for length in lengths])
    ax.minorticks_off()


def _nothing(ax: Axes, tables: Tables) -> None:
    ax.set(title="no result yet")
