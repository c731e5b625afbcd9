"""The section with predicted and true tracks along the genome."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from dna_bigbird.core.figures.style import (
    DARK,
    GREEN,
    GREY,
    KMER,
    MODEL,
    PURPLE,
    add_marks,
    new_figure,
    style,
)
from dna_bigbird.evaluation.model_results import Profile
from dna_bigbird.evaluation.rendering import Gallery, Picture
from dna_bigbird.genome.interval import Interval
from dna_bigbird.report.run_results import HEADS, Results
from dna_bigbird.report.tracks import (
    PROMOTER,
    Strip,
    Track,
    build_strip,
    is_within,
    read_peak_sheet,
    read_promoters,
)

LEAST_SPAN = 0.05
TRUTH_SHARE = 0.26
"""Part of a row's height that the truth takes, below the predicted curve."""


def strip_figure(strip: Strip, *, title: str, tag: str = "") -> Figure:
    """Draw a row per label, each of its own scale: predictions above, true peaks or sites below."""
    rows = len(strip.tracks)
    groups = [g for g in dict.fromkeys(t.group for t in strip.tracks) if g != PROMOTER]
    colours = dict(zip(groups, [MODEL, PURPLE, GREEN, GREY] * len(groups), strict=False))
    colours[PROMOTER] = KMER
    with style():
        fig = new_figure(9.6, 1.1 + 0.55 * rows, tag)
        axes = fig.subplots(rows, 1, sharex=True, squeeze=False)[:, 0]
        fig.get_layout_engine().set(w_pad=0.08, h_pad=0.03, hspace=0.0)
        for ax, track in zip(axes, strip.tracks, strict=True):
            _row(ax, track, colours[track.group], strip)
        axes[0].set_title(title)
        last = axes[-1]
        last.set_xlim(strip.region.start, strip.region.end)
        last.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x / 1000:,.0f}"))
        last.set_xlabel(f"position on {strip.region.chrom} (kb)")
        last.spines["bottom"].set_visible(True)
        last.tick_params(axis="x", length=3)
    return fig


def scale_of(scores: np.ndarray) -> tuple[float, float]:
    """Return the bottom and top of a row: the lowest and highest score, but at least 0.05 apart.

    Example:
        >>> scale_of(np.array([0.2, 0.9])), scale_of(np.array([0.5, 0.5]))
        ((0.2, 0.9), (0.475, 0.525))
    """
    # A rare label never gets near 1, so a common scale would hide it; the least width keeps noise from
    # looking like signal.
    seen = scores[np.isfinite(scores)]
    if not len(seen):
        return 0.0, 1.0
    low, high = float(seen.min()), float(seen.max())
    if high - low >= LEAST_SPAN:
        return low, high
    bottom = min(max((low + high - LEAST_SPAN) / 2, 0.0), 1 - LEAST_SPAN)
    return bottom, bottom + LEAST_SPAN


def _row(ax: Axes, track: Track, colour: str, strip: Strip) -> None:
    windows = track.windows
    bottom, top = scale_of(windows.scores)
    below = -TRUTH_SHARE / (1 - TRUTH_SHARE)
    if len(windows.scores):
        x = np.column_stack([windows.starts, windows.ends]).ravel()
        y = np.repeat((np.nan_to_num(windows.scores, nan=bottom) - bottom) / (top - bottom), 2)
        ax.fill_between(x, 0, y, color=colour, alpha=0.30, lw=0)
        ax.plot(x, y, color=colour, lw=1.0, solid_joinstyle="miter")
        _window_marks(ax, track, y[::2])
    ax.axhline(0, color="#8a9096", lw=0.7)
    if track.group == PROMOTER:
        _arrows(ax, track, strip.region, below)
    else:
        least = (strip.region.end - strip.region.start) / 500  # a peak stays visible
        spans = [(f.start, max(f.end - f.start, least)) for f in track.truth]
        ax.broken_barh(spans, (below * 0.8, -below * 0.6), color=DARK, lw=0)
    _truth_marks(ax, track.truth, below / 2)
    ax.set_ylim(below, 1.12)
    ax.set_yticks([])
    ax.grid(axis="y", visible=False)
    for side in ("left", "bottom"):
        ax.spines[side].set_visible(False)
    ax.tick_params(axis="x", length=0)
    name = track.label if len(track.label) <= 22 else track.label[:21] + "…"
    ax.set_ylabel(name, rotation=0, ha="right", va="center", fontsize=8.5, labelpad=6)
    scale = f"{bottom:.2f}–{top:.2f}" if len(windows.scores) else "no score"
    group = "" if track.group == PROMOTER else track.group[:14]
    none = "no truth here" if strip.has_truth and not track.truth else ""
    beside = {"transform": ax.transAxes, "va": "center"}
    ax.text(1.005, 0.74, scale, fontsize=7.5, color=colour, **beside)
    under = "\n".join(text for text in (group, none) if text)
    ax.text(1.005, 0.36, under, fontsize=6.5, color=GREY, **beside)


def _window_marks(ax: Axes, track: Track, heights: np.ndarray) -> None:
    """Keep the score of every window at its middle."""
    windows = track.windows
    middles = (windows.starts + windows.ends) / 2
    position = [f"{middle / 1000:,.1f}" for middle in middles]
    add_marks(ax, middles, heights, track.label, "{} at {} kb", windows.scores, position)


def _truth_marks(ax: Axes, truth: Sequence[Interval], height: float) -> None:
    """Keep start and end of every true feature at its middle."""
    middles = [(x.start + x.end) / 2 for x in truth]
    starts, ends = [x.start + 1 for x in truth], [x.end for x in truth]
    add_marks(ax, middles, [height] * len(truth), "truth", "{}-{}", starts, ends)


def _arrows(ax: Axes, track: Track, region: Interval, below: float) -> None:
    """Draw a start site as a stem with an arrow in the direction of transcription."""
    length = (region.end - region.start) / 70
    for feature in track.truth:
        forward = feature.strand != "-"
        site = feature.start if forward else feature.end
        tip = site + (length if forward else -length)
        middle = below * 0.45
        ax.plot([site, site], [below * 0.95, 0], color=DARK, lw=1.2)
        ax.annotate(
            "",
            xy=(tip, middle),
            xytext=(site, middle),
            annotation_clip=False,
            arrowprops={"arrowstyle": "-|>", "color": DARK, "lw": 1.2, "shrinkA": 0, "shrinkB": 0},
        )


MOST_PROFILES = 12
"""Tracks in a picture of profiles."""


def profile_figure(profiles: Sequence[Profile], *, tag: str = "") -> Figure:
    """Draw a row per track: what was measured as an area, what is predicted as a line, on one scale."""
    shown = profiles[:MOST_PROFILES]
    with style():
        fig = new_figure(9.6, 0.4 + 1.25 * len(shown), tag)
        axes = fig.subplots(len(shown), 1, squeeze=False)[:, 0]
        for ax, x in zip(axes, shown, strict=True):
            edges = np.column_stack([x.start, x.end]).ravel()
            measured, predicted = (np.repeat(y, 2) for y in (x.measured, x.predicted))
            ax.fill_between(edges, 0, measured, color=GREY, alpha=0.5, lw=0, label="measured")
            ax.plot(edges, predicted, color=MODEL, lw=1.2, label="predicted")
            middles = (x.start + x.end) / 2
            position = [f"{at / 1000:,.2f}" for at in middles]
            pattern = "predicted {}, measured {} at {} kb"
            add_marks(ax, middles, x.predicted, x.label, pattern, x.predicted, x.measured, position)
            ax.set_title(x.label)
            ax.set_xlim(x.start[0], x.end[-1])
            ax.set_ylim(bottom=0)
            ax.xaxis.set_major_formatter(FuncFormatter(lambda at, _: f"{at / 1000:,.0f}"))
            ax.set_xlabel(f"position on {x.chrom} (kb)")
        axes[0].legend(loc="lower right", bbox_to_anchor=(1.0, 0.98), ncols=2)
    return fig


@dataclass(frozen=True)
class Tracks:
    has_predictions: bool
    picture: Picture | None = None
    """None if nothing is predicted in the region."""
    region: str = ""
    labels: Sequence[str] = ()
    split: str = ""
    """The held-out split that holds the region, if one does."""
    has_truth: bool = False
    missing_options: Sequence[str] = ()
    """Options that would have named the truth."""


def tracks(
    results: Results, truth_promoters: Path | None, truth_peaks: Path | None, gallery: Gallery
) -> Tracks:
    """Choose a region and draw its predictions and truth."""
    tables = {head: results.folder / "predictions" / f"{head}.tsv" for head in HEADS}
    predictions = {head: path for head, path in tables.items() if path.is_file()}
    chromatin = results.heads["chromatin"]
    strip = build_strip(
        predictions,
        read_promoters(truth_promoters) if truth_promoters else None,
        read_peak_sheet(truth_peaks) if truth_peaks else None,
        {x.label: x.group for x in chromatin.labels} if chromatin else {},
    )
    if strip is None:
        return Tracks(has_predictions=False)
    truth = {"promoter": truth_promoters, "chromatin": truth_peaks}
    options = {"promoter": "--truth_promoters", "chromatin": "--truth_peaks"}
    return Tracks(
        has_predictions=True,
        picture=_picture(strip, gallery) if strip.tracks else None,
        region=strip.region.text,
        labels=list(dict.fromkeys(track.label for track in strip.tracks)),
        split=_held_out(strip, results.config),
        has_truth=strip.has_truth,
        missing_options=[options[head] for head in predictions if truth[head] is None],
    )


def _picture(strip: Strip, gallery: Gallery) -> Picture:
    title = f"{strip.region.text}: predicted over true"
    return gallery.add(
        "genome_strip", strip_figure(strip, title=title, tag=gallery.tag), is_wide=True
    )


def _held_out(strip: Strip, config: dict) -> str:
    """Return the split that holds the whole region, "" if models may have learned from it."""
    splits = config.get("splits")
    for split in ("test", "validation"):
        regions = splits.get(split, []) if isinstance(splits, dict) else []
        if any(is_within(strip.region, str(region)) for region in regions):
            return split
    return ""
