"""Steps of `compare-heads`: read the models and their sets, score them on the same bins."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from dna_bigbird.bundles.choice import choose_labels
from dna_bigbird.core.errors import InputError
from dna_bigbird.core.files import sha256_of
from dna_bigbird.evaluation.common_bins import areas_on_same_bins
from dna_bigbird.evaluation.compare.context_table import context_table
from dna_bigbird.evaluation.compare.head_runs import HeadRun, SetFacts
from dna_bigbird.evaluation.compare.head_tables import TABLES
from dna_bigbird.evaluation.model_results import count_leaks, read_model
from dna_bigbird.evaluation.result_files import read_json_object
from dna_bigbird.labelled.labelled import LabelledSet
from dna_bigbird.metrics.label_areas import LabelAreas
from dna_bigbird.metrics.scores import ModelMetrics

SEEDS = "seeds.json"
"""What compare-seeds wrote of a model with several seeds, in the folder of its evaluation."""
__all__ = ["TABLES", "areas_of", "context_table", "label_sets", "read_runs"]


def read_runs(
    results: Path, names: Sequence[str], sets: Sequence[Path], table: str
) -> list[HeadRun]:
    """Read the results of each model and the facts of its labelled set.

    Raises:
        InputError: If a model has another task than the table.
    """
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


def areas_of(
    results: Path, names: Sequence[str], sets: Sequence[Path], *, seed: int, replicates: int
) -> tuple[list[LabelAreas], list[str]]:
    """Return the areas of each model on the test bins that all sets have, and the label names."""
    scores = [results / "evaluation" / name / "scores.h5" for name in names]
    return areas_on_same_bins(sets, scores, seed=seed, replicates=replicates)


def label_sets(names: Sequence[str], chosen: Sequence[str]) -> dict[str, list[int]]:
    """Return the columns of the labels that names or patterns choose, and of the others; of all if none is chosen.

    Raises:
        InputError: If a chosen name or pattern matches no label.
    """
    if not chosen:
        return {"all": list(range(len(names)))}
    columns = choose_labels(names, chosen)
    others = [column for column in range(len(names)) if column not in columns]
    return {"chosen": columns, "others": others}
