"""The AUROC of every label, model and k-mer baseline."""

import itertools
from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure

from dna_bigbird.core.figures.marks import add_marks
from dna_bigbird.core.figures.style import (
    GREEN,
    GREY,
    KMER,
    MODEL,
    PURPLE,
    SKY,
    new_figure,
    style,
)
from dna_bigbird.evaluation.model_results import LabelScore

MOST_LABEL_ROWS = 40
"""Above this many labels every label is a point in a scatter plot, below it a row."""


def label_figure(labels: Sequence[LabelScore], *, tag: str = "") -> Figure:
    """Draw every label's AUROC, model against k-mer; labels without a defined AUROC are left out."""
    defined = [x for x in labels if np.isfinite(x.auroc)]
    many = len(defined) > MOST_LABEL_ROWS
    return (_label_scatter if many else _label_rows)(defined, tag)


def _label_rows(labels: Sequence[LabelScore], tag: str) -> Figure:
    groups = list(dict.fromkeys(x.group for x in labels))
    rows = [sorted((x for x in labels if x.group == g), key=lambda x: -x.auroc) for g in groups]
    with style():
        fig = new_figure(9.6, 1.0 + 0.2 * len(labels) + 0.3 * len(groups), tag)
        axes = fig.subplots(
            max(1, len(groups)), 1, sharex=True, squeeze=False,
            height_ratios=[max(1, len(r)) for r in rows] or [1],
        )[:, 0]  # fmt: skip
        for ax, group, rows_of_group in zip(axes, groups, rows, strict=False):
            y = np.arange(len(rows_of_group))
            model, kmer = (
                np.array([getattr(x, k) for x in rows_of_group]) for k in ("auroc", "kmer_auroc")
            )
            ax.hlines(y, np.fmin(model, kmer), np.fmax(model, kmer), color="#b9bfc5", lw=1.6)
            ax.axvline(0.5, color=GREY, ls=(0, (2, 2)), lw=1.2)
            ax.plot(
                kmer, y, ls="", marker="D", ms=5.5, mfc="white", mec=KMER, mew=1.4, label="k-mer"
            )
            ax.plot(model, y, ls="", marker="o", ms=6.5, color=MODEL, label="BigBird")
            names = [x.label for x in rows_of_group]
            add_marks(ax, kmer, y, "", "{}: AUROC {}, k-mer baseline", names, kmer)
            add_marks(ax, model, y, "", "{}: AUROC {}, BigBird", names, model)
            ax.set_yticks(y, [f"{_short(x.label, 40)}  ({x.n_positive})" for x in rows_of_group])
            ax.set_ylim(len(rows_of_group) - 0.4, -0.6)
            ax.set_title(group)
            ax.grid(axis="y", visible=False)
            ax.tick_params(axis="y", length=0)
        scores = [v for x in labels for v in (x.auroc, x.kmer_auroc) if np.isfinite(v)]
        axes[-1].set_xlim(min([0.45, *(s - 0.03 for s in scores)]), 1.01)
        axes[-1].set_xlabel("AUROC (dashed line: chance)")
        handles, names = axes[0].get_legend_handles_labels()
        corner = {"loc": "lower right", "bbox_to_anchor": (1.0, 0.98), "borderaxespad": 0.2}
        axes[0].legend(handles[::-1], names[::-1], ncols=2, **corner)
    return fig


def _label_scatter(labels: Sequence[LabelScore], tag: str) -> Figure:
    groups = list(dict.fromkeys(x.group for x in labels))
    with style():
        fig = new_figure(5.4, 5.2, tag)
        ax = fig.add_subplot()
        colours = itertools.cycle([MODEL, KMER, GREEN, PURPLE, SKY, GREY])
        for group, colour, mark in zip(groups, colours, itertools.cycle("osD^vPX"), strict=False):
            rows_of_group = [x for x in labels if x.group == group]
            kmer, model = ([getattr(x, k) for x in rows_of_group] for k in ("kmer_auroc", "auroc"))
            ax.plot(
                kmer, model, ls="", marker=mark, ms=4, alpha=0.7, mew=0, color=colour,
                label=f"{group} ({len(rows_of_group)})",
            )  # fmt: skip
            names = [x.label for x in rows_of_group]
            add_marks(ax, kmer, model, "", "{}: BigBird {}, k-mer {}", names, model, kmer)
        values = [v for x in labels for v in (x.auroc, x.kmer_auroc) if np.isfinite(v)]
        low = min([0.45, *values]) - 0.02
        ax.plot([low, 1], [low, 1], color=GREY, lw=1, ls=(0, (1, 1.5)))
        ax.set(xlim=(low, 1.01), ylim=(low, 1.01), aspect="equal", title="AUROC of each label")
        ax.set(xlabel="k-mer baseline", ylabel="BigBird (above the diagonal: better)")
        ax.legend(loc="lower right")
    return fig


def _short(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"
