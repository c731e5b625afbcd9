"""`dna-bigbird text evaluate`."""

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from dna_bigbird.core.choices import checked
from dna_bigbird.core.dataframes import DataFrame
from dna_bigbird.core.paths import FolderOutput, InputPath
from dna_bigbird.core.results import Rows
from dna_bigbird.core.settings import Positive
from dna_bigbird.core.shared_options import BootstrapSeed, SetPart, TaskData, TaskModel
from dna_bigbird.text.set_options import SetOptions


@dataclass(frozen=True)
class EvaluatedText(Rows):
    """Scores of a text model."""

    output: Path
    files: tuple[str, ...]
    """Names of the official files of predictions in `output`."""
    metrics: Mapping[str, object]
    """Contents of metrics.json."""

    def to_dataframe(self) -> DataFrame:
        """Return a row per score of the model and of each baseline: source, score, value, low, high, n."""
        from dna_bigbird.bundles.metrics import Metrics

        return Metrics.from_json(self.metrics).to_dataframe()

    def summary(self) -> str:
        """Return the scores of the model and of its baselines, one line each."""
        return "\n".join(f"{self.output}: {line}" for line in score_lines(self.metrics))


@checked()
def evaluate(
    model: TaskModel,
    data: TaskData,
    output: FolderOutput,
    split: SetPart = "validation",
    train: InputPath | None = None,
    seed: BootstrapSeed = 0,
    replicates: Positive = 1000,
    **options: Annotated[Any, SetOptions],
) -> EvaluatedText:
    """Score a fine-tuned text model with the official metric of its set, next to trivial baselines.

    Writes metrics.json (scores with 95 % bootstrap intervals over examples, gains over baselines on
    the same draws, counts of what was left out) and the predictions in the official format.

    Args:
        output: Result to write: a folder.
        train: Training data: for baselines that learn, and to count the scored examples that are
            training examples (n_in_training); without it both are left out.
        replicates: Bootstrap draws: of the examples, for each interval.

    Examples:
        dna-bigbird text evaluate --model models/imdb --data aclImdb_v1.tar.gz --split test --output scores
    """
    settings = SetOptions(**options)
    from dna_bigbird.core.unpacking import unpacked_limit
    from dna_bigbird.core.writing import json_text
    from dna_bigbird.text.set_outputs import evaluation, open_model, run_set, write_files
    from dna_bigbird.text.set_source import read_examples

    output = Path(output)
    bundle, task = open_model(Path(model), settings.change)
    with contextlib.ExitStack() as stack:
        stack.enter_context(unpacked_limit(settings.max_unpacked_gib))
        train_examples = None
        if train is not None:
            train_examples, _ = read_examples(task, Path(train), "train")
        ran = run_set(task, bundle, Path(data), split, settings, gold=True, output=output)
        rows, outputs = stack.enter_context(ran)
        predictions = task.decode(rows, outputs)
        described: dict[str, Any] = {"split": split, "training_seed": bundle.config.seed}
        described |= {"step": bundle.metrics.step, "initial_weights": bundle.config.initial_weights}
        metrics = evaluation(
            task,
            rows,
            predictions,
            train_examples,
            seed=seed,
            replicates=replicates,
            described=described,
        )
        files = task.submission(rows.examples, predictions)
    write_files(output, {**files, "metrics.json": json_text(metrics).encode()})
    return EvaluatedText(output, tuple(files), metrics)


def score_lines(metrics: Mapping) -> list[str]:
    """Return the scores of the model and of its baselines in words, one line each."""
    names = [name for name in metrics if f"{name}_low" in metrics and "_gain_over_" not in name]
    tables = {"model": metrics, **metrics["baselines"]}
    return [
        f"{source}: " + ", ".join(f"{name} {_in_words(table, name)}" for name in names)
        for source, table in tables.items()
    ]


def _in_words(table: Mapping, name: str) -> str:
    if table.get(name) is None:
        return "-"
    return f"{table[name]} ({table[f'{name}_low']}-{table[f'{name}_high']})"
