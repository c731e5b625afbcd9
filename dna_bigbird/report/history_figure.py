"""Logged scores over the steps of training."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from dna_bigbird.core.figures.style import (
    DARK,
    GREEN,
    GREY,
    KMER,
    MODEL,
    PURPLE,
    SKY,
    add_marks,
    line_look,
    new_figure,
    style,
)
from dna_bigbird.evaluation.model_results import HistoryRow

SPLITS = {"train": (SKY, "", 1.3), "validation": (MODEL, "o", 1.8)}
"""Colour, marker and width of the line of each split."""
LINE_LOOKS = [(GREEN, "--"), (KMER, ":"), (PURPLE, "-."), (GREY, (0, (6, 2))), (DARK, (0, (1, 2)))]


def history_figure(
    rows: Sequence[HistoryRow],
    name: str,
    *,
    title: str,
    ylabel: str,
    chosen_step: int | None = None,
    lines: Sequence[tuple[str, float]] = (),
    tag: str = "",
) -> Figure:
    """Draw one logged score over the steps: training thin, validation with dots.

    Args:
        name: Score as named in history.tsv, such as `loss`.
        chosen_step: Step whose weights were kept; circled.
        lines: Baselines as (name, value), drawn as horizontal lines.
    """
    with style():
        fig = new_figure(4.6, 3.5 + (0.19 * (len(lines) + 3) if lines else 0), tag)
        ax = fig.add_subplot()
        for split in SPLITS:
            points = [(r.step, r.value) for r in rows if r.name == name and r.split == split]
            if points:
                _draw_split(ax, split, points, chosen_step)
        for i, (text, value) in enumerate(lines):
            colour, line = line_look(i, LINE_LOOKS)
            ax.axhline(value, color=colour, ls=line, lw=1.5, label=f"{text}: {value:.3f}")
        ax.set(xlabel="optimizer step", ylabel=ylabel, title=title)
        ax.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
        ax.margins(x=0.02, y=0.08)
        ax.locator_params(axis="x", nbins=6)
        ax.ticklabel_format(axis="y", useOffset=False)
        if lines:
            fig.legend(loc="outside lower left")  # many lines leave no free corner
        else:
            ax.legend()
    return fig


def _draw_split(
    ax: Axes, split: str, points: Sequence[tuple[int, float]], chosen_step: int | None
) -> None:
    """Draw the values of one split; the chosen step is circled on validation."""
    colour, marker, width = SPLITS[split]
    x, y = np.array(sorted(points)).T
    marker = marker or ("." if len(x) == 1 else "")
    ax.plot(x, y, color=colour, lw=width, marker=marker, ms=3.5, label=split)
    add_marks(ax, x, y, split, "step {}: {}", x.astype(int), y)
    chosen = x == chosen_step
    if split == "validation" and chosen.any():
        ax.plot(
            x[chosen], y[chosen], ls="", marker="o", ms=10, mfc="none", mec=DARK, mew=1.4,
            label=f"chosen step ({chosen_step:,})",
        )  # fmt: skip
