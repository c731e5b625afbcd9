"""Run time and peak memory of the stages."""

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure

from dna_bigbird.core.figures.marks import add_marks
from dna_bigbird.core.figures.style import GREEN, MODEL, new_figure, style
from dna_bigbird.report.run_results import Stage, duration


def stage_figure(stages: Sequence[Stage], *, tag: str = "") -> Figure:
    """Draw run time and peak memory of every stage as bars side by side."""
    with style():
        fig = new_figure(9.6, 1.0 + 0.21 * len(stages), tag)
        left, right = fig.subplots(1, 2, sharey=True)
        y = np.arange(len(stages))
        seconds = np.array([s.seconds for s in stages])
        memory = np.array([s.max_rss_mb for s in stages]) / 1024
        for ax, values, colour, text in (
            (left, seconds, MODEL, duration),
            (right, memory, GREEN, lambda v: f"{v:.2f} GiB" if v >= 1 else f"{v * 1024:,.0f} MiB"),
        ):
            ax.barh(y, np.nan_to_num(values), color=colour, height=0.68)
            shown = [text(value) if np.isfinite(value) else "not measured" for value in values]
            for position, value, words in zip(y, values, shown, strict=True):
                ax.text(np.nan_to_num(value), position, f" {words}", va="center", fontsize=7.5)
            add_marks(ax, np.nan_to_num(values), y, "", "{}: {}", [s.rule for s in stages], shown)
            ax.grid(axis="y", visible=False)
            ax.margins(x=0.18)
            ax.tick_params(axis="y", length=0)
        left.set_yticks(y, [s.rule for s in stages])
        left.set_ylim(len(stages) - 0.4, -0.6)
        left.set(title="Run time", xlabel="seconds")
        right.set(title="Peak memory", xlabel="GiB (resident)")
    return fig
