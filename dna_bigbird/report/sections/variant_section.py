"""The section on the effects of variants and the ranking of planted ones."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dna_bigbird.evaluation.pages.gallery import Gallery, Picture
from dna_bigbird.evaluation.result_files import as_float, as_int, read_json_object, read_table
from dna_bigbird.metrics.scores import ModelMetrics, PredictorScores, Score
from dna_bigbird.metrics.verdicts import Verdict
from dna_bigbird.report.figures.variant_figure import MORE_SOURCES, SOURCES, variant_figure

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
    verdict: Verdict


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
    """Return the tables of variants and their rankings.

    Args:
        folder: predictions/ of a results folder.
    """
    tables = []
    for path in sorted((folder / "variants").glob("*.tsv")):
        ranking = folder / "variants" / f"ranking_{path.stem}"
        tables.append(
            VariantTable(
                _ranking(ranking, path.stem, gallery) if ranking.is_dir() else None,
                _largest_effects(path),
            )
        )
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


def _question(key: str, metrics: ModelMetrics, sources: Iterable[str]) -> RankedQuestion:
    scores = [
        (metrics if name == "model" else metrics.baselines.get(name, PredictorScores())).score(
            f"auroc_{key}"
        )
        for name in sources
    ]
    model, kmer = metrics.score(f"auroc_{key}"), metrics.kmer.score(f"auroc_{key}")
    return RankedQuestion(
        key,
        scores,
        metrics.number(f"n_{key}_positive"),
        metrics.number(f"n_{key}"),
        Verdict(model, kmer, metrics.gain("kmer", f"auroc_{key}")),
    )


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
    effects = [
        Effect(
            f"{row['chrom']}:{as_int(row['pos'], path, 0):,} {row['ref']}>{row['alt']}",
            row["id"],
            name.removesuffix(ENDING),
            value,
        )
        for (_, value, name), row in scored[:MOST_ROWS]
    ]
    return Effects(path.stem, effects, len(rows), len(rows) - len(scored))
