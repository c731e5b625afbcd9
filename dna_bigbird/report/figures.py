"""The pictures of the report, each a function from result rows to a matplotlib figure.

One look for all: blue for the model, vermilion for the k-mer baseline, green and grey for n-grams
and chance (Okabe and Ito's colours, which colour-blind readers tell apart), and a line style of
its own for each, so that a print in grey can be read too.
"""

import contextlib
import io
import itertools
from collections.abc import Iterator, Sequence

import matplotlib
import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from dna_bigbird.report.model_results import Curve, HistoryRow, LabelScore
from dna_bigbird.report.results import Stage

MODEL, KMER, GREEN, PURPLE, SKY = "#0072B2", "#D55E00", "#009E73", "#9C5A8A", "#56B4E9"
GREY, DARK, PALE = "#6b7075", "#22272b", "#e8eaec"
SOURCES = {
    "model": ("BigBird", MODEL, "-"),
    "kmer": ("k-mer baseline", KMER, (0, (5, 1.5))),
    "gc": ("GC content", PURPLE, (0, (3, 1, 1, 1))),
    "cnnprom": ("CNNProm", SKY, "-."),
    "deepromoter": ("DeePromoter", GREEN, (0, (7, 2))),
    "deepsea": ("DeepSEA CNN", GREEN, (0, (7, 2))),
    "chance": ("chance", GREY, (0, (1, 1.5))),
}
MOST_LABEL_ROWS = 40
"""Above this many labels the AUROCs are drawn as one point a label, not one row a label."""
STYLE = {
    "font.family": "DejaVu Sans",
    "font.size": 9,
    "axes.titlesize": 10,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.titlepad": 8,
    "axes.labelcolor": DARK,
    "axes.edgecolor": "#8a9096",
    "axes.linewidth": 0.8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": PALE,
    "grid.linewidth": 0.8,
    "xtick.color": GREY,
    "ytick.color": GREY,
    "xtick.labelcolor": DARK,
    "ytick.labelcolor": DARK,
    "legend.frameon": False,
    "legend.fontsize": 8.5,
    "text.color": DARK,
    "text.parse_math": False,  # a label name may contain dollar signs
    "figure.facecolor": "white",
    "savefig.facecolor": "white",
    "svg.fonttype": "path",
    "svg.hashsalt": "dna-bigbird",
    "path.simplify": True,
}


@contextlib.contextmanager
def style() -> Iterator[None]:
    """Hold the look of the report while a figure is made or saved; nothing global stays changed."""
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(STYLE)
        yield


def save(fig: Figure, kind: str, dpi: int = 160) -> bytes:
    """Return a figure as bytes of `svg`, `png` or `pdf`, the same for equal figures."""
    data = io.BytesIO()
    metadata = {
        "png": {"Software": None},
        "svg": {"Date": None, "Creator": None},
        "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
    }[kind]
    with style():
        if fig.get_layout_engine() is not None:
            fig.draw_without_rendering()
            fig.set_layout_engine("none")  # laying out again would move things by a little
        fig.savefig(data, format=kind, dpi=dpi, metadata=metadata)
    return data.getvalue()


def new_figure(width: float, height: float, tag: str = "") -> Figure:
    """Return an empty figure in inches; `tag` (such as "semi-synthetic") is written at its head."""
    fig = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(fig)
    if tag:
        fig.suptitle(tag, x=0.99, ha="right", fontsize=7, color=GREY, style="italic")
    return fig


def curve_figure(curves: Sequence[Curve], kind: str, *, title: str, tag: str = "") -> Figure:
    """Draw ROC (`kind` "roc") or precision-recall ("pr") of all sources in the same axes."""
    with style():
        fig = new_figure(4.6, 4.3, tag)
        ax = fig.add_subplot()
        order = list(SOURCES)
        known = [c for c in curves if c.kind == kind]
        for curve in sorted(
            known, key=lambda c: -order.index(c.source) if c.source in order else 1
        ):
            name, colour, line = SOURCES.get(curve.source, (curve.source, GREEN, "-."))
            width = 2.0 if curve.source == "model" else 1.6
            steps = "steps-pre" if kind == "pr" and curve.source != "chance" else "default"
            ax.plot(curve.x, curve.y, color=colour, ls=line, lw=width, label=name, drawstyle=steps)
        ax.set(xlim=(-0.01, 1.01), ylim=(-0.01, 1.02), aspect="equal", title=title)
        if kind == "roc":
            ax.set(xlabel="false positive rate", ylabel="true positive rate")
        else:
            ax.set(xlabel="recall", ylabel="precision")
        handles, names = ax.get_legend_handles_labels()
        corner = "lower right" if kind == "roc" else _emptier_corner(known)
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
            fig.legend(loc="outside lower left")  # beside so many lines none may hide one
        else:
            ax.legend()
    return fig


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
        for ax, group, found in zip(axes, groups, rows, strict=False):
            y = np.arange(len(found))
            model, kmer = (
                np.array([getattr(x, k) for x in found]) for k in ("auroc", "kmer_auroc")
            )
            ax.hlines(y, np.fmin(model, kmer), np.fmax(model, kmer), color="#b9bfc5", lw=1.6)
            ax.axvline(0.5, color=GREY, ls=(0, (2, 2)), lw=1.2)
            ax.plot(
                kmer, y, ls="", marker="D", ms=5.5, mfc="white", mec=KMER, mew=1.4, label="k-mer"
            )
            ax.plot(model, y, ls="", marker="o", ms=6.5, color=MODEL, label="BigBird")
            ax.set_yticks(y, [f"{_short(x.label, 40)}  ({x.n_positive})" for x in found])
            ax.set_ylim(len(found) - 0.4, -0.6)
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
            found = [x for x in labels if x.group == group]
            ax.plot(
                [x.kmer_auroc for x in found], [x.auroc for x in found],
                ls="", marker=mark, ms=4, alpha=0.7, mew=0, color=colour,
                label=f"{group} ({len(found)})",
            )  # fmt: skip
        values = [v for x in labels for v in (x.auroc, x.kmer_auroc) if np.isfinite(v)]
        low = min([0.45, *values]) - 0.02
        ax.plot([low, 1], [low, 1], color=GREY, lw=1, ls=(0, (1, 1.5)))
        ax.set(xlim=(low, 1.01), ylim=(low, 1.01), aspect="equal", title="AUROC of each label")
        ax.set(xlabel="k-mer baseline", ylabel="BigBird (above the diagonal: better)")
        ax.legend(loc="lower right")
    return fig


def stage_figure(stages: Sequence[Stage], *, tag: str = "") -> Figure:
    """Draw run time and peak memory of every stage as bars beside each other."""
    with style():
        fig = new_figure(9.6, 1.0 + 0.21 * len(stages), tag)
        left, right = fig.subplots(1, 2, sharey=True)
        y = np.arange(len(stages))
        seconds = np.array([s.seconds for s in stages])
        memory = np.array([s.max_rss_mb for s in stages]) / 1024
        for ax, values, colour, text in (
            (left, seconds, MODEL, lambda v: duration(v)),
            (right, memory, GREEN, lambda v: f"{v:.2f} GiB" if v >= 1 else f"{v * 1024:,.0f} MiB"),
        ):
            ax.barh(y, np.nan_to_num(values), color=colour, height=0.68)
            for at, value in zip(y, values, strict=True):
                shown = text(value) if np.isfinite(value) else "not measured"
                ax.text(np.nan_to_num(value), at, f" {shown}", va="center", fontsize=7.5)
            ax.grid(axis="y", visible=False)
            ax.margins(x=0.18)
            ax.tick_params(axis="y", length=0)
        left.set_yticks(y, [s.rule for s in stages])
        left.set_ylim(len(stages) - 0.4, -0.6)
        left.set(title="Run time", xlabel="seconds")
        right.set(title="Peak memory", xlabel="GiB (resident)")
    return fig


def duration(seconds: float) -> str:
    """Return a time as a person says it.

    Example:
        >>> [duration(s) for s in (0.42, 59.6, 185, 7384)]
        ['0.4 s', '1 min 0 s', '3 min 5 s', '2 h 3 min']
    """
    if not np.isfinite(seconds):
        return "not measured"
    if seconds < 10:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def _short(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"
