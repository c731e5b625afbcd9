"""The section on masked-token pretraining."""

from collections.abc import Sequence
from dataclasses import dataclass

from dna_bigbird.evaluation.model_results import ModelResult
from dna_bigbird.evaluation.rendering import Gallery, Picture
from dna_bigbird.metrics.names import direction, ngram_name, ngram_title
from dna_bigbird.metrics.scores import ModelMetrics, PredictorScores, Score, is_number
from dna_bigbird.metrics.verdicts import MASKED_BITS, best_masked
from dna_bigbird.report.history_figure import history_figure
from dna_bigbird.report.run_results import Results

ALL_MASKED_BITS = "bits_per_base_all_masked"


@dataclass(frozen=True)
class TrainingPictures:
    """Bits per base with the baselines as lines, and the loss."""

    bits: Picture
    loss: Picture
    lines: Sequence[tuple[str, float]]
    """Name and bits per base of each baseline."""


@dataclass(frozen=True)
class NgramRow:
    """An n-gram baseline."""

    name: str
    direction: str
    bits: Score
    all_masked: Score
    description: str
    counted_bp: float | int | None


@dataclass(frozen=True)
class PartRow:
    """Bits per base on a chromosome or repeat class."""

    part: str
    model: Score
    baseline: Score
    n_bp: int


@dataclass(frozen=True)
class Parts:
    """Bits per base by part of the test split, by the name of the division."""

    baseline: str
    divisions: dict[str, list[PartRow]]


@dataclass(frozen=True)
class Pretraining:
    """The data of the section; None where the results are missing."""

    metrics: ModelMetrics
    bits: Score
    all_masked: Score
    """Of the same tokens where all of them show [MASK]."""
    chosen_step: int | None
    pictures: TrainingPictures | None
    ngrams: Sequence[NgramRow]
    parts: Parts


def pretraining(results: Results, gallery: Gallery) -> Pretraining:
    """Return the scores and pictures of pretraining, which the run must have."""
    result = results.pretrained
    return Pretraining(
        result.metrics,
        result.metrics.score(MASKED_BITS),
        result.metrics.score(ALL_MASKED_BITS),
        result.chosen_step,
        _pictures(result, gallery) if result.history else None,
        [
            _ngram(key, scores, results.language.baselines.get(key, PredictorScores()))
            for key, scores in result.metrics.baselines.items()
        ],
        _parts(result.metrics),
    )


def _pictures(result: ModelResult, gallery: Gallery) -> TrainingPictures:
    bits = {ngram_title(k): x.bits_per_base.value for k, x in result.metrics.baselines.items()}
    lines = [(name, value) for name, value in bits.items() if is_number(value)]
    return TrainingPictures(
        gallery.add(
            "pretraining_bits_per_base",
            history_figure(
                result.history,
                MASKED_BITS,
                title="Bits per base, masked",
                ylabel="bits per base (lower is better)",
                chosen_step=result.chosen_step,
                lines=lines,
                tag=gallery.tag,
            ),
        ),
        gallery.add(
            "pretraining_loss",
            history_figure(
                result.history,
                "loss",
                title="Training loss",
                ylabel="loss (nats)",
                chosen_step=result.chosen_step,
                tag=gallery.tag,
            ),
        ),
        lines,
    )


def _ngram(key: str, scores: PredictorScores, described: PredictorScores) -> NgramRow:
    return NgramRow(
        ngram_name(key),
        direction(key).replace("_", " ") or "–",
        scores.bits_per_base,
        scores.score(ALL_MASKED_BITS),
        described.description,
        scores.number("n_counted_bp"),
    )


def _parts(metrics: ModelMetrics) -> Parts:
    """Compare the model with the best masked baseline by chromosome and repeat class.

    A division with fewer than two parts is left out.
    """
    key, _ = best_masked(metrics)
    baseline = metrics.baselines.get(key, PredictorScores())
    divisions = {}
    for division, title in (("by_chromosome", "chromosome"), ("by_repeat_class", "repeat class")):
        parts, theirs = metrics.parts(division), baseline.parts(division)
        if len(parts) > 1:
            divisions[title] = [
                PartRow(
                    name.replace("_", " "),
                    part.score(MASKED_BITS),
                    theirs.get(name, PredictorScores()).score(MASKED_BITS),
                    part.values["n_bp"],
                )
                for name, part in parts.items()
            ]
    return Parts(ngram_title(key), divisions)
