"""Runs of one benchmark task, for tests that call the runner of its protocol."""

from pathlib import Path

from dna_bigbird.bench.suites import tata
from dna_bigbird.bench.suites.suite import Suite, Task
from dna_bigbird.bench.task_scores import TaskRun, TrainingChoice
from dna_bigbird.training.label_config import LabelHeadConfig, LabelTrainConfig

PAIR_TASK = Task("toy", "accuracy", "Which is higher?", protocol="pairs")


def toy_run(
    model: Path, folder: Path, *, suite: Suite = tata.SUITE, task: Task = PAIR_TASK, **options
) -> TaskRun:
    """Return a run with the settings of three seeds and few draws, or others."""
    settings = {
        "seeds": (0, 1, 2), "method": "full", "training": LabelTrainConfig(), "head": LabelHeadConfig(),
        "threads": 1, "replicates": 200, "bootstrap_seed": 0,
    }  # fmt: skip
    return TaskRun(suite, task, model, folder, TrainingChoice(**settings | options))
