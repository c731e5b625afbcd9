"""Do probabilities mean what they say: `calibration.tsv` of evaluate as a picture and a sentence."""

from collections.abc import Sequence

from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter

from dna_bigbird.report.figures.style import GREY, KMER, MODEL, new_figure, style
from dna_bigbird.report.gallery import Gallery
from dna_bigbird.report.glossary import term
from dna_bigbird.report.markup import Html, is_number, join, shown
from dna_bigbird.report.model_results import CalibrationBin, ModelResult

LOOKS = {"raw": (MODEL, "o", "-"), "calibrated": (KMER, "s", "--")}
NAMES = {"raw": "as predicted", "calibrated": "corrected on validation"}


def calibration_figure(bins: Sequence[CalibrationBin], title: str, tag: str = "") -> Figure:
    """Draw the share of positives over the mean probability of bins of equal numbers of rows.

    Both axes are logarithmic where the probabilities of most bins are small, as those of rare labels.
    """
    with style():
        fig = new_figure(4.6, 4.3, tag)
        ax = fig.add_subplot()
        values = [v for x in bins for v in (x.mean_probability, x.share_positive) if v > 0]
        low, high = min(values, default=0.0), max(values, default=1.0)
        small = 0 < low < 0.02
        for kind, (colour, mark, line) in LOOKS.items():
            here = [x for x in bins if x.probabilities == kind]
            if small:  # a bin without a positive has no place on a logarithmic axis
                here = [x for x in here if x.share_positive > 0]
            if here:
                ax.plot(
                    [x.mean_probability for x in here],
                    [x.share_positive for x in here],
                    color=colour, marker=mark, ls=line, ms=5, lw=1.6, label=NAMES[kind],
                )  # fmt: skip
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


def calibration_part(result: ModelResult, gallery: Gallery, title: str = "Calibration") -> Html:
    """Return the picture and what it says; nothing if the run has no calibration."""
    bins = [x for x in result.calibration if x.group == "all"]
    if not bins:
        return Html("")
    ece, corrected = (result.metrics.get(key) for key in ("ece", "ece_calibrated"))
    said = [f"{term('calibration')}: expected error {shown(ece)} as predicted"]
    if is_number(corrected):
        said.append(
            f", {shown(corrected)} after a correction with two numbers fitted on validation"
        )
    said.append(". Predictions are given as they are, without it.")
    if _weighted(result):
        said.append(
            " Positives counted more than negatives in training, which makes probabilities too high."
        )
    name = result.name.replace("/", "_")
    return gallery.show(
        f"{name}_calibration",
        calibration_figure(bins, title, gallery.tag),
        alt=f"Share of positives over the mean probability of the {result.name} model, in bins.",
        caption=Html("".join(said)),
    )


def calibration_section(results: Sequence[ModelResult], gallery: Gallery) -> Html:
    """Return the pictures of several models side by side."""
    parts = [calibration_part(x, gallery, x.name.removeprefix("heads/")) for x in results]
    if not any(parts):
        return Html("")
    return join(
        [
            Html('<section><h2>Calibration</h2><div class="panels">'),
            *parts,
            Html("</div></section>"),
        ]
    )


def _weighted(result: ModelResult) -> bool:
    weight = result.config.get("training", {}).get("positive_weight", 1)
    return is_number(weight) and weight > 1
