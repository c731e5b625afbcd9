"""The picture of `compare-attention`: one panel per question, one line per core."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter

from dna_bigbird.core.figures.style import (
    DARK,
    GREEN,
    GREY,
    KMER,
    MODEL,
    PURPLE,
    SKY,
    new_figure,
    style,
)

LOOKS = {
    "full": (GREY, "-", "o"),
    "bigbird": (MODEL, "-", "s"),
    "etc": (SKY, (0, (5, 1)), "D"),
    "longformer": (GREEN, "-.", "^"),
    "performer": (KMER, "--", "v"),
}
"""Colour, dashes and marker of each core."""
OTHER = (PURPLE, ":", "x")
COLUMNS = 3
WORD_KB = 0.006
PLANTED = {
    "partner": ("planted partner in DNA", "distance, kb", WORD_KB),
    "pretrained": ("the same, pretrained", "distance, kb", WORD_KB),
    "text": ("evidence in text", "distance, tokens", 1.0),
}
"""Title, axis and unit of each planted task."""
Tables = Mapping[str, Sequence[Mapping]]
Panel = Callable[[Axes], None]


def comparison_figure(tables: Tables) -> Figure:
    """Draw a panel for each result that there is; without any, a title that says so."""
    panels = panels_of(tables) or [lambda ax: ax.set(title="no result yet")]
    rows = -(-len(panels) // COLUMNS)
    with style():
        fig = new_figure(3.5 * min(COLUMNS, len(panels)), 3.1 * rows)
        axes = fig.subplots(rows, min(COLUMNS, len(panels)), squeeze=False).ravel()
        for ax, draw in zip(axes, panels, strict=False):
            draw(ax)
        for ax in axes[len(panels) :]:
            ax.set_axis_off()
        lines = {
            line.get_label(): line
            for ax in fig.axes
            for line in ax.get_lines()
            if line.get_label() in LOOKS
        }
        fig.legend(lines.values(), lines.keys(), loc="outside lower center", ncols=len(LOOKS))
    return fig


def panels_of(tables: Tables) -> list[Panel]:
    """Return a function that draws each panel."""
    panels: list[Panel] = []
    if "cost" in tables:
        cost = tables["cost"]
        panels.append(
            partial(_cost, rows=cost, column="forward_backward_s", title="time", unit=("ms", 1e3))
        )
        panels.append(
            partial(_cost, rows=cost, column="saved_bytes", title="memory", unit=("MB", 1e-6))
        )
    learning = tables.get("learning", [])
    for part in PLANTED:
        rows = [row for row in learning if row["part"] == part and row["budget"] == "equal_steps"]
        if rows:
            panels.append(partial(_planted, rows=rows, part=part))
    bits = [row for row in learning if row["part"] == "dna" and row["budget"] != "equal_seconds"]
    if bits:
        panels.append(partial(_bits, rows=bits))
    return panels


def _cost(
    ax: Axes, *, rows: Sequence[Mapping], column: str, title: str, unit: tuple[str, float]
) -> None:
    name, scale = unit
    for core in dict.fromkeys(row["core"] for row in rows):
        points = sorted((row["tokens"], scale * row[column]) for row in rows if row["core"] == core)
        _line(ax, core, points)
    lengths = sorted({row["tokens"] for row in rows})
    ax.set(xscale="log", yscale="log", xlabel="tokens", ylabel=name, title=f"{title} of a layer")
    _log_ticks(ax, lengths, [f"{length:,}" for length in lengths])
    ax.yaxis.set_major_formatter("{x:,g}")  # not the default, as for minor ticks
    ax.yaxis.set_minor_formatter(NullFormatter())


def _planted(ax: Axes, *, rows: Sequence[Mapping], part: str) -> None:
    title, axis, unit = PLANTED[part]
    for core in dict.fromkeys(row["core"] for row in rows):
        of_core = sorted((row for row in rows if row["core"] == core), key=lambda x: x["distance"])
        x = [row["distance"] * unit for row in of_core]
        _line(ax, core, [(at, row["score"]) for at, row in zip(x, of_core, strict=True)])
        low, high = ([row[f"score_{end}"] for row in of_core] for end in ("low", "high"))
        ax.fill_between(x, low, high, color=LOOKS.get(core, OTHER)[0], alpha=0.12, lw=0)
    ax.axhline(0.5, color=DARK, lw=0.8, ls=":")
    distances = sorted({row["distance"] * unit for row in rows})
    ax.set(xscale="log", ylim=(0.35, 1.02), xlabel=axis, ylabel="accuracy", title=title)
    _log_ticks(ax, distances, [f"{x:,.0f}" if x >= 1 else f"{x:.2g}" for x in distances])


def _log_ticks(ax: Axes, values: Sequence[float], labels: Sequence[str]) -> None:
    ax.set_xticks(values, labels)
    ax.tick_params(axis="x", which="minor", bottom=False)
    # The default writes markup, which the style does not read.
    ax.xaxis.set_minor_formatter(NullFormatter())


def _bits(ax: Axes, *, rows: Sequence[Mapping]) -> None:
    for y, row in enumerate(rows):
        colour, _, marker = LOOKS.get(row["core"], OTHER)
        ax.plot(row["score"], y, marker, color=colour, ms=5)
        ax.plot([row["score_low"], row["score_high"]], [y, y], color=colour, lw=1.6)
    ax.set_yticks(range(len(rows)), [row["core"] for row in rows])
    ax.invert_yaxis()
    ax.set(xlabel="bits per base", title="hidden words of real DNA")


def _line(ax: Axes, core: str, points: Sequence[tuple[float, float]]) -> None:
    colour, dashes, marker = LOOKS.get(core, OTHER)
    ax.plot(*zip(*points, strict=True), color=colour, ls=dashes, marker=marker, ms=4, label=core)
