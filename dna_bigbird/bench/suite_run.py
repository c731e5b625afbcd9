"""Steps of `bench`: the tasks of a suite one after the other, their files, and the plan of a dry run."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from dna_bigbird.bench.suites.genomes import Genomes
from dna_bigbird.bench.suites.suite import (
    LabelledRows,
    PairRows,
    Suite,
    Task,
    TaskRows,
    VariantRows,
    find_suite,
)
from dna_bigbird.bench.task_scores import TaskRun, TrainingChoice
from dna_bigbird.bundles.bundle import load_bundle
from dna_bigbird.bundles.bundled import bundled_encoder, folder_of
from dna_bigbird.core.errors import InputError, check_named, note
from dna_bigbird.core.locks import kernel_lock
from dna_bigbird.core.writing import atomic_path, json_text
from dna_bigbird.genome.sources.assemblies import usual_assembly
from dna_bigbird.metrics.task_results import TASK_FILE, TaskResult

PARTS = "parts"
PAGE = "page"


def genomes(fastas: Mapping[str, Path], chain: Path | None, *, pieces: bool) -> Genomes:
    """Return the genomes of the options --genome, --chain and --pieces."""
    by_assembly: dict[str, Path] = {}
    for name, path in fastas.items():
        usual = usual_assembly(name)
        if usual in by_assembly:
            raise InputError(f"--genome {name}={path}: {usual} is {by_assembly[usual]} already")
        by_assembly[usual] = Path(path)
    return Genomes(by_assembly, chain, pieces)


@dataclass(frozen=True)
class SuiteRun:
    """A suite with its data, and what is to be run of it."""

    suite: Suite
    data: Path
    output: Path
    tasks: Sequence[Task]
    model: Path
    genomes: Genomes
    choice: TrainingChoice

    @classmethod
    def of(
        cls,
        name: str,
        data: Path | None,
        output: Path,
        tasks: Sequence[str],
        model: Path | None,
        own_genomes: Genomes,
        choice: TrainingChoice,
    ) -> "SuiteRun":
        """Look up the suite and its tasks."""
        suite = find_suite(name)
        if suite.needs_data:
            check_named(data=data)
        data = data or Path()
        asked = chosen(suite.tasks(data), tasks)
        own_genomes.check_chain({y for x in asked for y in (x.assembly, *x.other_assemblies) if y})
        bundle = bundled_encoder() if model is None else folder_of(model)
        return cls(suite, data, output, asked, bundle, own_genomes, choice)

    def run_of(self, task: Task) -> TaskRun:
        """Return what the runner of a task gets."""
        folder = self.output / task.name / PARTS
        return TaskRun(self.suite, task, self.model, folder, self.choice)

    def results(self) -> list[TaskResult]:
        """Run every task and write its file; those before one that fails are complete."""
        bundle = load_bundle(self.model)
        bundle.check_reads_dna()  # before rows are read
        results = []
        for number, task in enumerate(self.tasks, start=1):
            note(f"{task.name}: task {number} of {len(self.tasks)}")
            rows = self.suite.read(self.data, task, self.genomes)
            if isinstance(rows, LabelledRows):
                bundle.check_single("fine-tuning")
            folder = self.output / task.name
            busy = f"{folder}: another process runs this task now; wait for it, or give another --output"
            with kernel_lock(folder / PARTS / ".lock", busy):
                result = runner_of(rows)(self.run_of(task), rows)
                with atomic_path(folder / TASK_FILE) as path:
                    path.write_text(json_text(result.to_json()))
            results.append(result)
        return results

    def page(self) -> str:
        """Write table and page of all tasks in the output; return what is printed."""
        from dna_bigbird.bench.bench_page import read_result, write_bench

        files = [self.output / task.name / TASK_FILE for task in self.suite.tasks(self.data)]
        results = [read_result(path) for path in files if path.is_file()]
        return write_bench(results, self.output / PAGE).summary()

    def planned(self) -> str:
        """Return a table of tasks, rows and expected minutes."""
        from dna_bigbird.bench.plan import plan_text

        return plan_text(self)


def chosen(tasks: Sequence[Task], names: Sequence[str]) -> list[Task]:
    """Return the tasks that names or patterns choose; without any, those not `only_named`."""
    known = [task.name for task in tasks]
    for name in names:
        if not any(fnmatchcase(task, name) for task in known):
            raise InputError(
                f"--tasks {name}: no such task below --data; there are {', '.join(known)}"
            )
    if not names:
        return [task for task in tasks if not task.only_named]
    return [x for x in tasks if any(fnmatchcase(x.name, name) for name in names)]


def runner_of(rows: TaskRows) -> Callable[[TaskRun, TaskRows], TaskResult]:
    """Return the function that runs a task of such rows."""
    if isinstance(rows, LabelledRows):
        from dna_bigbird.bench.label_task import run_labels

        return run_labels
    if isinstance(rows, VariantRows):
        from dna_bigbird.bench.variant_task import run_variants

        return run_variants
    assert isinstance(rows, PairRows)
    from dna_bigbird.bench.pair_task import run_pairs

    return run_pairs
