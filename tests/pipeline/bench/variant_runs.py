"""Runs of the protocol `variants` on made files."""

from pathlib import Path

from dna_bigbird.bench.suites.genomes import Genomes
from dna_bigbird.bench.suites.suite import VariantRows, find_suite
from dna_bigbird.bench.task_scores import TaskRun
from tests.pipeline.bench.task_runs import toy_run


def prepared(
    suite: str, data: Path, genomes: Genomes, model: Path, folder: Path
) -> tuple[TaskRun, VariantRows]:
    """Read the first task of a suite and return it with its run."""
    of_name = find_suite(suite)
    task = of_name.tasks(data)[0]
    run = toy_run(model, folder, suite=of_name, task=task)
    return run, of_name.read(data, task, genomes)
