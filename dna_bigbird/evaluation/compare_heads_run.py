"""Steps of `compare-heads`: read the models and their sets, score them on the same bins."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dna_bigbird.bundles.choice import choose_labels
from dna_bigbird.core.errors import InputError
from dna_bigbird.core.files import sha256_of
from dna_bigbird.evaluation.compare.head_runs import HeadRun, SetFacts
from dna_bigbird.evaluation.compare.head_tables import Block, HeadComparison, set_warnings
from dna_bigbird.evaluation.compare.lm_runs import cells
from dna_bigbird.evaluation.model_results import count_leaks, read_json_object, read_model
from dna_bigbird.evaluation.rendering import sentence
from dna_bigbird.labelled.labelled_set import LabelledSet, block_units
from dna_bigbird.labelled.scores import read_scores
from dna_bigbird.metrics.bootstrap import Draws, bootstrap_intervals, draw_units
from dna_bigbird.metrics.label_areas import LabelAreas, label_areas
from dna_bigbird.metrics.scores import NO_SCORE, ModelMetrics, Score
from dna_bigbird.metrics.verdicts import outcome

# L labels, R draws


def areas_of(
    results: Path, names: Sequence[str], data: Sequence[Path], *, seed: int, replicates: int
) -> tuple[list[LabelAreas], list[str]]:
    """Return the areas of each model on the test bins that all sets have, and the label names."""
    sets = [LabelledSet(path) for path in data]
    for path, other in zip(data, sets, strict=True):
        if other.label_names != sets[0].label_names or other.bin_starts is None:
            raise InputError(
                f"{path}: its labels are not those of {data[0]}; only windows may differ"
            )
    row_of = [bins_of(x) for x in sets]
    common = sorted(set.intersection(*(set(x) for x in row_of)))
    if not common:
        raise InputError(f"{data[0]}: no test bin that all {len(data)} sets have")
    rows = [np.array([row_of_bin[bin_] for bin_ in common]) for row_of_bin in row_of]
    labels = sets[0].labels_of(rows[0])
    for path, other, here in zip(data, sets, rows, strict=True):
        if not np.array_equal(other.labels_of(here), labels, equal_nan=True):
            raise InputError(f"{path}: labels of the same bins are not those of {data[0]}")
    widest = max(range(len(sets)), key=lambda i: sets[i].window_bp)
    units, _ = block_units(sets[widest], rows[widest])
    draws = draw_units(len(common), replicates=replicates, seed=seed, units=units)
    files = [results / "evaluation" / name / "scores.h5" for name in names]
    areas = [
        label_areas(labels, read_scores(path).of(here), draws)
        for path, here in zip(files, rows, strict=True)
    ]
    return areas, sets[0].label_names


def bins_of(labelled: LabelledSet) -> dict[tuple[str, int], int]:
    """Return the row of every test bin by chromosome and first base."""
    rows = labelled.rows("test")
    starts = labelled.bin_starts[rows]
    return {
        (labelled.interval(int(row)).chrom, int(start)): int(row)
        for row, start in zip(rows, starts, strict=True)
    }


def context_table(
    runs: Sequence[HeadRun], areas: Sequence[LabelAreas], label_sets: Mapping[str, Sequence[int]]
) -> HeadComparison:
    """Compare models of different windows; `label_sets`: columns to average, by a short name."""
    sets = {name: np.asarray(columns) for name, columns in label_sets.items() if len(columns)}
    rows, notes, first = [], [], areas[0]
    for run, own in zip(runs, areas, strict=True):
        row: dict = {"predictor": run.name, "source": "this run", "window_bp": run.facts.window_bp}
        for name, columns in sets.items():
            row |= cells(f"auroc_{name}", _mean(own.point[0], own.drawn[0], columns, own.draws))
            gain = NO_SCORE
            if run is not runs[0]:
                point, drawn = own.point[0] - first.point[0], own.drawn[0] - first.drawn[0]
                gain = _mean(point, drawn, columns, own.draws)
                names = (run.name, runs[0].name, name, len(columns))
                notes.append(sentence("notes.gain_over_first", *names, gain, outcome(gain)))
            row |= cells(f"gain_{name}", gain)
        row |= {"n": own.n, "n_positive": int(own.positives.sum())}
        row |= {"split": run.facts.split, "seed": run.metrics.seed}
        rows.append(row | {"protocol": run.described})
    scores = tuple(f"{column}_{name}" for name in sets for column in ("auroc", "gain"))
    heading = f"{first.n:,} bins that all sets have; test {runs[0].facts.split}"
    block = Block(
        "By window",
        sentence("notes.common_bins"),
        ((heading, tuple(rows)),),
        {heading: [*notes, *set_warnings(runs)]},
    )
    return HeadComparison("Context", scores, scores, (block,))


def _mean(point_L: NDArray, drawn_LR: NDArray, columns: NDArray, draws: Draws) -> Score:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # no label is defined: NaN is the answer
        value = np.nanmean(point_L[columns])
        drawn_R = np.nanmean(drawn_LR[columns], axis=0)
    return Score(float(value), *map(float, bootstrap_intervals(value, drawn_R, draws)[0]))


SEEDS = "seeds.json"
"""What compare-seeds wrote of a model with several seeds, in the folder of its evaluation."""


def read_runs(
    results: Path, names: Sequence[str], sets: Sequence[Path], table: str
) -> list[HeadRun]:
    """Read the results of each model and the facts of its set; refuse models of another task."""
    runs = [read_run(results, name, path) for name, path in zip(names, sets, strict=True)]
    task = "promoter" if table == "table6" else "chromatin"
    for run in runs:
        if table == "context" and run.seeds:
            raise InputError(
                f"--runs {run.name}: trainings with several seeds; expected a single model for context"
            )
        if run.facts.task != task:
            raise InputError(
                f"--runs {run.name}: a {run.facts.task} model; {table} is of {task} models"
            )
    return runs


def read_run(results: Path, name: str, data: Path) -> HeadRun:
    """Read the results of one model, or the mean of its seeds, and the facts of its labelled set."""
    labelled = LabelledSet(data)
    facts = SetFacts(
        sha256=sha256_of(data),
        task=labelled.task,
        negatives=labelled.negatives,
        window_bp=labelled.window_bp,
        command=labelled.command,
        rows={split: len(labelled.rows(split)) for split in ("train", "validation", "test")},
        leaks=count_leaks(data.with_name("leakage.tsv")),
    )
    joined = results / "evaluation" / name / SEEDS
    if not joined.is_file():
        return HeadRun(read_model(results, name), facts)
    folders = sorted((results / "models" / name).glob("seed*"), key=lambda x: (len(x.name), x.name))
    if not folders:
        raise InputError(f"{results / 'models' / name}: no seed0, seed1, ... of {joined}")
    models = [read_model(results, f"{name}/{folder.name}") for folder in folders]
    metrics = ModelMetrics.from_json(read_json_object(joined, "the rule compare_seeds"))
    mean = replace(models[0], name=name, metrics=metrics, curves=(), calibration=())
    return HeadRun(mean, facts, tuple(model.config.seed for model in models))


def label_sets(names: Sequence[str], chosen: Sequence[str]) -> dict[str, list[int]]:
    """Return the columns of the chosen labels and of the others; of all if none is chosen."""
    if not chosen:
        return {"all": list(range(len(names)))}
    columns = choose_labels(names, chosen)
    others = [column for column in range(len(names)) if column not in columns]
    return {"chosen": columns, "others": others}
