"""Pictures of promoter and chromatin models side by side."""

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure

from dna_bigbird.core.figures.marks import add_marks
from dna_bigbird.core.figures.style import DARK, KMER, MODEL, new_figure, style
from dna_bigbird.evaluation.compare.head_tables import Block
from dna_bigbird.metrics.scores import score_text

LOOKS = {
    "this run": {"color": MODEL, "marker": "o", "ms": 6},
    "baseline": {"color": KMER, "marker": "s", "ms": 5},
    "published": {"color": DARK, "marker": "D", "ms": 5.5, "mfc": "white"},
}


def block_figure(block: Block, names: Sequence[str], tag: str = "") -> Figure:
    """Draw the scores of a block as points with their intervals, one row per predictor, one panel per score.

    Published scores are hollow and have no interval; a line separates rows of different sets.
    """
    names = [name for name in names if any(row[name] is not None for row in block.rows)]
    windows = len({row["window_bp"] for row in block.rows if row["source"] == "this run"}) > 1
    with style():
        height = 1.1 + 0.3 * len(block.rows) + 0.25 * len(block.groups)
        fig = new_figure(2.6 + 2.5 * len(names), height, tag)
        panels = fig.subplots(1, max(1, len(names)), sharey=True, squeeze=False)[0]
        heights, labels, borders, top = [], [], [], 0.0
        for _, rows in block.groups:
            heights += [top + i for i in range(len(rows))]
            labels += [_name(row, windows) for row in rows]
            top += len(rows) + 0.6
            borders.append(top - 0.8)
        for ax, name in zip(panels, names, strict=False):
            for y, row in zip(heights, block.rows, strict=True):
                _point(ax, y, row, name)
            for border in borders[:-1]:
                ax.axhline(border, color=DARK, lw=0.7)
            ax.set(xlabel=_title(name))
            ax.grid(axis="y", visible=False)
            ax.locator_params(axis="x", nbins=4)
        panels[0].set_yticks(heights, labels)
        panels[0].set_ylim(max(heights, default=0) + 0.6, -0.6)
        _legend(fig, panels[0], block)
    return fig


def _name(row: dict, windows: bool) -> str:
    if windows or row["source"] == "published":
        return f"{row['predictor']}, {row['window_bp']:,} bp"
    return row["predictor"]


def _point(ax, y: float, row: dict, name: str) -> None:
    value, low, high = (row[f"{name}{end}"] for end in ("", "_low", "_high"))
    look = LOOKS[row["source"]]
    if low is not None and high is not None and np.isfinite([low, high]).all():
        ax.plot([low, high], [y, y], color=look["color"], lw=1.6)
    if value is not None:
        ax.plot(value, y, ls="", **look)
        texts = [_title(name)], [score_text(value, low, high)]
        add_marks(ax, [value], [y], row["predictor"], "{} {}", *texts)


def _legend(fig: Figure, ax, block: Block) -> None:
    present = {row["source"] for row in block.rows}
    for source, look in LOOKS.items():
        if source in present:
            name = "published, on other data" if source == "published" else source
            ax.plot([], [], ls="", label=name, **look)
    fig.legend(loc="outside lower center", ncols=3)


def _title(name: str) -> str:
    """Write the key of a score as an axis has it.

    Example:
        >>> _title("median_auroc_TF"), _title("mcc"), _title("gain_chosen")
        ('AUROC, median of TF', 'MCC', 'gain in AUROC, chosen labels')
    """
    for start, text in (("auroc_", "AUROC"), ("gain_", "gain in AUROC")):
        if name.startswith(start):
            return f"{text}, {name.removeprefix(start)} labels"
    if name.startswith("median_auroc_"):
        return f"AUROC, median of {name.removeprefix('median_auroc_')}"
    return name.upper()
