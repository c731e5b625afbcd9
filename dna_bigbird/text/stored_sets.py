"""Rows of a set in a file on disk: made once, by one process, and read by all processes of a run."""

import contextlib
import copy
import functools
import itertools
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from dna_bigbird.core.child_processes import StoppedWorkerError, Workers
from dna_bigbird.core.errors import InputError, note
from dna_bigbird.core.limits import allowed_workers, usable_processors
from dna_bigbird.core.locks import kernel_lock
from dna_bigbird.core.writing import readable_write_error
from dna_bigbird.prediction.partial_results import first_difference, progress_bar
from dna_bigbird.prediction.partial_results_file import PartialResults
from dna_bigbird.text.data.row_store import (
    Part,
    StoredSet,
    added_up,
    part_of,
    read_row_store,
    write_row_store,
)
from dna_bigbird.text.set_source import SetSource, left_out, no_example
from dna_bigbird.text.tasks.task import TextTask

# Rows of a set, part by part: made by several processes, or by this one if there are few examples.

EXAMPLES_PER_PART = 128
"""Part of no result. With pages of Natural Questions about 50 MB of rows, uncompressed."""
PARTS_ALONE = 8
"""Parts that this process makes before it starts others, which takes seconds."""
WORKER_BYTES = 600_000_000
"""Memory of a process that makes rows: mostly torch."""


class PartMaker:
    """Makes the rows of some examples; can be sent to other processes."""

    def __init__(
        self, task: TextTask, tokenizer: Any, *, training: bool, keep_examples: bool
    ) -> None:
        self.task, self.tokenizer = copy.copy(task), tokenizer
        self.training, self.keep_examples = training, keep_examples

    def __call__(self, chunk: tuple[int, list[Any]]) -> Part:
        """Return the rows of a chunk of `numbered_chunks`."""
        first, examples = chunk
        self.task.first_example = first
        text_set = self.task.rows(examples, self.tokenizer, training=self.training)
        return part_of(text_set, first, keep_examples=self.keep_examples)


def numbered_chunks(examples: Iterable[Any]) -> Iterator[tuple[int, list[Any]]]:
    """Yield `EXAMPLES_PER_PART` examples at a time, with the number of the first one."""
    remaining = iter(examples)
    chunks = iter(lambda: list(itertools.islice(remaining, EXAMPLES_PER_PART)), [])
    return ((i * EXAMPLES_PER_PART, chunk) for i, chunk in enumerate(chunks))


def make_parts(
    make: PartMaker, chunks: Iterable[tuple[int, list[Any]]], processes: int
) -> Iterator[Part]:
    """Yield the part of each chunk, in order; chunks are read a little ahead."""
    chunks = iter(chunks)
    yield from map(make, itertools.islice(chunks, PARTS_ALONE))
    following = next(chunks, None)
    if following is None:
        return
    chunks = itertools.chain([following], chunks)
    processes = allowed_workers(processes, WORKER_BYTES)
    if processes <= 1:
        yield from map(make, chunks)
        return
    workers: Workers = Workers(
        functools.partial(_same, make), processes, does="makes rows", advice="Use fewer --threads"
    )
    try:
        yield from workers.map(chunks)
    finally:
        workers.close()


def _same(make: PartMaker, number: int) -> PartMaker:
    return make


def stored_set(path: Path, source: SetSource, threads: int = 0) -> StoredSet:
    """Return the rows of a set from the store at a path, written first if it is not there."""
    # A killed process leaves finished parts, and the next one goes on with them. One of several
    # processes writes, the others wait. A damaged or different store is written again, with a note.
    source.task.prepare(source.tokenizer)
    identity = source.identity()
    if (rows := read_matching(path, identity)) is None:
        existed = path.parent.exists()
        try:
            if parts_path(path).is_file():  # of an earlier version
                parts_path(path).unlink()
            with kernel_lock(parts_path(path) / ".lock", busy=None):
                if (rows := read_matching(path, identity, quiet=True)) is None:
                    stored = PartialResults(path, parts_path(path))
                    rows = _written(stored, source, identity, threads)
                shutil.rmtree(parts_path(path), ignore_errors=True)
        except OSError as error:
            raise readable_write_error(path, error) from error
        except InputError:
            if not existed:
                with contextlib.suppress(OSError):
                    path.parent.rmdir()
            raise
    source.check_longest(max(rows.rows.lengths))
    return rows


def parts_path(path: Path) -> Path:
    """Return the folder of the finished parts of a store that is being written."""
    return path.with_name(f".{path.name}.parts")


def read_matching(path: Path, identity: dict, *, quiet: bool = False) -> StoredSet | None:
    """Return the set of a store; None, with a note, if there is none of this identity."""
    if not path.is_file():
        return None
    try:
        rows, written_with = read_row_store(path)
        reason = first_difference(written_with, identity)
    except InputError as error:  # damaged, or of another version
        reason = str(error)
    if not reason:
        return rows
    if not quiet:
        note(f"{path}: its rows are made again: {reason.removeprefix(f'{path}: ')}")
    return None


def _written(stored: PartialResults, source: SetSource, identity: dict, threads: int) -> StoredSet:
    """Write a store, and return its set. The finished parts stay after a kill, not after wrong input."""
    try:
        _write(stored, source, identity, threads)
    except StoppedWorkerError:
        raise
    except InputError:
        shutil.rmtree(stored.folder, ignore_errors=True)
        raise
    return read_row_store(stored.output)[0]


def _write(stored: PartialResults, source: SetSource, identity: dict, threads: int) -> None:
    if stored.recover() != identity:
        stored.start(identity)
    with source.unpacked():
        examples, counts = source.read()
        if source.training and not source.task.labels:
            source.task.labels = source.task.label_names(examples)
        form = {"training": source.training, "keep_examples": not source.training}
        make = PartMaker(source.task, source.tokenizer, **form)
        chunks = numbered_chunks(examples)
        with progress_bar(True, None, unit="examples") as update:
            for part in _recovered(stored):
                next(chunks)
                update(len(part.example_bytes))
            for part in make_parts(make, chunks, threads or usable_processors()):
                source.check_longest(max(part.row_tokens, default=0))
                stored.append(part._asdict())
                update(len(part.example_bytes))
    parts = _checked(stored, source, counts)
    write_row_store(stored.output, parts, counts, source.task.labels, identity)


def _recovered(stored: PartialResults) -> Iterator[Part]:
    return (Part(**columns) for columns in stored.frames())


def _checked(stored: PartialResults, source: SetSource, counts: dict[str, int]) -> Iterator[Part]:
    examples = rows = 0
    all_counts = [counts]
    for part in _recovered(stored):
        examples, rows = examples + len(part.example_bytes), rows + len(part.row_tokens)
        all_counts.append(part.counted())
        yield part
    if not examples:
        raise no_example(source.path, source.split, counts)
    if not rows:
        reasons = left_out(added_up(all_counts))
        raise InputError(f"{source.path}: nothing to read in {examples} examples{reasons}")
