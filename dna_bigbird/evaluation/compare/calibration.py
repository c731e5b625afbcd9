"""Calibration of a promoter or chromatin model."""

from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter

from dna_bigbird.core.figures.style import GREY, KMER, MODEL, add_marks, new_figure, style
from dna_bigbird.evaluation.model_results import CalibrationBin, ModelResult
from dna_bigbird.evaluation.rendering import Gallery, Picture
from dna_bigbird.metrics.scores import is_number

# Reliability diagram: the share of positives over the predicted probability.

LOOKS = {"raw": (MODEL, "o", "-"), "calibrated": (KMER, "s", "--")}
NAMES = {"raw": "as predicted", "calibrated": "corrected on validation"}
PATTERN = "mean probability {}, share of positives {}"


def calibration_figure(bins: Sequence[CalibrationBin], title: str, tag: str = "") -> Figure:
    """Draw the share of positives over the mean probability of bins of equal numbers of rows.

    Both axes are logarithmic where the probabilities of most bins are small, as for rare labels.
    """
    with style():
        fig = new_figure(4.6, 4.3, tag)
        ax = fig.add_subplot()
        values = [v for x in bins for v in (x.mean_probability, x.share_positive) if v > 0]
        low, high = min(values, default=0.0), max(values, default=1.0)
        small = 0 < low < 0.02
        for probabilities, (colour, mark, line) in LOOKS.items():
            here = [x for x in bins if x.probabilities == probabilities]
            if small:  # a bin without a positive cannot be drawn on a logarithmic axis
                here = [x for x in here if x.share_positive > 0]
            if here:
                predicted = [x.mean_probability for x in here]
                shares = [x.share_positive for x in here]
                name = NAMES[probabilities]
                ax.plot(
                    predicted, shares, color=colour, marker=mark, ls=line, ms=5, lw=1.6, label=name
                )
                add_marks(ax, predicted, shares, name, PATTERN, predicted, shares)
        ends = (low / 1.3, min(1.0, high * 1.3)) if small else (0.0, 1.0)
        ax.plot(ends, ends, color=GREY, ls=(0, (1, 1.5)), lw=1.2, label="what it should be")
        if small:
            ax.set(xscale="log", yscale="log")
            for axis in (ax.xaxis, ax.yaxis):
                axis.set_major_formatter(lambda value, _: f"{value:g}")
                axis.set_minor_formatter(NullFormatter())
        ax.set(xlabel="mean probability", ylabel="share of positives", title=title)
        ax.legend(loc="upper left")
    return fig


@dataclass(frozen=True)
class Calibration:
    """The picture, and the expected calibration error before and after correction."""

    model: str
    picture: Picture
    ece: float | None
    corrected_ece: float | None
    weights_positives: bool
    """Training counted positives more than negatives."""


def calibration(
    result: ModelResult, gallery: Gallery, title: str = "Calibration"
) -> Calibration | None:
    """Return the calibration of a model, None if its evaluation wrote none."""
    bins = [x for x in result.calibration if x.group == "all"]
    if not bins:
        return None
    weight = result.config.training.positive_weight
    figure = calibration_figure(bins, title, gallery.tag)
    return Calibration(
        result.name,
        gallery.add(f"{result.name.replace('/', '_')}_calibration", figure),
        result.metrics.number("ece"),
        result.metrics.number("ece_calibrated"),
        is_number(weight) and weight > 1,
    )
