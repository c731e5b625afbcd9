"""Calibration of a promoter or chromatin model."""

from dataclasses import dataclass

from dna_bigbird.evaluation.compare.calibration_figure import calibration_figure
from dna_bigbird.evaluation.model_results import ModelResult
from dna_bigbird.evaluation.pages.gallery import Gallery, Picture
from dna_bigbird.metrics.scores import is_number


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
