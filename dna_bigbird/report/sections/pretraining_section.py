"""The section on masked-token pretraining."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from dna_bigbird.core.figures.style import (
    DARK,
    GREEN,
    GREY,
    KMER,
    MODEL,
    PURPLE,
    SKY,
    add_marks,
    line_look,
    new_figure,
    style,
)
from dna_bigbird.evaluation.model_results import HistoryRow, ModelResult
from dna_bigbird.evaluation.rendering import Gallery, Picture
from dna_bigbird.metrics.names import direction, ngram_name, ngram_title
from dna_bigbird.metrics.scores import ModelMetrics, PredictorScores, Score, is_number
from dna_bigbird.metrics.verdicts import (
    MASKED_BITS,
    MASKED_GAIN,
    PartRow,
    best_masked,
    on_unseen,
    part_rows,
)
from dna_bigbird.report.run_results import Results

SPLITS = {"train": (SKY, "", 1.3), "validation": (MODEL, "o", 1.8)}
"""Colour, marker and width of the line of each split."""
LINE_LOOKS = [(GREEN, "--"), (KMER, ":"), (PURPLE, "-."), (GREY, (0, (6, 2))), (DARK, (0, (1, 2)))]


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
    """Draw one logged score over the steps: training thin, validation with dots."""
    with style():
        fig = new_figure(4.6, 3.5 + (0.19 * (len(lines) + 3) if lines else 0), tag)
        ax = fig.add_subplot()
        for split in SPLITS:
            points = [(r.step, r.value) for r in rows if r.name == name and r.split == split]
            if points:
                _draw_split(ax, split, points, chosen_step)
        for i, (text, value) in enumerate(lines):
            colour, line = line_look(i, LINE_LOOKS)
            ax.axhline(value, color=colour, ls=line, lw=1.5, label=f"{text}: {value:.3f}")
        ax.set(xlabel="optimizer step", ylabel=ylabel, title=title)
        ax.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
        ax.margins(x=0.02, y=0.08)
        ax.locator_params(axis="x", nbins=6)
        ax.ticklabel_format(axis="y", useOffset=False)
        if lines:
            fig.legend(loc="outside lower left")  # many lines leave no free corner
        else:
            ax.legend()
    return fig


def history_picture(
    result: ModelResult,
    gallery: Gallery,
    name: str,
    score: str,
    title: str,
    ylabel: str,
    lines: Sequence[tuple[str, float]] = (),
) -> Picture:
    """Return the picture of this name of a logged score of a model."""
    looks = {"title": title, "ylabel": ylabel, "lines": lines, "tag": gallery.tag}
    figure = history_figure(result.history, score, chosen_step=result.chosen_step, **looks)
    return gallery.add(name, figure)


def _draw_split(
    ax: Axes, split: str, points: Sequence[tuple[int, float]], chosen_step: int | None
) -> None:
    """Draw the values of one split; the chosen step is circled on validation."""
    colour, marker, width = SPLITS[split]
    x, y = np.array(sorted(points)).T
    marker = marker or ("." if len(x) == 1 else "")
    ax.plot(x, y, color=colour, lw=width, marker=marker, ms=3.5, label=split)
    add_marks(ax, x, y, split, "step {}: {}", x.astype(int), y)
    chosen = x == chosen_step
    if split == "validation" and chosen.any():
        ax.plot(
            x[chosen], y[chosen], ls="", marker="o", ms=10, mfc="none", mec=DARK, mew=1.4,
            label=f"chosen step ({chosen_step:,})",
        )  # fmt: skip


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
    name: str
    direction: str
    bits: Score
    all_masked: Score
    gain: Score
    """The model's bits minus these, on the same draws."""
    description: str
    counted_bp: float | int | None


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
    picture = partial(history_picture, result, gallery)
    ylabel = "bits per base (lower is better)"
    bits_picture = picture(
        "pretraining_bits_per_base", MASKED_BITS, "Bits per base, masked", ylabel, lines
    )
    loss = picture("pretraining_loss", "loss", "Training loss", "loss (nats)")
    return TrainingPictures(bits_picture, loss, lines)


def _ngram(key: str, scores: PredictorScores, described: PredictorScores) -> NgramRow:
    return NgramRow(
        ngram_name(key),
        direction(key).replace("_", " ") or "–",
        scores.bits_per_base,
        scores.score(ALL_MASKED_BITS),
        scores.score(MASKED_GAIN),
        described.description,
        scores.number("n_counted_bp"),
    )


def _parts(metrics: ModelMetrics) -> Parts:
    """Compare the model with the best masked baseline by part; chromosomes and repeats if there are two."""
    key, _ = best_masked(on_unseen(metrics))
    divisions = {}
    titles = {
        "by_class": "class of sequence",
        "by_repeat_class": "repeat class",
        "by_chromosome": "chromosome",
    }
    for division, title in titles.items():
        rows = part_rows(metrics, division, key)
        if len(rows) > (division != "by_class"):
            divisions[title] = rows
    return Parts(ngram_title(key), divisions)
