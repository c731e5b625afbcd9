"""Outputs of a fine-tuned text model for the rows of a set; shared by `text evaluate` and `predict`."""

from dataclasses import asdict
from pathlib import Path

from dna_bigbird.bundles.bundle import Bundle
from dna_bigbird.datasets.text.row_outputs import Outputs, as_arrays
from dna_bigbird.datasets.text.rows import TextSet
from dna_bigbird.errors import note
from dna_bigbird.inference.compute import Compute
from dna_bigbird.inference.engine import Engine, set_up
from dna_bigbird.inference.spool import resumable_outputs
from dna_bigbird.limits import use_threads
from dna_bigbird.pipeline.text.set_options import SetOptions
from dna_bigbird.pipeline.text.set_rows import make_rows, read_examples, report_size, rows_sha256
from dna_bigbird.tasks.text.task import TextTask
from dna_bigbird.writing import atomic_path, check_can_write


def run_set(
    task: TextTask,
    bundle: Bundle,
    data: Path,
    split: str,
    settings: SetOptions,
    *,
    gold: bool,
    output: Path,
) -> tuple[TextSet, list[Outputs]]:
    """Read a set and return its rows with what `task.decode` needs of each.

    Args:
        gold: Whether labels must be there.
        output: Folder of the results.
    """
    check_can_write(output, folder=True)
    use_threads(settings.threads)
    examples, counts = read_examples(
        task, data, split, gold=gold, max_unpacked_gib=settings.max_unpacked_gib
    )
    rows = make_rows(
        task,
        examples,
        counts,
        bundle.tokenizer,
        data,
        training=False,
        max_tokens=bundle.config.encoder.max_tokens,
    )
    report_size(split, rows)
    outputs = outputs_of(
        task, bundle, rows, settings.compute(), output=output, resume=settings.resume
    )
    return rows, outputs


def outputs_of(
    task: TextTask, bundle: Bundle, rows: TextSet, compute: Compute, *, output: Path, resume: bool
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
        "rows": rows_sha256(rows),
        "precision": setup.compute.precision,
    }
    return resumable_outputs(
        engine,
        [len(row.token_ids) for row in rows.rows],
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
