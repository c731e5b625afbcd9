"""Outputs of a fine-tuned text model for the rows of a set; shared by `text evaluate` and `predict`."""

import contextlib
import math
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dna_bigbird.bundles.bundle import Bundle, load_bundle
from dna_bigbird.core.errors import InputError, checked_settings, note
from dna_bigbird.core.limits import use_threads
from dna_bigbird.core.rounding import rounded
from dna_bigbird.core.writing import atomic_path
from dna_bigbird.metrics.bootstrap import Draws, bootstrap_intervals, draw_units
from dna_bigbird.prediction.compute import Compute
from dna_bigbird.prediction.engine import Engine, set_up
from dna_bigbird.prediction.partial_results import Outputs, as_arrays, resumable_outputs
from dna_bigbird.text.data.row_store import StoredSet
from dna_bigbird.text.data.rows import TextSet, row_lengths
from dna_bigbird.text.set_options import SetOptions
from dna_bigbird.text.set_source import (
    SetSource,
    check_length,
    count_metrics,
    count_shared,
    report_size,
)
from dna_bigbird.text.stored_sets import stored_set
from dna_bigbird.text.tasks.task import TextTask, task_from_config


@dataclass(frozen=True)
class TextScores:
    """Official metrics of one source of predictions."""

    values: dict[str, float]
    drawn: dict[str, NDArray[np.float64]]
    """The same under every bootstrap draw."""
    draws: Draws

    def metrics(self) -> dict[str, float]:
        """Return every metric with `_low` and `_high`, the 95 % interval."""
        return _with_intervals(self.values, self.drawn, self.draws)

    def gains(
        self, other: "TextScores", name: str, no_scores: Collection[str] = ()
    ) -> dict[str, float]:
        """Return by how much every metric exceeds that of another source, on the same draws."""
        shared = [key for key in self.values if key in other.values and key not in no_scores]
        return _with_intervals(
            {f"{key}_gain_over_{name}": self.values[key] - other.values[key] for key in shared},
            {f"{key}_gain_over_{name}": self.drawn[key] - other.drawn[key] for key in shared},
            self.draws,
        )


def evaluation(
    task: TextTask,
    rows: TextSet,
    predictions: Sequence,
    train_examples: Iterable | None,
    *,
    seed: int,
    replicates: int,
    described: dict,
) -> dict:
    """Return the contents of metrics.json: scores, counts, gains over baselines, their scores."""
    draws = draw_units(len(rows.examples), replicates=replicates, seed=seed)

    def score(predictions: Sequence) -> TextScores:
        statistics = np.asarray(task.statistics(rows.examples, predictions), np.float64)
        values = task.summarise(statistics)
        drawn = [
            task.summarise(np.repeat(statistics, times_N, axis=0)) for times_N in draws.times.T
        ]
        by_name = {name: np.array([draw.get(name, math.nan) for draw in drawn]) for name in values}
        return TextScores(values, by_name, draws)

    own = score(predictions)
    baselines = {
        name: score(baseline)
        for name, baseline in task.baselines(train_examples, rows.examples).items()
    }
    metrics = {**own.metrics(), "n": len(rows.examples), **count_metrics(rows.counts)}
    if train_examples is not None:
        metrics["n_in_training"] = count_shared(rows.examples, train_examples)
    metrics |= {"seed": seed, **described}
    for name, other in baselines.items():
        metrics |= own.gains(other, name, task.no_scores)
    return rounded(
        metrics | {"baselines": {name: scores.metrics() for name, scores in baselines.items()}}
    )


def _with_intervals(
    values: dict[str, float], drawn: dict[str, NDArray[np.float64]], draws: Draws
) -> dict[str, float]:
    metrics = {}
    for name, value in values.items():
        low, high = map(float, bootstrap_intervals(value, drawn[name], draws)[0])
        metrics |= {name: value, f"{name}_low": low, f"{name}_high": high}
    return metrics


def open_model(model: Path, changes: str) -> tuple[Bundle, TextTask]:
    """Load a fine-tuned text model and its task."""
    bundle = load_bundle(model)
    bundle.check_text_task()
    task = task_from_config(bundle.config, changed_options(bundle.config.options, changes))
    check_length(task, bundle.config.encoder.max_tokens, model)
    return bundle, task


def changed_options(options, changes: str):
    """Return settings with some of them replaced.

    >>> from dna_bigbird.models.config import HeadConfig
    >>> changed = changed_options(HeadConfig(), "centre_tokens=7,dropout=0")
    >>> changed.pooling, changed.centre_tokens, changed.dropout
    ('cls', 7, 0.0)
    """
    values = {}
    known = {field.name: type(field.default) for field in fields(options)}
    for change in filter(None, changes.split(",")):
        name, _, text = (part.strip() for part in change.partition("="))
        if name not in known:
            raise InputError(f"--change {name}: no such option; known are {', '.join(known)}")
        try:
            values[name] = (
                {"true": True, "false": False}[text.lower()]
                if known[name] is bool
                else known[name](text)
            )
        except (KeyError, ValueError):
            raise InputError(
                f"--change {name}={text}: expected a value like {getattr(options, name)}"
            ) from None
    with checked_settings():
        return replace(options, **values)


@contextlib.contextmanager
def run_set(
    task: TextTask,
    bundle: Bundle,
    data: Path,
    split: str,
    settings: SetOptions,
    *,
    gold: bool,
    output: Path,
) -> Iterator[tuple[StoredSet, list[Outputs]]]:
    """Read a set and yield its rows with what `task.decode` needs of each."""
    # An interrupted run leaves the hidden file of rows next to the output for the next one.
    use_threads(settings.threads)
    longest, unpacked = bundle.config.encoder.max_tokens, settings.max_unpacked_gib
    form = {"gold": gold, "max_unpacked_gib": unpacked}
    source = SetSource(task, bundle.tokenizer, data, split, longest, **form)
    store = output.with_name(f".{output.name}.rows.h5")
    try:
        rows = stored_set(store, source, settings.threads)
        report_size(split, rows)
        run = {"output": output, "resume": settings.resume}
        yield rows, outputs_of(task, bundle, rows, settings.compute(), **run)
    except Exception:
        store.unlink(missing_ok=True)
        raise
    store.unlink()


def outputs_of(
    task: TextTask, bundle: Bundle, rows: StoredSet, compute: Compute, *, output: Path, resume: bool
) -> list[Outputs]:
    """Return what `task.decode` needs of every row; finished rows survive an interruption."""
    setup = set_up([bundle], compute)
    for reason in setup.slow:
        note(reason)
    engine = Engine(bundle, setup.compute, setup.device)
    identity = {
        "model": bundle.config.sha256,
        "options": asdict(task.options),
        "rows": rows.rows_sha256,
        "precision": setup.compute.precision,
    }
    return resumable_outputs(
        engine,
        row_lengths(rows.rows),
        lambda numbers: task.collate([(i, rows.rows[i]) for i in numbers]),
        lambda batch: as_arrays(task.predict_outputs(engine.model, batch)),
        output=output,
        identity=identity,
        resume=resume,
    )


def write_files(folder: Path, files: dict[str, bytes]) -> None:
    """Write files into a folder, each whole or not at all; what else is in it stays."""
    for name, content in files.items():
        with atomic_path(folder / name) as partial:
            partial.write_bytes(content)
