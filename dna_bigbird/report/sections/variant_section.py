"""The section on the effects of variants and the ranking of planted ones."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator
from numpy.typing import NDArray

from dna_bigbird.core.figures.style import DARK, GREY, KMER, MODEL, add_marks, new_figure, style
from dna_bigbird.evaluation.model_results import as_float, as_int, read_json_object, read_table
from dna_bigbird.evaluation.rendering import Gallery, Picture
from dna_bigbird.metrics.scores import NO_SCORE, ModelMetrics, PredictorScores, Score
from dna_bigbird.metrics.verdicts import NamedVerdict, Verdict, compared

SOURCES = {"model": "BigBird", "kmer": "k-mer baseline", "gc": "change of GC content"}
"""By the name that their columns have in ranked.tsv."""
MORE_SOURCES = {
    "own_counts": "counts of the model alone",
    "likelihood": "masked likelihood, pretrained",
    "embedding": "distance of vectors, pretrained",
    "counts": "counting bases",
}
"""The same of sources that not every run has."""
ROWS = {
    "create": ("created site", KMER),
    "break": ("broken site", MODEL),
    "none": ("neutral", GREY),
}
DRAWN = ("model", "kmer")


def variant_figure(
    largest: dict[str, NDArray], effects: NDArray[np.str_], *, tag: str = ""
) -> Figure:
    """Draw the largest absolute change of every variant, by source (variants,), on a log axis."""
    drawn = [name for name in DRAWN if np.isfinite(largest.get(name, np.nan)).any()]
    rows = [name for name in ROWS if (effects == name).any()]
    with style():
        fig = new_figure(4.6 * len(drawn) + 0.6, 0.9 + 0.55 * len(rows), tag)
        axes = fig.subplots(1, len(drawn), sharey=True, squeeze=False)[0]
        for ax, name in zip(axes, drawn, strict=True):
            jitter = np.random.default_rng(0).uniform(-0.3, 0.3, len(effects))
            for y, row in enumerate(reversed(rows)):
                here = (effects == row) & (largest[name] > 0)
                x = largest[name][here]
                text, colour = ROWS[row]
                ax.scatter(x, y + jitter[here], s=7, color=colour, alpha=0.55, linewidths=0)
                add_marks(ax, x, y + jitter[here], text, "change of log odds {}", x)
                middle = np.median(x)
                ax.plot([middle, middle], [y - 0.38, y + 0.38], color=DARK, lw=1.6)
            ax.set_xscale("log")
            ax.xaxis.set_major_locator(LogLocator(subs=(1, 3), numticks=12))
            ax.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}"))
            ax.xaxis.set_minor_locator(NullLocator())
            ax.set(title=SOURCES[name], xlabel="largest change of log odds over all labels")
            names = [f"{ROWS[r][0]} ({(effects == r).sum()})" for r in reversed(rows)]
            ax.set_yticks(range(len(rows)), names)
            ax.grid(axis="y", visible=False)
    return fig


QUESTIONS = ("break", "break_own_label", "create", "create_own_label")
"""What is ranked above neutral variants (evaluation/variant_ranking.py)."""
MOST_ROWS = 10
COLUMNS = ("chrom", "pos", "id", "ref", "alt")
ENDING = "_log_odds"


@dataclass(frozen=True)
class Effect:
    """The largest effect of one allele."""

    variant: str
    id: str
    label: str
    log_odds: float


@dataclass(frozen=True)
class Effects:
    """The largest effects of a table of variants."""

    task: str
    effects: Sequence[Effect]
    num_alleles: int
    num_without_score: int


@dataclass(frozen=True)
class RankedQuestion:
    """How well planted variants of one sort rank above neutral ones."""

    key: str
    scores: Sequence[Score]
    """In the order of the ranking's sources."""
    num_positive: float | int | None
    num_variants: float | int | None
    best: NamedVerdict
    """The comparison with the best other source."""


@dataclass(frozen=True)
class Ranking:
    """The ranking of planted variants by one model."""

    task: str
    metrics: ModelMetrics
    sources: Sequence[str]
    questions: Sequence[RankedQuestion]
    picture: Picture


@dataclass(frozen=True)
class VariantTable:
    """One model: its ranking of planted variants, if they were planted, and its largest effects."""

    ranking: Ranking | None
    largest: Effects


def variants(folder: Path, gallery: Gallery) -> list[VariantTable]:
    """Return the tables of variants and their rankings."""
    tables = []
    for path in sorted((folder / "variants").glob("*.tsv")):
        folder_of = path.with_name(f"ranking_{path.stem}")
        ranking = _ranking(folder_of, path.stem, gallery) if folder_of.is_dir() else None
        tables.append(VariantTable(ranking, _largest_effects(path)))
    return tables


def _ranking(folder: Path, task: str, gallery: Gallery) -> Ranking:
    metrics = ModelMetrics.from_json(read_json_object(folder / "metrics.json", "rank_variants"))
    path = folder / "ranked.tsv"
    rows = read_table(path, ("effect",), "rank_variants")
    figure = variant_figure(
        {name: _column(rows, f"{name}_largest", path) for name in SOURCES},
        np.array([row["effect"] for row in rows]),
        tag=gallery.tag,
    )
    more = {name: text for name, text in MORE_SOURCES.items() if name in metrics.baselines}
    sources = SOURCES | more
    return Ranking(
        task,
        metrics,
        list(sources.values()),
        [_question(key, metrics, sources) for key in QUESTIONS],
        gallery.add(f"variants_{task}", figure, is_wide=True),
    )


def _question(key: str, metrics: ModelMetrics, sources: Mapping[str, str]) -> RankedQuestion:
    auroc, of_source = f"auroc_{key}", {"model": metrics, **metrics.baselines}
    scores = [of_source.get(name, PredictorScores()).score(auroc) for name in sources]
    counts = metrics.number(f"n_{key}_positive"), metrics.number(f"n_{key}")
    none = NamedVerdict("kmer", Verdict(metrics.score(auroc), NO_SCORE))
    best, verdict = next(iter(compared(metrics, auroc, f"n_{key}")), none)
    return RankedQuestion(key, scores, *counts, NamedVerdict(sources.get(best, best), verdict))


def _column(rows: Sequence[dict[str, str]], name: str, path: Path) -> NDArray[np.float64]:
    return np.array(
        [as_float(row.get(name) or "NA", path, line) for line, row in enumerate(rows, start=2)]
    )


def _largest_effects(path: Path) -> Effects:
    rows = read_table(path, COLUMNS, "score_variants")
    labels = [name for name in (rows[0] if rows else {}) if name.endswith(ENDING)]
    scored = []
    for line, row in enumerate(rows, start=2):
        values = [(as_float(row[name] or "NA", path, line), name) for name in labels]
        known = [(abs(value), value, name) for value, name in values if math.isfinite(value)]
        if known:
            scored.append((max(known), row))
    scored.sort(key=lambda pair: -pair[0][0])
    effects = []
    for (_, value, name), row in scored[:MOST_ROWS]:
        variant = f"{row['chrom']}:{as_int(row['pos'], path, 0):,} {row['ref']}>{row['alt']}"
        effects.append(Effect(variant, row["id"], name.removesuffix(ENDING), value))
    return Effects(path.stem, effects, len(rows), len(rows) - len(scored))
