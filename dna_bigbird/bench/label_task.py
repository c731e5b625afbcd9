"""One benchmark task of labelled sequences: trainings, baselines, and scores of both subsets of its test rows."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass

import numpy as np

from dna_bigbird.baselines.kmer import length_scores
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
    GC,
    KMER,
    Scored,
    TaskTraining,
    used_training,
    write_task_set,
)
from dna_bigbird.bundles.bundle import load_bundle
from dna_bigbird.core.errors import note
from dna_bigbird.labelled.labelled_set import LabelledSet, block_units
from dna_bigbird.metrics.bootstrap import Draws, draw_units
from dna_bigbird.metrics.seed_means import SeedScores
from dna_bigbird.metrics.sources import trivial_scores
from dna_bigbird.metrics.task_results import (
    MODEL,
    PUBLISHED,
    RANDOM_WEIGHTS,
    SUBSETS,
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
    """Train and score everything of one task; parts that were finished before are read again.

    Raises:
        InputError: If the rows make no set, or the model cannot read them.
    """
    bundle = load_bundle(run.model)
    bundle.check_reads_dna()
    labelled = write_task_set(run.folder / "set.h5", run.suite, run.task, rows)
    tests = leak_free(labelled, bundle)
    training = TaskTraining(run, labelled)
    scored: dict[str, list[Scored]] = {}
    for name, seed in _parts(run):
        result, is_there = training.scored(name, seed)
        scored.setdefault(name, []).append(result)
        note(f"{run.task.name}: {name} seed {seed} {'read again' if is_there else 'done'}")
    return _result(run, rows, labelled, tests, scored)


def _parts(run: TaskRun) -> Iterator[tuple[str, int]]:
    """Yield what is trained, the cheap baselines first."""
    for name in (KMER, GC):
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
    subsets = {name: _subset(run, labelled, tests, name) for name in SUBSETS}
    subsets = {name: subset for name, subset in subsets.items() if len(subset.rows)}
    values = {name: [each.values for each in parts] for name, parts in scored.items()}
    values |= {name: [scores] for name, scores in _untrained(labelled, tests.test).items()}
    truth = labelled.labels_of(tests.test)
    joined = {
        name: {
            key: over_seeds(
                [
                    task_scores(
                        labelled.label_type, truth[subset.rows], each[subset.rows], subset.draws
                    )
                    for each in trainings
                ],
                subset.draws,
            )
            for key, subset in subsets.items()
        }
        for name, trainings in values.items()
    }
    described = UNTRAINED | {name: parts[0].description for name, parts in scored.items()}
    sources = [
        _source(
            run.task.metric,
            name,
            described[name],
            joined,
            _strands(labelled.label_type, scored.get(name, [])),
        )
        for name in (MODEL, RANDOM_WEIGHTS, CNN, KMER, GC, LENGTH, MAJORITY)
        if name in joined
    ]
    sizes = {name: len(subsets[name].rows) if name in subsets else 0 for name in SUBSETS}
    return run.result(
        label_names=labelled.label_names,
        assembly=rows.assembly,
        counts=labelled.counts,
        n=sizes,
        leaks=tests.counts,
        sources=sources,
        seeds=run.choice.seeds,
        settings=_settings(run, subsets),
        notes=[*tests.notes, *_notes(labelled, tests)],
    )


def _subset(run: TaskRun, labelled: LabelledSet, tests: LeakFree, name: str) -> Subset:
    positions = np.arange(len(tests.test)) if name == PUBLISHED else np.flatnonzero(tests.keeps)
    if not len(positions):
        return Subset(positions, draw_units(0, replicates=0, seed=0), 0)
    units, block_bp = block_units(labelled, tests.test[positions])
    draws = draw_units(
        len(positions),
        replicates=run.choice.replicates,
        seed=run.choice.bootstrap_seed,
        units=units,
    )
    return Subset(positions, draws, block_bp)


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
    return SourceResult(
        name,
        description,
        {
            key: {score: seed_score(scores, score) for score in scores.values}
            for key, scores in own.items()
        },
        minus,
        strands,
        is_trained=name not in UNTRAINED,
    )


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
        for settings in (used_training(run), run.choice.head)
    )
    return {
        "method": run.choice.method,
        "training": training,
        "head": head,
        "block_bp": {name: subset.block_bp for name, subset in subsets.items()},
    }


def _notes(labelled: LabelledSet, tests: LeakFree) -> Iterator[str]:
    if labelled.label_type != REGRESSION:
        absent = [
            name
            for name, count in zip(
                labelled.label_names, labelled.labels_of(tests.test).sum(axis=0), strict=True
            )
            if not count
        ]
        if absent:
            what = "class" if labelled.label_type == MULTI_CLASS else "label"
            yield f"No test row has the {what} {', '.join(absent[:5])}; scores that need it are not defined."
