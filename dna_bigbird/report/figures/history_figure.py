"""Logged scores over the steps of training."""

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure

from dna_bigbird.report.figures.style import (
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
from dna_bigbird.report.model_results import HistoryRow


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
    """Draw one logged figure over the steps: training thin, validation with dots.

    Args:
        name: Figure as it is called in history.tsv, such as `loss`.
        chosen_step: Step whose weights were kept; marked.
        lines: Baselines as (name, value), drawn across.
    """
    with style():
        fig = new_figure(4.6, 3.5 + (0.19 * (len(lines) + 3) if lines else 0), tag)
        ax = fig.add_subplot()
        for split, colour, dots, width in (
            ("train", SKY, "", 1.3),
            ("validation", MODEL, "o", 1.8),
        ):
            points = [(r.step, r.value) for r in rows if r.name == name and r.split == split]
            if points:
                x, y = np.array(sorted(points)).T
                dots = dots or ("." if len(x) == 1 else "")
                ax.plot(x, y, color=colour, lw=width, marker=dots, ms=3.5, label=split)
                at = np.flatnonzero(x == chosen_step) if split == "validation" else []
                if len(at):
                    ax.plot(
                        x[at], y[at], ls="", marker="o", ms=10, mfc="none", mec=DARK, mew=1.4,
                        label=f"chosen step ({chosen_step:,})",
                    )  # fmt: skip
        looks = [
            (GREEN, "--"),
            (KMER, ":"),
            (PURPLE, "-."),
            (GREY, (0, (6, 2))),
            (DARK, (0, (1, 2))),
        ]
        for (text, value), (colour, line) in zip(lines, looks * len(lines), strict=False):
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
