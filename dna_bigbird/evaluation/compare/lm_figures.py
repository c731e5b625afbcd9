"""Pictures of several pretrained models side by side."""

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure

from dna_bigbird.core.figures.style import (
    GREEN,
    GREY,
    KMER,
    MODEL,
    PURPLE,
    SKY,
    line_look,
    new_figure,
    style,
)
from dna_bigbird.evaluation.compare.lm_runs import Run

LOOKS = [(MODEL, "-"), (KMER, "--"), (GREEN, "-."), (PURPLE, ":"), (SKY, (0, (5, 1)))]


def steps_figure(runs: Sequence[Run], tag: str = "") -> Figure:
    """Draw MLM accuracy and bits per base on validation over the steps, one line per run."""
    panels = {
        "mlm_accuracy": "masked tokens named exactly",
        "bits_per_base_masked": "bits per base (lower is better)",
    }
    with style():
        fig = new_figure(8.6, 3.6, tag)
        for ax, (name, label) in zip(fig.subplots(1, 2), panels.items(), strict=True):
            for i, run in enumerate(runs):
                points = [
                    (r.step, r.value)
                    for r in run.history
                    if (r.split, r.name) == ("validation", name)
                ]
                if points:
                    colour, line = line_look(i, LOOKS)
                    ax.plot(
                        *np.array(sorted(points)).T, color=colour, ls=line, lw=1.8, label=run.name
                    )
            ax.set(xlabel="optimizer step", ylabel=label)
            ax.ticklabel_format(axis="y", useOffset=False)
        fig.axes[0].legend()
    return fig


def scores_figure(rows: Sequence[dict], names: Sequence[str], tag: str = "") -> Figure:
    """Draw scores with their intervals: one row per row of a table, one panel per name."""
    with style():
        fig = new_figure(1.6 + 3.5 * len(names), 1.0 + 0.34 * len(rows), tag)
        panels = fig.subplots(1, len(names), sharey=True, squeeze=False)[0]
        for ax, name in zip(panels, names, strict=True):
            for y, row in enumerate(rows):
                value, low, high = (row[f"{name}{end}"] for end in ("", "_low", "_high"))
                causal = row.get("seen") == "causal"
                colour = GREY if causal else MODEL
                if value is not None:
                    ax.plot(value, y, "s" if causal else "o", color=colour, ms=5)
                if low is not None:
                    ax.plot([low, high], [y, y], color=colour, lw=1.8)
            ax.set(xlabel=name.replace("_", " "))
            ax.locator_params(axis="x", nbins=5)
        labels = [
            next(iter(row.values())) + (" (causal)" if row.get("seen") == "causal" else "")
            for row in rows
        ]
        panels[0].set_yticks(range(len(rows)), labels)
        panels[0].invert_yaxis()
    return fig
