"""The picture of in-silico mutagenesis: the effect of every substitution on a label's score."""

from collections.abc import Sequence

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator
from numpy.typing import NDArray

from dna_bigbird.core.figures.style import DARK, add_marks, draw_letters, new_figure, style

# P positions, L labels; 4 bases in the order of LETTERS

LETTERS = "ACGT"
BASES_IN_A_ROW = 100
MOST_BASES = 1000
"""A longer region has no picture, because its letters would be unreadable."""
MOST_ROWS = 16
UNKNOWN = "#c9ced3"
UNITS = {
    "log_odds": "change of log odds",
    "diff": "change of probability",
    "total": "change of the sum of the bins",
    "shape": "change of the shape",
    "largest": "largest change of a bin",
}
"""What the colours say, by the name that the table's columns end with."""


def mutagenesis_figure(
    chrom: str,
    start: int,
    reference: str,
    label_names: Sequence[str],
    effects_P4L: NDArray,
    *,
    effect: str,
    tag: str = "",
) -> tuple[Figure, list[str]]:
    """Draw one panel per label: the reference as letters, below it the effect of each substitution.

    A letter's height is minus the mean effect of the three substitutions there: it points up
    where a change lowers the score. Long regions are broken into rows. If the labels would take
    more than MOST_ROWS rows, those with the largest effect are drawn.

    Args:
        start: 0-based position of the first base.
        reference: Its bases, (P,).
        effects_P4L: 0 at the reference base; NaN where unknown.
        effect: Key of UNITS.

    Returns:
        The figure and the labels drawn, in their order.

    Raises:
        ValueError: If the region is longer than MOST_BASES.
    """
    if len(reference) > MOST_BASES:
        raise ValueError(f"a picture shows at most {MOST_BASES:,} bases, not {len(reference):,}")
    rows_each = -(-len(reference) // BASES_IN_A_ROW)
    drawn = _largest(effects_P4L, max(1, MOST_ROWS // rows_each))
    step = -(-len(reference) // rows_each)
    with style():
        panels = len(drawn) * rows_each
        fig = new_figure(max(4.5, 1.6 + 0.092 * step), 0.45 + 1.55 * panels, tag)
        fig.get_layout_engine().set(h_pad=0.03, hspace=0.0)
        axes = fig.subplots(2 * panels, 1, height_ratios=[1, 1] * panels, squeeze=False)[:, 0]
        for index, label in enumerate(drawn):
            own = axes[2 * rows_each * index : 2 * rows_each * (index + 1)]
            name = label_names[label]
            own[0].set_title(name)
            _label(own, start, reference, effects_P4L[:, :, label], step, UNITS[effect], name)
        axes[-1].set_xlabel(f"position on {chrom} (bp, counted from 1)")
    return fig, [label_names[label] for label in drawn]


def _largest(effects_P4L: NDArray, most: int) -> list[int]:
    """Return the labels with the largest absolute effect, in their own order."""
    reach_L = np.nan_to_num(np.abs(effects_P4L)).max(axis=(0, 1))
    return sorted(np.argsort(-reach_L, kind="stable")[:most].tolist())


def _label(
    axes: Sequence[Axes],
    start: int,
    reference: str,
    effects_P4: NDArray,
    step: int,
    unit: str,
    label: str,
) -> None:
    """Fill the pairs of axes (letters, heat map) of one label, all on the same scale."""
    reach = float(np.nan_to_num(np.abs(effects_P4)).max()) or 1.0
    known_P = np.isin(list(reference), list(LETTERS))
    heights_P = np.where(known_P, -np.nan_to_num(effects_P4).sum(axis=1) / 3, 0.0)
    # Substitutions that each lower the score make a letter as high as the axis.
    limits = (min(heights_P.min(), 0.0) - 0.02 * reach, max(heights_P.max(), 0.3 * reach))
    for index, first in enumerate(range(0, len(reference), step)):
        here = slice(first, first + step)
        letters, heat = axes[2 * index], axes[2 * index + 1]
        _letters(letters, start + first, reference[here], heights_P[here])
        letters.set_ylim(*limits)
        image = _heat(heat, start + first, reference[here], effects_P4[here], reach, label)
        for ax in (letters, heat):
            ax.set_xlim(start + first + 0.5, start + first + step + 0.5)
    bar = axes[0].figure.colorbar(image, ax=list(axes), fraction=0.02, pad=0.01, aspect=30)
    bar.set_label(unit, fontsize=7.5)
    bar.ax.tick_params(labelsize=7)
    bar.outline.set_visible(False)


def _letters(ax: Axes, start: int, reference: str, heights_P: NDArray) -> None:
    """Draw every base as a letter that fills its column up to its height."""
    middles = range(start + 1, start + 1 + len(reference))
    draw_letters(ax, zip(reference, middles, [0.0] * len(reference), heights_P, strict=True))
    ax.axhline(0, color="#8a9096", lw=0.6)
    ax.grid(False)
    ax.spines["bottom"].set_visible(False)
    ax.set_xticks([])
    ax.yaxis.set_major_locator(MaxNLocator(2))
    ax.tick_params(axis="y", labelsize=7)


def _heat(ax: Axes, start: int, reference: str, effects_P4: NDArray, reach: float, label: str):
    """Draw one row per base from A above to T below; a dot marks the reference base."""
    columns = len(reference)
    image = ax.imshow(
        effects_P4.T,
        cmap=matplotlib.colormaps["RdBu_r"].with_extremes(bad=UNKNOWN),
        vmin=-reach,
        vmax=reach,
        aspect="auto",
        interpolation="nearest",
        extent=(start + 0.5, start + columns + 0.5, 3.5, -0.5),
    )
    dots = [(start + 1 + i, LETTERS.index(b)) for i, b in enumerate(reference) if b in LETTERS]
    substitutions = [
        (start + 1 + i, y, base, LETTERS[y], effects_P4[i, y])
        for i, base in enumerate(reference)
        for y in range(4)
        if base in LETTERS and base != LETTERS[y] and np.isfinite(effects_P4[i, y])
    ]
    if substitutions:
        positions, rows, *alleles, effects = zip(*substitutions, strict=True)
        add_marks(ax, positions, rows, label, "{} {}>{}: {}", positions, *alleles, effects)
    if dots:
        ax.scatter(*zip(*dots, strict=True), s=2.5, color=DARK, linewidths=0)
    ax.set_yticks(range(4), LETTERS, fontsize=6.5)
    ax.grid(False)
    ax.tick_params(axis="y", length=0)
    ax.tick_params(axis="x", length=2.5, labelsize=7.5)
    ax.xaxis.set_major_locator(MaxNLocator(8, integer=True))
    ax.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:,.0f}"))
    for side in ("left", "bottom"):
        ax.spines[side].set_visible(False)
    return image
