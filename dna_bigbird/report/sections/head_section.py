"""The section on a model of labels or classes: curves, scores, every label."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from dna_bigbird.bundles.config import BundleConfig
from dna_bigbird.evaluation.compare.calibration import Calibration, calibration
from dna_bigbird.evaluation.model_results import LabelScore, ModelResult
from dna_bigbird.evaluation.pages.gallery import Gallery, Picture
from dna_bigbird.metrics.baseline_names import window_baseline
from dna_bigbird.metrics.names import metric_name
from dna_bigbird.metrics.scores import ModelMetrics
from dna_bigbird.metrics.verdicts import NamedVerdict, Verdict
from dna_bigbird.report.figures.curve_figure import curve_figure
from dna_bigbird.report.figures.history_figure import history_figure
from dna_bigbird.report.figures.label_figure import MOST_LABEL_ROWS, label_figure
from dna_bigbird.report.sections.summary_section import compared, headline, main_score

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
    """The data of the section."""

    name: str
    measure: str
    """The name of the main score."""
    config: BundleConfig
    metrics: ModelMetrics
    num_labels: int
    chosen_step: int | None
    leaks: int | None
    verdict: Verdict
    others: Sequence[NamedVerdict]
    """The comparisons with all baselines except k-mers."""
    curves: Sequence[CurvePicture]
    loss: Picture | None
    validation_auroc: Picture | None
    calibration: Calibration | None
    labels: Labels | None
    """None if there is only one label."""


def head(result: ModelResult, gallery: Gallery) -> Head:
    """Return the scores and pictures of a model of labels, classes or targets."""
    metrics = result.metrics
    return Head(
        name=result.name,
        measure=metric_name(main_score(result)),
        config=result.config,
        metrics=metrics,
        num_labels=len(result.config.label_names or result.labels),
        chosen_step=result.chosen_step,
        leaks=result.leaks,
        verdict=headline(result),
        others=[
            NamedVerdict(window_baseline(name), compared(result, name))
            for name in metrics.baselines
            if name != "kmer"
        ],
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
    figure = history_figure(
        result.history,
        "loss",
        title="Fine-tuning loss",
        ylabel="binary cross-entropy (nats)",
        chosen_step=result.chosen_step,
        tag=gallery.tag,
    )
    return gallery.add(f"{result.name}_loss", figure)


def _validation_auroc(result: ModelResult, gallery: Gallery) -> Picture | None:
    score = next((x for x in ("macro_auroc", "auroc") if result.logs(x)), None)
    if score is None or not any(row.name == "loss" for row in result.history):
        return None
    figure = history_figure(
        result.history,
        score,
        title="Validation AUROC",
        ylabel="AUROC" if len(result.labels) < 2 else "AUROC, mean over labels",
        chosen_step=result.chosen_step,
        tag=gallery.tag,
    )
    return gallery.add(f"{result.name}_validation_auroc", figure)


def _labels(result: ModelResult, gallery: Gallery) -> Labels:
    labels = result.labels
    is_long = len(labels) > MOST_LABEL_ROWS
    compared = [x for x in labels if math.isfinite(x.auroc) and math.isfinite(x.kmer_auroc)]
    picture = None
    if any(math.isfinite(x.auroc) for x in labels):
        figure = label_figure(labels, tag=gallery.tag)
        picture = gallery.add(f"{result.name}_labels", figure, is_wide=not is_long)
    return Labels(
        picture,
        num_better=sum(x.auroc > x.kmer_auroc for x in compared),
        num_compared=len(compared),
        num_labels=len(labels),
        is_long=is_long,
        groups=_by_group(labels),
    )


def _by_group(labels: Sequence[LabelScore]) -> dict[str, list[LabelScore]]:
    """Return the labels by group, the highest AUROC first and undefined ones last."""
    groups: dict[str, list[LabelScore]] = {}
    for x in sorted(labels, key=lambda x: -x.auroc if math.isfinite(x.auroc) else math.inf):
        groups.setdefault(x.group, []).append(x)
    return {group: groups[group] for group in dict.fromkeys(x.group for x in labels)}
