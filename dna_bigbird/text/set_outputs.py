"""Outputs of a fine-tuned text model for the rows of a set; shared by `text evaluate` and `predict`."""

import contextlib
from collections.abc import Iterator
from dataclasses import asdict, fields, replace
from pathlib import Path

from dna_bigbird.bundles.bundle import Bundle, load_bundle
from dna_bigbird.core.errors import InputError, checked_settings, note
from dna_bigbird.core.limits import use_threads
from dna_bigbird.core.writing import atomic_path
from dna_bigbird.prediction.compute import Compute
from dna_bigbird.prediction.engine import Engine, set_up
from dna_bigbird.prediction.partial_results import Outputs, as_arrays, resumable_outputs
from dna_bigbird.text.data.row_store import StoredSet
from dna_bigbird.text.data.rows import row_lengths
from dna_bigbird.text.set_options import SetOptions
from dna_bigbird.text.set_source import SetSource, check_length, report_size
from dna_bigbird.text.stored_sets import stored_set
from dna_bigbird.text.tasks.lookup import task_from_config
from dna_bigbird.text.tasks.task import TextTask

# A fine-tuned text model, and its task with other options than in training.


def open_model(model: Path, changes: str) -> tuple[Bundle, TextTask]:
    """Load a fine-tuned text model and its task.

    Args:
        changes: As `changed_options`.

    Raises:
        InputError: If it is no such bundle, or an option is unknown or wrong.
    """
    bundle = load_bundle(model)
    bundle.check_text_task()
    task = task_from_config(bundle.config)
    task.options = changed_options(task.options, changes)
    check_length(task, bundle.config.encoder.max_tokens, model)
    return bundle, task


def changed_options(options, changes: str):
    """Return settings with some of them replaced.

    Args:
        changes: 'name=value', several with commas between.

    Raises:
        InputError: If there is none of a name, or a value is wrong.

    Example:
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
    """Read a set and yield its rows with what `task.decode` needs of each.

    The rows are in a hidden file next to the output, which is removed at the end of the block; an interrupted
    run leaves it for the next one.

    Args:
        gold: Whether labels must be there.
        output: Folder of the results.
    """
    use_threads(settings.threads)
    source = SetSource(
        task,
        bundle.tokenizer,
        data,
        split,
        bundle.config.encoder.max_tokens,
        gold=gold,
        max_unpacked_gib=settings.max_unpacked_gib,
    )
    store = output.with_name(f".{output.name}.rows.h5")
    try:
        rows = stored_set(store, source, settings.threads)
        report_size(split, rows)
        yield (
            rows,
            outputs_of(
                task, bundle, rows, settings.compute(), output=output, resume=settings.resume
            ),
        )
    except Exception:
        store.unlink(missing_ok=True)
        raise
    store.unlink()


def outputs_of(
    task: TextTask, bundle: Bundle, rows: StoredSet, compute: Compute, *, output: Path, resume: bool
) -> list[Outputs]:
    """Return what `task.decode` needs of every row; finished rows survive an interruption.

    Args:
        output, resume: As `resumable_outputs`.
    """
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
    """Write files into a folder, each whole or not at all; what else is in it stays.

    Raises:
        OutputError: If one cannot be written.
    """
    for name, content in files.items():
        with atomic_path(folder / name) as partial:
            partial.write_bytes(content)
