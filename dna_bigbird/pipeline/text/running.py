"""Running a fine-tuned text model over the rows of a set; shared by `text evaluate` and `predict`."""

# B batch, T tokens

from collections.abc import Sequence
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import torch
from torch import nn
from tqdm import tqdm

from dna_bigbird.bundles.bundle import Bundle, load_bundle
from dna_bigbird.datasets.text.rows import TextSet
from dna_bigbird.errors import InputError, checked_settings, note
from dna_bigbird.inference.batches import batches_of, token_budget
from dna_bigbird.inference.compute import Compute
from dna_bigbird.inference.devices import choose_device, set_backend
from dna_bigbird.inference.spool import open_spool
from dna_bigbird.limits import use_threads
from dna_bigbird.models.precision import BFLOAT16, resolve_precision
from dna_bigbird.pipeline.text.set_rows import (
    check_length,
    make_rows,
    read_examples,
    rows_sha256,
    tell,
)
from dna_bigbird.tasks.text.lookup import task_from_config
from dna_bigbird.tasks.text.module import as_arrays, in_order, split_rows
from dna_bigbird.tasks.text.task import TextTask
from dna_bigbird.writing import atomic_path, check_can_write


def open_model(model: Path, changes: str) -> tuple[Bundle, TextTask]:
    """Load a fine-tuned text model and its task.

    Args:
        changes: As `changed_options`.

    Raises:
        InputError: If it is no such bundle, or an option is unknown or wrong.
    """
    bundle = load_bundle(model)
    bundle.check_text_task()
    kind = task_from_config(bundle.config)
    kind.options = changed_options(kind.options, changes)
    check_length(kind, bundle.config.encoder.max_tokens, model)
    return bundle, kind


def changed_options(options, changes: str):
    """Return settings with some of them replaced.

    Args:
        changes: 'name=value', several with commas between.

    Raises:
        InputError: If there is none of a name, or a value is wrong.

    Example:
        >>> from dna_bigbird.models.config import HeadConfig
        >>> changed_options(HeadConfig(), "centre_tokens=7,dropout=0")
        HeadConfig(pooling='cls', activation='tanh', centre_tokens=7, dropout=0.0)
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


def run_set(
    kind: TextTask,
    bundle: Bundle,
    data: Path,
    compute: Compute,
    *,
    split: str,
    gold: bool,
    output: Path,
    resume: bool,
    max_unpacked_gib: float = 0,
) -> tuple[TextSet, list]:
    """Read a set and return its rows with what `kind.decode` needs of each.

    Args:
        gold: Whether labels must be there.
        output, resume: As `outputs_of_rows`.
        max_unpacked_gib: As `read_examples`.
    """
    check_can_write(output, folder=True)
    use_threads(compute.threads)
    made = make_rows(
        kind,
        *read_examples(kind, data, split, gold=gold, max_unpacked_gib=max_unpacked_gib),
        bundle.tokenizer,
        data,
        training=False,
        max_tokens=bundle.config.encoder.max_tokens,
    )
    tell(split, made)
    return made, outputs_of_rows(kind, bundle, made, compute, output=output, resume=resume)


def outputs_of_rows(
    kind: TextTask, bundle: Bundle, made: TextSet, compute: Compute, *, output: Path, resume: bool
) -> list:
    """Return what `kind.decode` needs of every row; finished rows survive an interruption.

    Args:
        output: What the run is for; the finished rows stand beside it until all are there.
        resume: Go on with those of an interrupted run, if there are any.

    Raises:
        InputError: If the rows of the interrupted run are of other settings or inputs.
        Interrupted: On Ctrl-C or SIGTERM, with a line that tells how to go on.
    """
    device = choose_device(compute.device)
    if slow := set_backend(bundle, compute.backend, device):
        note(slow)
    precision = resolve_precision(compute.precision, device.type)
    model = bundle.model.to(device).eval()
    config = bundle.config.encoder
    identity = {
        "model": bundle.config.sha256,
        "options": {f.name: getattr(kind.options, f.name) for f in fields(kind.options)},
        "rows": rows_sha256(made),
        "precision": precision,
    }
    found: list = []
    with open_spool(output, identity, resume, unit="rows") as spool:
        for frame in spool.frames():
            numbers = frame.pop("row").tolist()
            found += split_rows(frame, numbers)
        done = {number for number, _ in found}
        left = [i for i in range(len(made.rows)) if i not in done]
        batches = batches_of(
            [len(made.rows[i].token_ids) for i in left],
            tokens=token_budget(config, device),
            batch_size=compute.batch_size,
            same_blocks=config.block_size if config.keeps_published_padding else 0,
        )
        with tqdm(total=len(made.rows), initial=len(done), unit=" rows", disable=None) as bar:
            for places in batches:
                numbers = [left[i] for i in places]
                outputs = _forward(
                    kind, model, [(i, made.rows[i]) for i in numbers], device, precision
                )
                columns = as_arrays(outputs)
                spool.append({"row": np.array(numbers), **columns})
                found += split_rows(columns, numbers)
                bar.update(len(numbers))
        return in_order(found, len(made.rows))


def write_files(folder: Path, files: dict[str, bytes]) -> None:
    """Write files into a folder, each whole or not at all; what else is in it stays.

    Raises:
        OutputError: If one cannot be written.
    """
    for name, content in files.items():
        with atomic_path(folder / name) as partial:
            partial.write_bytes(content)


def _forward(
    kind: TextTask, model: nn.Module, rows: Sequence[tuple], device: torch.device, precision: str
) -> dict:
    batch = kind.collate(rows)
    batch = type(batch)(*(field.to(device) for field in batch))
    autocast = torch.autocast(device.type, torch.bfloat16, enabled=precision == BFLOAT16)
    try:
        with torch.inference_mode(), autocast:
            return kind.predict_outputs(model, batch)
    except torch.OutOfMemoryError:
        raise InputError(
            f"a batch of {len(rows)} rows of {batch.token_ids_BT.shape[1]} tokens does not fit into "
            f"the memory of {device}; use a smaller --batch_size, or --device cpu"
        ) from None
