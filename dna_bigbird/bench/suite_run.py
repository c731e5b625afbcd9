"""Steps of `bench`: the tasks of a suite one after the other, their files, and the plan of a dry run."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path

import numpy as np

from dna_bigbird.bench.suites.genomes import Genomes
from dna_bigbird.bench.suites.suite import (
    LabelledRows,
    PairRows,
    Task,
    TaskRows,
    VariantRows,
    find_suite,
)
from dna_bigbird.bench.task_scores import TaskRun, TrainingChoice
from dna_bigbird.bench.variant_model import has_likelihood, window_of
from dna_bigbird.bundles.bundle import Bundle, load_bundle
from dna_bigbird.bundles.bundled import bundled_encoder, folder_of
from dna_bigbird.core.errors import InputError, check_named, note, notes_hidden
from dna_bigbird.core.lazy_names import load
from dna_bigbird.core.locks import kernel_lock
from dna_bigbird.core.tables import Table
from dna_bigbird.core.writing import atomic_path, json_text
from dna_bigbird.evaluation.plan_speed import Work, seconds_per_sequence
from dna_bigbird.genome.sources.assemblies import usual_assembly
from dna_bigbird.labelled.splits import TEST, TRAIN, VALIDATION
from dna_bigbird.metrics.task_results import TASK_FILE, TaskResult
from dna_bigbird.models.config import EncoderConfig
from dna_bigbird.models.encoder_changes import EncoderChanges
from dna_bigbird.prediction.variants.scorers import STRIDE
from dna_bigbird.training.label_config import recipe_for

PARTS = "parts"
PAGE = "page"
RUNNERS = {
    LabelledRows: "dna_bigbird.bench.label_task:run_labels",
    VariantRows: "dna_bigbird.bench.variant_task:run_variants",
    PairRows: "dna_bigbird.bench.pair_task:run_pairs",
}
"""Functions that run tasks of such rows; each loads only its libraries."""


def genomes(fastas: Mapping[str, Path], chain: Path | None, *, pieces: bool) -> Genomes:
    """Return the genomes of the options --genome, --chain and --pieces."""
    by_assembly: dict[str, Path] = {}
    for name, path in fastas.items():
        usual = usual_assembly(name)
        if usual in by_assembly:
            raise InputError(f"--genome {name}={path}: {usual} is {by_assembly[usual]} already")
        by_assembly[usual] = Path(path)
    return Genomes(by_assembly, chain, pieces)


class SuiteRun:
    """A suite with its data, and what is to be run of it."""

    def __init__(
        self,
        name: str,
        data: Path | None,
        output: Path,
        tasks: Sequence[str],
        model: Path | None,
        own_genomes: Genomes,
        choice: TrainingChoice,
    ) -> None:
        self.suite = find_suite(name)
        if self.suite.needs_data:
            check_named(data=data)
        self.data, self.output = data or Path(), output
        self.genomes, self.choice = own_genomes, choice
        self.tasks = chosen(self.suite.tasks(self.data), tasks)
        assemblies = {y for x in self.tasks for y in (x.assembly, *x.other_assemblies) if y}
        own_genomes.check_chain(assemblies)
        self.model = bundled_encoder() if model is None else folder_of(model)

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
                result = load(RUNNERS[type(rows)])(self.run_of(task), rows)
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


# The plan of a dry run: rows and expected minutes of every task, nothing trained.

COLUMNS = ("task", "rows", "left out", "test", "longest bp", "steps", "minutes")
OVERHEAD_S = 6.0
"""Of one training: start, validations, files; a rule of thumb."""
SCORED_AS_TRAINED = 1 / 3
"""Reading a sequence takes about a third of training on it."""
VALIDATION_SHARE = 0.9
"""Of the rows that are not test rows, those to train on."""


@dataclass(frozen=True)
class PlannedTask:
    """One line of the plan."""

    name: str
    rows: int
    left_out: int
    """Rows of the suite without a sequence here."""
    test: int
    longest_bp: int
    steps: int
    minutes: float

    def cells(self) -> tuple[str, ...]:
        """Return the line's cells."""
        numbers = (self.rows, self.left_out, self.test, self.longest_bp, self.steps)
        return (self.name, *(f"{x:,}" for x in numbers), f"{self.minutes:.1f}")


def plan_text(suite_run: SuiteRun) -> str:
    """Return the table of tasks, with the sum of the minutes in its last line."""
    # Minutes are for the threads of this process, without baselines.
    bundle = load_bundle(suite_run.model)
    lines = []
    for task in suite_run.tasks:
        rows = suite_run.suite.read(suite_run.data, task, suite_run.genomes)
        lines.append(planned_task(suite_run.run_of(task), bundle, rows))
    total = sum(line.minutes for line in lines)
    cells = [*(line.cells() for line in lines), ("all", *[""] * 5, f"{total:.1f}")]
    return Table([dict(zip(COLUMNS, row, strict=True)) for row in cells]).to_text()


def planned_task(run: TaskRun, bundle: Bundle, rows: TaskRows) -> PlannedTask:
    """Return what one task takes."""
    if not isinstance(rows, LabelledRows):
        return _planned_scores(run, bundle, rows)
    lengths = np.array([len(row.sequence) for row in rows.rows])
    longest = int(lengths.max(initial=0))
    from dna_bigbird.training.encoder_source import open_source  # loads Lightning

    with notes_hidden():  # finetune notes it where the encoder grows
        source = open_source(run.model, None, EncoderChanges(), from_scratch=False)
        encoder = source.for_windows(longest).encoder
    is_test = rows.roles == TEST
    train = int((~is_test).sum() * VALIDATION_SHARE)
    if (rows.roles == VALIDATION).any():
        train = int((rows.roles == TRAIN).sum())
    recipe = recipe_for(bin_bp=0, bp_per_token=_bp_per_token(bundle))
    chosen = run.training.for_rows(train, recipe)
    seen = chosen.max_steps * chosen.batch_size
    scored = 2 * int(is_test.sum()) + (train if run.choice.method == "probe" else 0)
    seconds = _per_sequence(encoder, bundle, lengths.mean()) * (seen + scored * SCORED_AS_TRAINED)
    minutes = 2 * len(run.choice.seeds) * (seconds + OVERHEAD_S) / 60
    counts = (len(rows.rows), left_out(rows), int(is_test.sum()), longest, chosen.max_steps)
    return PlannedTask(run.task.name, *counts, minutes)


def _planned_scores(run: TaskRun, bundle: Bundle, rows: VariantRows | PairRows) -> PlannedTask:
    """Return what a task without training takes: the model, and random weights, read forms of every row."""
    predicts_bases = has_likelihood(bundle)
    if isinstance(rows, VariantRows):
        mean = longest = window_of(bundle, rows.window_bp)
        untrained = 1 if predicts_bases and rows.zero_shot.endswith("likelihood") else 2
        read = (2 + predicts_bases + untrained) * (1 + rows.both_strands)
    else:
        lengths = [len(row.sequence) for row in rows.rows]
        mean, longest = float(np.mean(lengths or [0])), max(lengths, default=0)
        forms = 2 + any(row.control for row in rows.rows)
        read = forms * (2 * STRIDE if predicts_bases else 2)  # also with random weights
    number = len(rows.rows)
    scored = number * read * SCORED_AS_TRAINED
    seconds = _per_sequence(bundle.config.encoder, bundle, mean) * scored + OVERHEAD_S
    return PlannedTask(run.task.name, number, left_out(rows), number, longest, 0, seconds / 60)


def left_out(rows: TaskRows) -> int:
    """Return how many rows of a suite its reader left out."""
    return sum(n for name, n in rows.counts.items() if name.startswith("left_out"))


def _bp_per_token(bundle: Bundle) -> float:
    piece_bp = bundle.tokenizer.piece_bp
    return float(np.mean(piece_bp[piece_bp > 0]))


def _per_sequence(encoder: EncoderConfig, bundle: Bundle, mean_bp: float) -> float:
    tokens = min(int(mean_bp / _bp_per_token(bundle)) + 2, encoder.max_tokens)
    block = encoder.block_size
    tokens = max(block, -(-tokens // block) * block)
    encoder = replace(encoder, max_tokens=max(encoder.max_tokens, tokens))
    return seconds_per_sequence(Work(encoder, tokens, batch_size=16, labels=2))
