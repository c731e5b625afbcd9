"""The protocol `variants` of bench: rank positives above negatives, without training and by a probe."""

from collections.abc import Sequence

import numpy as np

from dna_bigbird.bench.array_parts import ArrayParts
from dna_bigbird.bench.fresh_weights import with_fresh_weights
from dna_bigbird.bench.leak_free import leak_free_windows
from dna_bigbird.bench.suites.suite import VariantRow, VariantRows
from dna_bigbird.bench.task_run import TaskRun
from dna_bigbird.bench.variant_measures import (
    BLOCK_BP,
    chromosomes_of,
    measure_source,
    number_of,
    scores_by_chromosome,
    source_result,
    subsets_of,
)
from dna_bigbird.bench.variant_model import VariantModel, window_of
from dna_bigbird.bench.variant_sources import variant_sources
from dna_bigbird.bundles.bundle import load_bundle
from dna_bigbird.genome import Genome, Interval
from dna_bigbird.metrics.task_results import TaskResult
from dna_bigbird.metrics.variant_scores import VARIANT_METRICS, chance_auprc
from dna_bigbird.prediction.compute import Compute, exact
from dna_bigbird.prediction.partial_results import file_identity


def run_variants(run: TaskRun, data: VariantRows) -> TaskResult:
    """Score the variants of a task by a model, by a probe and by trivial sources.

    All are scored on the same variants and draws. Leak-free scores leave out variants whose window shares a base
    with what the bundle has read with labels. Parts that were finished earlier are read from `run.folder`.

    Raises:
        InputError: If the bundle cannot score DNA, or a window cannot be read.
        OutputError: If a part cannot be written.
    """
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
    n = {name: len(rows) for name, (rows, _) in subsets.items()}
    return TaskResult(
        suite=run.suite.name,
        task=run.task.name,
        about=run.task.about,
        metric=run.task.metric,
        protocol=run.task.protocol,
        label_names=("label",),
        assembly=data.assembly,
        counts={**data.counts, "variants": len(data.rows), "positives": _positives(data.rows)},
        n=n,
        leaks=tests.counts,
        sources=[source_result(source, measured, run.task.metric) for source in sources],
        published=run.task.published,
        seeds=run.choice.seeds,
        settings=_settings(run, data, window_bp),
        notes=[*notes, *tests.notes],
        groups=scores_by_chromosome(run, data.rows, subsets, sources[0]),
    )


def _settings(run: TaskRun, data: VariantRows, window_bp: int) -> dict:
    is_grouped = any(row.group for row in data.rows)
    return run.settings() | {
        "method": "zero-shot and probe",
        "zero_shot": data.zero_shot,
        "window_bp": window_bp,
        "both_strands": data.both_strands,
        "blocks": "matched groups" if is_grouped else "bases of the genome",
        "block_bp": None if is_grouped else BLOCK_BP,
        "chance": _chance(data.rows),
    }


def _windows(rows: Sequence[VariantRow], window_bp: int) -> list[Interval]:
    starts = [row.pos - 1 - window_bp // 2 for row in rows]
    return [
        Interval(row.chrom, start, start + window_bp)
        for row, start in zip(rows, starts, strict=True)
    ]


def _positives(rows: Sequence[VariantRow]) -> int:
    return sum(row.label for row in rows)


def _chance(rows: Sequence[VariantRow]) -> dict[str, float | None]:
    """Return what a random order is expected to score."""
    labels = np.array([row.label for row in rows], dtype=int)
    values = (chance_auprc(labels, chromosomes_of(rows)), chance_auprc(labels), 0.5)
    return dict(zip(VARIANT_METRICS, map(number_of, values), strict=True))
