"""Steps of `bench --dry_run`: rows and expected minutes of every task, nothing trained."""

from dataclasses import dataclass, replace

import numpy as np

from dna_bigbird.bundles.bundle import Bundle, load_bundle
from dna_bigbird.datasets.splits import TEST
from dna_bigbird.pipeline.bench.trainings import PROBE
from dna_bigbird.pipeline.plan_speed import Work, seconds_per_sequence
from dna_bigbird.pipeline.tables_and_pictures import table
from dna_bigbird.suites.suite import LabelledRows, PairRows, TaskRows
from dna_bigbird.tasks.label_config import recipe_for

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


def plan_text(suite_run) -> str:
    """Return the table of a `suite_run.SuiteRun`, with the sum of the minutes in its last line.

    Minutes are for the threads of this process; trainings of the model and of random weights are most of
    them. Variants and pairs are listed without.
    """
    bundle = load_bundle(suite_run.model)
    lines = []
    for task in suite_run.tasks:
        rows = suite_run.suite.read(suite_run.data, task, suite_run.genomes)
        lines.append(planned_task(suite_run.run_of(task), bundle, rows))
    total = sum(line.minutes for line in lines)
    cells = [*(line.cells() for line in lines), ("all", *[""] * 5, f"{total:.1f}")]
    return table([dict(zip(COLUMNS, row, strict=True)) for row in cells])


def planned_task(run, bundle: Bundle, rows: TaskRows) -> PlannedTask:
    """Return what one task takes.

    Args:
        run: A `task_run.TaskRun`.
    """
    if not isinstance(rows, LabelledRows):
        texts = [x.sequence for x in rows.rows] if isinstance(rows, PairRows) else []
        longest = max(map(len, texts), default=0)
        number = len(rows.rows)
        return PlannedTask(run.task.name, number, left_out(rows), number, longest, 0, 0.0)
    lengths = np.array([len(row.sequence) for row in rows.rows])
    is_test = rows.roles == TEST
    train = int((~is_test).sum() * VALIDATION_SHARE)
    bp_per_token = float(np.mean(bundle.tokenizer.piece_bp[bundle.tokenizer.piece_bp > 0]))
    recipe = recipe_for(bin_bp=0, bp_per_token=bp_per_token)
    training = replace(run.training, **PROBE) if run.method == "probe" else run.training
    chosen = training.for_rows(train, recipe)
    seen = chosen.max_steps * chosen.batch_size
    scored = 2 * int(is_test.sum()) + (train if run.method == "probe" else 0)
    seconds = _per_sequence(bundle, lengths, bp_per_token) * (seen + scored * SCORED_AS_TRAINED)
    minutes = 2 * len(run.seeds) * (seconds + OVERHEAD_S) / 60
    longest = int(lengths.max(initial=0))
    counts = (len(rows.rows), left_out(rows), int(is_test.sum()), longest, chosen.max_steps)
    return PlannedTask(run.task.name, *counts, minutes)


def left_out(rows: TaskRows) -> int:
    """Return how many rows of a suite its reader left out."""
    return sum(n for name, n in rows.counts.items() if name.startswith("left_out"))


def _per_sequence(bundle: Bundle, lengths: np.ndarray, bp_per_token: float) -> float:
    encoder = bundle.config.encoder
    tokens = min(int(lengths.mean() / bp_per_token) + 2, encoder.max_tokens)
    block = encoder.block_size
    tokens = max(block, -(-tokens // block) * block)
    encoder = replace(encoder, max_tokens=max(encoder.max_tokens, tokens))
    return seconds_per_sequence(Work(encoder, tokens, batch_size=16, labels=2))
