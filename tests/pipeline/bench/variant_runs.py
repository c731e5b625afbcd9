"""Runs of the protocol `variants` on made files."""

from pathlib import Path

from dna_bigbird.models.config import HeadConfig
from dna_bigbird.pipeline.bench.task_run import TaskRun
from dna_bigbird.suites.genomes import Genomes
from dna_bigbird.suites.registry import find_suite
from dna_bigbird.suites.suite import VariantRows
from dna_bigbird.tasks.label_config import LabelTrainConfig


def prepared(
    suite: str, data: Path, genomes: Genomes, model: Path, folder: Path
) -> tuple[TaskRun, VariantRows]:
    """Read the first task of a suite and return it with its run."""
    of_name = find_suite(suite)
    task = of_name.tasks(data)[0]
    run = TaskRun(
        of_name, task, model, folder, (0, 1, 2), "full", LabelTrainConfig(), HeadConfig(),
        threads=1, replicates=200, bootstrap_seed=0, genomes_given=tuple(genomes.fastas),
    )  # fmt: skip
    return run, of_name.read(data, task, genomes)
