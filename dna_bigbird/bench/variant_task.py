"""The protocol `variants` of bench: rank positives above negatives, without training and by a probe."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from dna_bigbird.bench.leak_free import leak_free_windows
from dna_bigbird.bench.parts import ArrayParts
from dna_bigbird.bench.suites.suite import VariantRow, VariantRows
from dna_bigbird.bench.task_scores import TaskRun, number_of
from dna_bigbird.bench.variant_model import VariantModel, window_of, with_fresh_weights
from dna_bigbird.bench.variant_sources import VariantSource, variant_sources
from dna_bigbird.bundles.bundle import load_bundle
from dna_bigbird.genome import Genome, Interval
from dna_bigbird.metrics.bootstrap import Draws
from dna_bigbird.metrics.task_results import (
    LEAK_FREE,
    MODEL,
    PUBLISHED,
    Score,
    SourceResult,
    TaskResult,
)
from dna_bigbird.metrics.variant_scores import (
    AUPRC,
    BY_CHROMOSOME,
    VARIANT_METRICS,
    Measured,
    centred_interval,
    chance_auprc,
    measure_variants,
    rows_by_chromosome,
)
from dna_bigbird.prediction.compute import Compute, exact
from dna_bigbird.prediction.partial_results import file_identity

BLOCK_BP = 5000
"""Bases of the genome whose variants are drawn together, for variants without a group."""

Subsets = Mapping[str, tuple[NDArray[np.int64], Draws]]
"""Rows of a subset of the variants, and the draws of these."""
MeasuredSource = dict[str, list[Mapping[str, Measured]]]
"""By subset the scores of each seed."""


def subsets_of(run: TaskRun, rows: Sequence[VariantRow], is_free: NDArray[np.bool_]) -> Subsets:
    """Return both subsets; the members of a matched group are drawn together."""
    units = np.array([row.group or f"{row.chrom}:{(row.pos - 1) // BLOCK_BP}" for row in rows])
    subsets = {}
    for name, chosen in ((PUBLISHED, np.arange(len(rows))), (LEAK_FREE, np.flatnonzero(is_free))):
        subsets[name] = chosen, run.draw(units[chosen])
    return subsets


def measure_source(
    source: VariantSource, rows: Sequence[VariantRow], subsets: Subsets
) -> MeasuredSource:
    """Return the scores of a source on each subset, for each seed."""
    labels, chromosomes = np.array([row.label for row in rows], dtype=int), chromosomes_of(rows)
    return {
        name: [
            measure_variants(labels[chosen], scores[chosen], chromosomes[chosen], draws)
            for scores in source.scores
        ]
        for name, (chosen, draws) in subsets.items()
        if len(chosen)
    }


def source_result(
    source: VariantSource, measured: Mapping[str, MeasuredSource], metric: str
) -> SourceResult:
    """Return the scores of a source with their intervals, and what the model scores above it."""
    own, model = measured[source.name], measured[MODEL]
    minus = {}
    if source.name != MODEL:
        for subset, by_seed in own.items():
            reference = model[subset][0][metric]
            minus[subset] = _score(
                [reference.value - seed[metric].value for seed in by_seed],
                [reference.drawn - seed[metric].drawn for seed in by_seed],
                least=-1.0,
            )
    scores = {
        subset: {
            name: _score([x[name].value for x in by_seed], [x[name].drawn for x in by_seed])
            for name in VARIANT_METRICS
        }
        for subset, by_seed in own.items()
    }
    name, description, strands = source.name, source.description, _strands(source)
    return SourceResult(name, description, scores, minus, strands, is_trained=source.is_trained)


def _score(values: Sequence[float], drawn: Sequence[NDArray], least: float = 0.0) -> Score:
    """Return the mean over seeds, its interval over draws of every seed, and the seeds."""
    mean = float(np.mean(values))
    # The draws of each seed are centred on its own value, so that the interval has the spread of the seeds.
    centred = [_centred(each, value) for value, each in zip(values, drawn, strict=True)]
    low, high = centred_interval(mean, np.concatenate(centred), least=least, most=1.0)
    several = len(values) > 1
    return Score(
        number_of(mean),
        number_of(low),
        number_of(high),
        number_of(float(np.std(values, ddof=1))) if several else None,
        tuple(map(number_of, values)) if several else (),
    )


def _centred(drawn: NDArray, value: float) -> NDArray[np.float64]:
    defined = drawn[np.isfinite(drawn)]
    return drawn - defined.mean() + value if len(defined) else drawn


def _strands(source: VariantSource) -> dict[str, float | None]:
    """Return the correlation of both strands' scores; ranked variants have no class that could flip."""
    if source.strands is None or source.strands.shape[1] < 2:
        return {}
    if np.ptp(source.strands, axis=0).min() == 0:
        return {"flip_rate": None, "correlation": None}
    correlation = np.corrcoef(source.strands[:, 0], source.strands[:, 1])[0, 1]
    return {"flip_rate": None, "correlation": number_of(float(correlation))}


def scores_by_chromosome(
    run: TaskRun, rows: Sequence[VariantRow], subsets: Subsets, model: VariantSource
) -> dict[str, dict[str, Score]]:
    """Return the model's metric on each chromosome: average precision, or that of the task."""
    metric = AUPRC if run.task.metric == BY_CHROMOSOME else run.task.metric
    labels, groups = np.array([row.label for row in rows], dtype=int), {}
    for chromosome, here in rows_by_chromosome(chromosomes_of(rows)).items():
        groups[chromosome] = {}
        for name, (chosen, draws) in subsets.items():
            inside = np.flatnonzero(np.isin(chosen, here))
            if len(inside):
                some = chosen[inside]
                part = Draws(draws.units[inside], draws.times)
                scores = measure_variants(labels[some], model.scores[0][some], some * 0, part)
                groups[chromosome][name] = _score([scores[metric].value], [scores[metric].drawn])
    return groups


def chromosomes_of(rows: Sequence[VariantRow]) -> NDArray[np.str_]:
    """Return the name of each variant's chromosome, (N,)."""
    return np.array([row.chromosome or row.chrom for row in rows])


def run_variants(run: TaskRun, data: VariantRows) -> TaskResult:
    """Score the variants of a task by a model, by a probe and by trivial sources."""
    bundle = load_bundle(run.model)
    window_bp = window_of(bundle, data.window_bp)
    model, untrained = (
        VariantModel(
            each,
            Genome(data.genome),
            window_bp,
            both_strands=data.both_strands,
            compute=exact(Compute(threads=run.choice.threads)),
        )
        for each in (bundle, with_fresh_weights(bundle))
    )
    identity = {
        "window_bp": window_bp,
        "both_strands": data.both_strands,
        "genome": file_identity(data.genome),
    }
    parts = ArrayParts(run.folder, run.checksums | identity)
    sources, notes = variant_sources(
        data, bundle, model, untrained, parts, window_bp=window_bp, seeds=run.choice.seeds
    )
    tests = leak_free_windows(bundle, _windows(data.rows, window_bp), data.assembly)
    subsets = subsets_of(run, data.rows, tests.keeps)
    measured = {source.name: measure_source(source, data.rows, subsets) for source in sources}
    positives = sum(row.label for row in data.rows)
    return run.result(
        label_names=("label",),
        assembly=data.assembly,
        counts={**data.counts, "variants": len(data.rows), "positives": positives},
        n={name: len(rows) for name, (rows, _) in subsets.items()},
        leaks=tests.counts,
        sources=[source_result(source, measured, run.task.metric) for source in sources],
        seeds=run.choice.seeds,
        settings=_settings(run, data, window_bp),
        notes=[*notes, *tests.notes],
        groups=scores_by_chromosome(run, data.rows, subsets, sources[0]),
    )


def _settings(run: TaskRun, data: VariantRows, window_bp: int) -> dict:
    is_grouped = any(row.group for row in data.rows)
    return {
        "method": "zero-shot and probe",
        "zero_shot": data.zero_shot,
        "window_bp": window_bp,
        "both_strands": data.both_strands,
        "blocks": "matched groups" if is_grouped else "bases of the genome",
        "block_bp": None if is_grouped else BLOCK_BP,
        "chance": _chance(data.rows),
    }


def _windows(rows: Sequence[VariantRow], window_bp: int) -> list[Interval]:
    starts = [(row.chrom, row.pos - 1 - window_bp // 2) for row in rows]
    return [Interval(chrom, start, start + window_bp) for chrom, start in starts]


def _chance(rows: Sequence[VariantRow]) -> dict[str, float | None]:
    """Return what a random order is expected to score."""
    labels = np.array([row.label for row in rows], dtype=int)
    values = (chance_auprc(labels, chromosomes_of(rows)), chance_auprc(labels), 0.5)
    return dict(zip(VARIANT_METRICS, map(number_of, values), strict=True))
