"""Steps of `bench --dry_run`: rows and expected minutes of every task, nothing trained."""

from dataclasses import dataclass, replace

import numpy as np

from dna_bigbird.bench.suites.suite import LabelledRows, PairRows, TaskRows, VariantRows
from dna_bigbird.bench.task_scores import TaskRun
from dna_bigbird.bench.trainings import used_training
from dna_bigbird.bench.variant_model import has_likelihood, window_of
from dna_bigbird.bundles.bundle import Bundle, load_bundle
from dna_bigbird.core.errors import notes_hidden
from dna_bigbird.core.tables import Table
from dna_bigbird.evaluation.plan_speed import Work, seconds_per_sequence
from dna_bigbird.labelled.splits import TEST, TRAIN, VALIDATION
from dna_bigbird.models.config import EncoderConfig
from dna_bigbird.models.encoder_changes import EncoderChanges
from dna_bigbird.prediction.variants.scorers import STRIDE
from dna_bigbird.training.encoder_source import open_source
from dna_bigbird.training.label_config import recipe_for

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

    Minutes are for the threads of this process: of the trainings of the model and of random weights, or of what
    the model reads of variants and pairs. Baselines come on top.
    """
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
    with notes_hidden():  # finetune notes it where the encoder grows
        source = open_source(run.model, None, EncoderChanges(), from_scratch=False)
        encoder = source.for_windows(longest).encoder
    is_test = rows.roles == TEST
    train = int((~is_test).sum() * VALIDATION_SHARE)
    if (rows.roles == VALIDATION).any():
        train = int((rows.roles == TRAIN).sum())
    recipe = recipe_for(bin_bp=0, bp_per_token=_bp_per_token(bundle))
    chosen = used_training(run).for_rows(train, recipe)
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
