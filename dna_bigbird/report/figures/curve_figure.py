"""ROC and precision-recall curves."""

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
from dna_bigbird.evaluation.model_results import Curve

SOURCES = {
    "model": ("BigBird", MODEL, "-"),
    "kmer": ("k-mer baseline", KMER, (0, (5, 1.5))),
    "gc": ("GC content", PURPLE, (0, (3, 1, 1, 1))),
    "gkm": ("gkm-SVM", GREY, (0, (4, 1, 1, 1, 1, 1))),
    "cnnprom": ("CNNProm", SKY, "-."),
    "deepromoter": ("DeePromoter", GREEN, (0, (7, 2))),
    "deepsea": ("DeepSEA CNN", GREEN, (0, (7, 2))),
    "chance": ("chance", GREY, (0, (1, 1.5))),
}
PATTERNS = {
    "roc": "false positive rate {}, true positive rate {}",
    "pr": "recall {}, precision {}",
}


def curve_figure(curves: Sequence[Curve], curve_type: str, *, title: str, tag: str = "") -> Figure:
    """Draw ROC (`curve_type` "roc") or precision-recall ("pr") of all sources in the same axes."""
    with style():
        fig = new_figure(4.6, 4.3, tag)
        ax = fig.add_subplot()
        order = list(SOURCES)
        known = [c for c in curves if c.curve_type == curve_type]
        for curve in sorted(
            known, key=lambda c: -order.index(c.source) if c.source in order else 1
        ):
            name, colour, line = SOURCES.get(curve.source, (curve.source, GREEN, "-."))
            width = 2.0 if curve.source == "model" else 1.6
            steps = "steps-pre" if curve_type == "pr" and curve.source != "chance" else "default"
            ax.plot(curve.x, curve.y, color=colour, ls=line, lw=width, label=name, drawstyle=steps)
            if curve.source != "chance":
                add_marks(ax, curve.x, curve.y, name, PATTERNS[curve_type], curve.x, curve.y)
        ax.set(xlim=(-0.01, 1.01), ylim=(-0.01, 1.02), aspect="equal", title=title)
        if curve_type == "roc":
            ax.set(xlabel="false positive rate", ylabel="true positive rate")
        else:
            ax.set(xlabel="recall", ylabel="precision")
        handles, names = ax.get_legend_handles_labels()
        corner = "lower right" if curve_type == "roc" else _emptier_corner(known)
        ax.legend(handles[::-1], names[::-1], loc=corner)
    return fig


def _emptier_corner(curves: Sequence[Curve]) -> str:
    """Put the legend of a precision-recall plot below curves that are high, else above them."""
    right = [
        y for c in curves for x, y in zip(c.x, c.y, strict=True) if x > 0.4 and c.source != "chance"
    ]
    left = [y for c in curves for x, y in zip(c.x, c.y, strict=True) if x < 0.6]
    if right and np.mean(right) < 0.55:
        return "upper right"
    return "lower left" if not left or min(left) > 0.3 else "best"
