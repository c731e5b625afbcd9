"""Resuming an interrupted run: finished rows are kept on disk until the whole file is written."""

import contextlib
import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from dna_bigbird import __version__
from dna_bigbird.core import progress, signals
from dna_bigbird.core.errors import InputError, Interrupted, OutputError, note, shortened
from dna_bigbird.core.files import sha256_of
from dna_bigbird.core.locks import kernel_lock
from dna_bigbird.core.writing import partial_path, readable_write_error
from dna_bigbird.prediction.engine import Collate, Engine
from dna_bigbird.prediction.partial_results_file import PartialResults

# Outputs of a model, row by row and in the order of the rows.

Outputs = dict[str, NDArray]
"""What the model gave for one row, or for the rows of a batch, by name."""


def as_arrays(outputs: dict[str, Tensor]) -> Outputs:
    """Return the outputs of a batch as arrays of float32 or integers."""
    return {
        name: (value.float() if value.is_floating_point() else value).detach().cpu().numpy()
        for name, value in outputs.items()
    }


def split_rows(arrays: Outputs, rows: Sequence[int]) -> list[tuple[int, Outputs]]:
    """Return the outputs of a batch row by row, with the rows' numbers."""
    # copies: a view would keep its whole batch in memory
    return [
        (number, {name: array[i].copy() for name, array in arrays.items()})
        for i, number in enumerate(rows)
    ]


def in_order(numbered: list[tuple[int, Outputs]], count: int) -> list[Outputs]:
    """Return the outputs of rows 0 … count - 1, each of which is there once."""
    by_row = dict(numbered)
    if len(numbered) != count or by_row.keys() != set(range(count)):
        raise ValueError(f"{len(numbered)} outputs of {len(by_row)} rows, expected {count}")
    return [by_row[i] for i in range(count)]


def partial_results_path(output: Path | str) -> Path:
    """Return the folder of finished rows of an unfinished output: `.scores.tsv.rows.partial`."""
    # The output itself has another temporary name: both exist at the end of a run.
    output = Path(output)
    return partial_path(output.with_name(f"{output.name}.rows"))


def file_identity(path: Path | str) -> dict:
    """Return the size in bytes and the modification time in ns, to notice that a file has changed."""
    status = os.stat(path)
    return {"size": status.st_size, "mtime_ns": status.st_mtime_ns}


def run_identity(settings: Mapping, checksums: Mapping, files: Mapping[str, Path]) -> dict:
    """Return what must be the same for an interrupted run to be continued."""
    inputs = {role: file_identity(path) for role, path in files.items()}
    return {**settings, "checksums": checksums, "inputs": inputs}


def checksums_of(
    bundles: Sequence[Path], sequences: Mapping[str, str] | None
) -> dict[str, str | list[str]]:
    """Return the sha256 of the files of bundles, and of sequences in memory."""
    checksums: dict[str, str | list[str]] = {
        role: [sha256_of(folder / name) for folder in bundles]
        for role, name in (("model", "model.safetensors"), ("model_config", "config.json"))
    }
    if sequences is None:
        return checksums
    digest = hashlib.sha256()
    for name, bases in sequences.items():
        digest.update(f">{name}\n{bases}\n".encode())
    return checksums | {"sequences": digest.hexdigest()}


@contextlib.contextmanager
def open_partial_results(
    output: Path | str, identity: dict, resume: bool, unit: str = "windows"
) -> Iterator[PartialResults]:
    """Open the finished rows of `output`; the block appends the others and writes the file."""
    # If the block succeeds the partial results are removed. Ctrl-C, SIGTERM, a failed write and
    # unforeseen errors leave them for `--resume`; bad input removes them, unless they were there
    # before. `identity` (JSON values) must be the same for a run to be continued; `unit` names the
    # rows in messages.
    output = Path(output)
    path = partial_results_path(output)
    _refuse_one_file(path, output, resume)
    identity = json.loads(json.dumps({"dna-bigbird": __version__} | identity))
    with _locked(path, output):
        stored = PartialResults(output, path)
        try:
            with signals.interrupting():
                _begin(stored, identity, resume, unit)
                yield stored
        except KeyboardInterrupt as stop:
            kept = f"after {stored.rows} {unit}; continue with --resume"
            if not stored.rows:
                shutil.rmtree(path, ignore_errors=True)
                kept = f"before the first {unit} were finished; nothing was left behind"
            raise Interrupted(f"{output}: interrupted {kept}", signals.status_of(stop)) from None
        except OutputError as error:
            if stored.rows and error.reason:
                raise OutputError(
                    f"{output}: cannot write it: {error.reason}; {stored.rows} {unit} are kept. Make "
                    f"room (df -h {output.parent}), then continue with --resume"
                ) from error
            shutil.rmtree(path, ignore_errors=True)
            raise
        except InputError:
            if not stored.resumed:
                shutil.rmtree(path, ignore_errors=True)
            raise
        shutil.rmtree(path, ignore_errors=True)


def computed_rows(
    output: Path,
    identity: dict,
    resume: bool,
    frames: Callable[[int], Iterable[Mapping[str, NDArray]]],
    write: Callable[[PartialResults], object],
    unit: str = "windows",
) -> int:
    """Compute the rows after the finished ones, whose number `frames` gets, then `write` all; return their number."""
    with open_partial_results(output, identity, resume, unit) as stored:
        for columns in frames(stored.rows):
            stored.append(columns)
        write(stored)
        return stored.rows


def first_difference(earlier: object, now: object, name: str = "") -> str:
    """Return a description of the first difference between two identities, "" if there is none."""
    if isinstance(earlier, dict) and isinstance(now, dict):
        for key in sorted(earlier.keys() | now.keys()):
            inner = f"{name}.{key}" if name else key
            if words := first_difference(earlier.get(key), now.get(key), inner):
                return words
        return ""
    if earlier == now:
        return ""
    return f"its {name} was {shortened(earlier)}, now it is {shortened(now)}"


def resumable_outputs(
    engine: Engine,
    lengths: Sequence[int],
    collate: Collate,
    forward: Callable[[NamedTuple], Outputs],
    *,
    output: Path,
    identity: dict,
    resume: bool,
) -> list[Outputs]:
    """Return the outputs of all rows, in order; finished rows survive an interruption."""
    numbered: list[tuple[int, Outputs]] = []
    with open_partial_results(output, identity, resume, unit="rows") as stored:
        for columns in stored.frames():
            numbers = columns.pop("row").tolist()
            numbered += split_rows(columns, numbers)
        done = {number for number, _ in numbered}
        left = [number for number in range(len(lengths)) if number not in done]
        with progress_bar(True, len(lengths), len(done), unit="rows") as update:
            for positions, columns in engine.run(
                [lengths[number] for number in left],
                lambda positions: collate([left[i] for i in positions]),
                forward,
            ):
                numbers = [left[i] for i in positions]
                stored.append({"row": np.array(numbers), **columns})
                numbered += split_rows(columns, numbers)
                update(len(numbers))
        return in_order(numbered, len(lengths))


@contextlib.contextmanager
def progress_bar(
    shown: bool, total: int | None, done: int = 0, unit: str = "windows"
) -> Iterator[Callable[[int], object]]:
    """Yield a function to call with the number of items finished since the last call."""
    with progress.progress_bar(
        total=total, initial=done, unit=f" {unit}", smoothing=0.05, disable=not shown
    ) as bar:
        yield bar.update


def _begin(stored: PartialResults, identity: dict, resume: bool, unit: str) -> None:
    earlier = stored.recover()
    if resume and earlier is not None:
        stored.resumed = True  # from now on an error must not remove the rows
        difference = first_difference(earlier, identity)
        if difference:
            raise InputError(
                f"{stored.output}: cannot continue the interrupted run: {difference}. Run it with "
                "the same settings and inputs, or start again without --resume"
            )
        return
    if stored.rows:
        note(
            f"{stored.output}: {stored.rows} {unit} of an interrupted run are thrown away; "
            "--resume would have continued it"
        )
    stored.start(identity)


def _refuse_one_file(path: Path, output: Path, resume: bool) -> None:
    """Remove finished rows of an earlier version, which were one file; refuse to continue them."""
    if path.is_file():
        if resume:
            raise InputError(
                f"{output}: cannot continue the interrupted run: {path} comes from an earlier version. "
                "Start again without --resume"
            )
        note(f"{output}: the rows of an interrupted run of an earlier version are thrown away")
        path.unlink()


@contextlib.contextmanager
def _locked(folder: Path, output: Path) -> Iterator[None]:
    """Hold the folder for this process alone."""
    with contextlib.ExitStack() as stack:
        try:
            busy = f"{output}: another process is writing it"
            stack.enter_context(kernel_lock(folder / ".lock", busy))
        except OSError as error:
            raise readable_write_error(output, error) from error
        yield
