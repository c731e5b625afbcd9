"""One benchmark task of labelled sequences: trainings, baselines, and scores of both subsets of its test rows."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass

import numpy as np

from dna_bigbird.baselines.kmer import length_scores
from dna_bigbird.baselines.kmer_baseline import baselines_of
from dna_bigbird.bench.leak_free import LeakFree, leak_free
from dna_bigbird.bench.suites.suite import LabelledRows
from dna_bigbird.bench.task_scores import (
    TaskRun,
    over_seeds,
    seed_difference,
    seed_score,
    strand_agreement,
    task_scores,
)
from dna_bigbird.bench.trainings import (
    CNN,
    Scored,
    TaskTraining,
    write_task_set,
)
from dna_bigbird.bundles.bundle import load_bundle
from dna_bigbird.core.errors import note
from dna_bigbird.labelled.labelled_set import LabelledSet, block_units
from dna_bigbird.metrics.bootstrap import Draws
from dna_bigbird.metrics.seed_means import SeedScores
from dna_bigbird.metrics.sources import trivial_scores
from dna_bigbird.metrics.task_results import (
    LEAK_FREE,
    MODEL,
    PUBLISHED,
    RANDOM_WEIGHTS,
    SourceResult,
    TaskResult,
)
from dna_bigbird.models.label_types import MULTI_CLASS, REGRESSION

MAJORITY, LENGTH = "majority", "length"
UNTRAINED = {
    MAJORITY: "the shares of the training labels, for every row",
    LENGTH: "the shares of the training labels among rows of the same or the nearest length",
}
"""Sources that follow from the labels and lengths of the training rows."""


@dataclass(frozen=True)
class Subset:
    """Some test rows, and how the bootstrap draws them."""

    rows: np.ndarray
    """(n,), positions among the test rows."""
    draws: Draws
    block_bp: int


def run_labels(run: TaskRun, rows: LabelledRows) -> TaskResult:
    """Train and score everything of one task; parts that were finished before are read again."""
    bundle = load_bundle(run.model)
    bundle.check_reads_dna()
    labelled = write_task_set(run.folder / "set.h5", run.suite, run.task, rows)
    tests = leak_free(labelled, bundle)
    training = TaskTraining(run, labelled)
    scored: dict[str, list[Scored]] = {}
    for name, seed in _parts(run, labelled):
        result, is_there = training.scored(name, seed)
        scored.setdefault(name, []).append(result)
        note(f"{run.task.name}: {name} seed {seed} {'read again' if is_there else 'done'}")
    return _result(run, rows, labelled, tests, scored)


def _parts(run: TaskRun, labelled: LabelledSet) -> Iterator[tuple[str, int]]:
    """Yield what is trained, the cheap baselines first."""
    for name in baselines_of(labelled):
        yield name, run.choice.bootstrap_seed
    for name in (CNN, MODEL, RANDOM_WEIGHTS):
        for seed in run.choice.seeds:
            yield name, seed


def _result(
    run: TaskRun,
    rows: LabelledRows,
    labelled: LabelledSet,
    tests: LeakFree,
    scored: Mapping[str, list[Scored]],
) -> TaskResult:
    rows_of = {PUBLISHED: np.arange(len(tests.test)), LEAK_FREE: np.flatnonzero(tests.keeps)}
    subsets = {
        name: _subset(run, labelled, tests, chosen)
        for name, chosen in rows_of.items()
        if len(chosen)
    }
    values = {name: [each.values for each in parts] for name, parts in scored.items()}
    values |= {name: [scores] for name, scores in _untrained(labelled, tests.test).items()}
    truth = labelled.labels_of(tests.test)

    def scores(x: Subset, trainings: list[np.ndarray]) -> SeedScores:
        label_type, labels = labelled.label_type, truth[x.rows]
        each = [task_scores(label_type, labels, values[x.rows], x.draws) for values in trainings]
        return over_seeds(each, x.draws)

    joined = {
        name: {key: scores(subset, trainings) for key, subset in subsets.items()}
        for name, trainings in values.items()
    }
    described = UNTRAINED | {name: parts[0].description for name, parts in scored.items()}
    sources = []
    for name in (MODEL, RANDOM_WEIGHTS, CNN, *baselines_of(labelled), LENGTH, MAJORITY):
        if name in joined:
            strands = _strands(labelled.label_type, scored.get(name, []))
            sources.append(_source(run.task.metric, name, described[name], joined, strands))
    return run.result(
        label_names=labelled.label_names,
        assembly=rows.assembly,
        counts=labelled.counts,
        n={name: len(chosen) for name, chosen in rows_of.items()},
        leaks=tests.counts,
        sources=sources,
        seeds=run.choice.seeds,
        settings=_settings(run, subsets),
        notes=[*tests.notes, *_notes(labelled, tests)],
    )


def _subset(run: TaskRun, labelled: LabelledSet, tests: LeakFree, positions: np.ndarray) -> Subset:
    units, block_bp = block_units(labelled, tests.test[positions])
    return Subset(positions, run.draw(units), block_bp)


def _untrained(labelled: LabelledSet, test: np.ndarray) -> dict[str, np.ndarray]:
    """Return the scores of `UNTRAINED`; without the length if all sequences have one."""
    train = labelled.rows("train")
    labels = labelled.labels_of(train)
    scores = {MAJORITY: trivial_scores(labels, len(test))}
    if not labelled.has_one_length:
        lengths = labelled.intervals.end - labelled.intervals.start
        scores[LENGTH] = length_scores(lengths[train], labels, lengths[test])
    return scores


def _source(
    metric: str,
    name: str,
    description: str,
    joined: Mapping[str, Mapping[str, SeedScores]],
    strands: Mapping[str, float | None],
) -> SourceResult:
    own = joined[name]
    minus = {
        key: seed_difference(joined[MODEL][key], scores, metric)
        for key, scores in own.items()
        if name != MODEL
    }
    scores = {key: {name: seed_score(x, name) for name in x.values} for key, x in own.items()}
    is_trained = name not in UNTRAINED
    return SourceResult(name, description, scores, minus, strands, is_trained=is_trained)


def _strands(label_type: str, trainings: list[Scored]) -> dict[str, float | None]:
    """Return how far the two strands agree, mean over trainings; nothing for baselines."""
    pairs = [(x.forward, x.reverse) for x in trainings if x.reverse is not None]
    agreements = [strand_agreement(label_type, *pair) for pair in pairs]
    means = {}
    for name in agreements[0] if agreements else ():
        defined = [each[name] for each in agreements if each[name] is not None]
        means[name] = round(float(np.mean(defined)), 6) if defined else None
    return means


def _settings(run: TaskRun, subsets: Mapping[str, Subset]) -> dict:
    training, head = (
        {key: value for key, value in asdict(settings).items() if value is not None}
        for settings in (run.training, run.choice.head)
    )
    return {
        "method": run.choice.method,
        "training": training,
        "head": head,
        "block_bp": {name: subset.block_bp for name, subset in subsets.items()},
    }


def _notes(labelled: LabelledSet, tests: LeakFree) -> Iterator[str]:
    if labelled.label_type != REGRESSION:
        counts = labelled.labels_of(tests.test).sum(axis=0)
        absent = [name for name, n in zip(labelled.label_names, counts, strict=True) if not n]
        if absent:
            what = "class" if labelled.label_type == MULTI_CLASS else "label"
            yield f"No test row has the {what} {', '.join(absent[:5])}; scores that need it are not defined."
