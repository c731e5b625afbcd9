"""The section on a model of labels or classes: curves, scores, every label."""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.figure import Figure

from dna_bigbird.bundles.config import BundleConfig
from dna_bigbird.core.figures.style import (
    DARK,
    GREEN,
    GREY,
    KMER,
    MODEL,
    PURPLE,
    SKY,
    add_marks,
    new_figure,
    style,
)
from dna_bigbird.evaluation.compare.head_pages import Calibration, calibration
from dna_bigbird.evaluation.model_results import Curve, LabelScore, ModelResult
from dna_bigbird.evaluation.rendering import Gallery, Picture
from dna_bigbird.metrics.names import metric_name
from dna_bigbird.metrics.scores import ModelMetrics
from dna_bigbird.metrics.verdicts import NamedVerdict
from dna_bigbird.report.sections.pretraining_section import history_picture
from dna_bigbird.report.sections.summary_section import compared, main_score

SOURCES = {
    "model": ("BigBird", MODEL, "-"),
    "counts": ("counts alone", DARK, (0, (2, 2))),
    "kmer": ("k-mer baseline", KMER, (0, (5, 1.5))),
    "gc": ("GC content", PURPLE, (0, (3, 1, 1, 1))),
    "composition": ("composition", PURPLE, (0, (1, 1))),
    "positional": ("bases by position", GREEN, (0, (1, 1))),
    "motif": ("TATA match", GREY, (0, (3, 1, 1, 1))),
    "gkm": ("gkm-SVM", GREY, (0, (4, 1, 1, 1, 1, 1))),
    "cnnprom": ("CNNProm", SKY, "-."),
    "deepromoter": ("DeePromoter", GREEN, (0, (7, 2))),
    "deepsea": ("DeepSEA CNN", GREEN, (0, (7, 2))),
    "chance": ("chance", GREY, (0, (1, 1.5))),
}
PATTERNS = {"roc": "false positive rate {}, true positive rate {}", "pr": "recall {}, precision {}"}


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


MOST_SHOWN_ROWS = 12
"""Of a table of labels that is not folded."""
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


AVERAGES = ("macro-average", "micro-average")


@dataclass(frozen=True)
class CurvePicture:
    """A ROC or precision-recall picture (`roc`, `pr`) of one label or average."""

    picture: Picture
    curve: str
    label: str

    @property
    def average(self) -> str:
        """The average that is drawn, "" for a single label."""
        return self.label if self.label in AVERAGES else ""


@dataclass(frozen=True)
class Labels:
    """Every label: the picture if any is defined, and the rows of the table by group."""

    picture: Picture | None
    num_better: int
    """Labels on which the model has the higher AUROC."""
    num_compared: int
    num_labels: int
    is_long: bool
    """So many labels that the table is folded."""
    groups: dict[str, list[LabelScore]]


@dataclass(frozen=True)
class Head:
    name: str
    measure: str
    """The name of the main score."""
    config: BundleConfig
    metrics: ModelMetrics
    num_labels: int
    chosen_step: int | None
    leaks: int | None
    best: NamedVerdict
    """The comparison with the best baseline."""
    others: Sequence[NamedVerdict]
    """Those with the other ones."""
    curves: Sequence[CurvePicture]
    loss: Picture | None
    validation_auroc: Picture | None
    calibration: Calibration | None
    labels: Labels | None
    """None if there is only one label."""


def head(result: ModelResult, gallery: Gallery) -> Head:
    """Return the scores and pictures of a model of labels, classes or targets."""
    metrics = result.metrics
    best, *others = compared(result)
    return Head(
        name=result.name,
        measure=metric_name(main_score(result)),
        config=result.config,
        metrics=metrics,
        num_labels=len(result.config.label_names or result.labels),
        chosen_step=result.chosen_step,
        leaks=result.leaks,
        best=best,
        others=others,
        curves=_curves(result, gallery),
        loss=_loss(result, gallery),
        validation_auroc=_validation_auroc(result, gallery),
        calibration=calibration(result, gallery),
        labels=_labels(result, gallery) if len(result.labels) > 1 else None,
    )


def _curves(result: ModelResult, gallery: Gallery) -> list[CurvePicture]:
    """Draw both averages over labels, or the only label."""
    labels = list(dict.fromkeys(curve.label for curve in result.curves))
    averages = [label for label in AVERAGES if label in labels]
    pictures = []
    for label in averages or labels[:1]:
        curves = [curve for curve in result.curves if curve.label == label]
        for curve, title in (("roc", "ROC"), ("pr", "Precision-recall")):
            average = f"_{label.split('-')[0]}" if averages else ""
            figure = curve_figure(
                curves, curve, title=f"{title}, {label}" if averages else title, tag=gallery.tag
            )
            picture = gallery.add(f"{result.name}_{curve}{average}", figure)
            pictures.append(CurvePicture(picture, curve, label))
    return pictures


def _loss(result: ModelResult, gallery: Gallery) -> Picture | None:
    if not any(row.name == "loss" for row in result.history):
        return None
    ylabel = "binary cross-entropy (nats)"
    return history_picture(
        result, gallery, f"{result.name}_loss", "loss", "Fine-tuning loss", ylabel
    )


def _validation_auroc(result: ModelResult, gallery: Gallery) -> Picture | None:
    score = next((x for x in ("macro_auroc", "auroc") if result.logs(x)), None)
    if score is None or not any(row.name == "loss" for row in result.history):
        return None
    ylabel = "AUROC" if len(result.labels) < 2 else "AUROC, mean over labels"
    name = f"{result.name}_validation_auroc"
    return history_picture(result, gallery, name, score, "Validation AUROC", ylabel)


def _labels(result: ModelResult, gallery: Gallery) -> Labels:
    labels = result.labels
    compared = [x for x in labels if math.isfinite(x.auroc) and math.isfinite(x.kmer_auroc)]
    picture = None
    if any(math.isfinite(x.auroc) for x in labels):
        figure = label_figure(labels, tag=gallery.tag)
        picture = gallery.add(
            f"{result.name}_labels", figure, is_wide=len(labels) <= MOST_LABEL_ROWS
        )
    return Labels(
        picture,
        num_better=sum(x.auroc > x.kmer_auroc for x in compared),
        num_compared=len(compared),
        num_labels=len(labels),
        is_long=len(labels) > MOST_SHOWN_ROWS,
        groups=_by_group(labels),
    )


def _by_group(labels: Sequence[LabelScore]) -> dict[str, list[LabelScore]]:
    """Return the labels by group, the highest AUROC first and undefined ones last."""
    groups: dict[str, list[LabelScore]] = {}
    for x in sorted(labels, key=lambda x: -x.auroc if math.isfinite(x.auroc) else math.inf):
        groups.setdefault(x.group, []).append(x)
    return {group: groups[group] for group in dict.fromkeys(x.group for x in labels)}
