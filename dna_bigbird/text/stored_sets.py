"""Rows of a set in a file on disk: made once, by one process, and read by all processes of a run."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

from dna_bigbird.core.child_processes import StoppedWorkerError
from dna_bigbird.core.errors import InputError, note
from dna_bigbird.core.limits import usable_processors
from dna_bigbird.core.locks import kernel_lock
from dna_bigbird.core.writing import readable_write_error
from dna_bigbird.prediction.partial_results import first_difference, progress_bar
from dna_bigbird.prediction.partial_results_file import Spool
from dna_bigbird.text.data.row_store import (
    Part,
    StoredSet,
    added_up,
    read_row_store,
    write_row_store,
)
from dna_bigbird.text.set_counts import left_out
from dna_bigbird.text.set_source import SetSource, no_example
from dna_bigbird.text.tasks.row_parts import PartMaker, make_parts, numbered_chunks


def stored_set(path: Path, source: SetSource, threads: int = 0) -> StoredSet:
    """Return the rows of a set from the store at a path, written first if it is not there.

    Finished parts of a store are kept in the file `parts_path`. A process that is killed leaves them, and the
    next one goes on with them. If several processes ask for a store, one writes it and the others wait.
    A damaged store, or one of other data or settings, is written again, with a note.

    Args:
        threads: Most processes that make the rows; 0: one for each processor.

    Raises:
        InputError: If the set cannot be read, has no row, or has one that is too long for the model.
        OutputError: If the disk is full or the folder cannot be written to.
    """
    source.task.prepare(source.tokenizer)
    identity = source.identity()
    if (rows := read_matching(path, identity)) is None:
        existed = path.parent.exists()
        try:
            with kernel_lock(parts_path(path), busy=None) as stream:
                if (rows := read_matching(path, identity, quiet=True)) is None:
                    rows = _written(Spool(path, stream), source, identity, threads)
                parts_path(path).unlink()
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
    """Return the path of the finished parts of a store that is being written."""
    return path.with_name(f".{path.name}.parts")


def read_matching(path: Path, identity: dict, *, quiet: bool = False) -> StoredSet | None:
    """Return the set of a store; None if there is none of this identity, with a note of the reason.

    Args:
        quiet: No note.
    """
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


def _written(spool: Spool, source: SetSource, identity: dict, threads: int) -> StoredSet:
    """Write a store, and return its set. The finished parts stay after a kill, not after wrong input."""
    try:
        _write(spool, source, identity, threads)
    except StoppedWorkerError:
        raise
    except InputError:
        parts_path(spool.output).unlink()
        raise
    return read_row_store(spool.output)[0]


def _write(spool: Spool, source: SetSource, identity: dict, threads: int) -> None:
    if spool.recover() != identity:
        spool.start(identity)
    with source.unpacked():
        examples, counts = source.read()
        if source.training and not source.task.labels:
            source.task.labels = source.task.label_names(examples)
        make = PartMaker(
            source.task,
            source.tokenizer,
            training=source.training,
            keep_examples=not source.training,
        )
        chunks = numbered_chunks(examples)
        with progress_bar(True, None, unit="examples") as update:
            for part in _recovered(spool):
                next(chunks)
                update(len(part.example_bytes))
            for part in make_parts(make, chunks, threads or usable_processors()):
                source.check_longest(max(part.row_tokens, default=0))
                spool.append(part._asdict(), ragged=Part._fields[3:])
                update(len(part.example_bytes))
    parts = _checked(spool, source, counts)
    write_row_store(spool.output, parts, counts, source.task.labels, identity)


def _recovered(spool: Spool) -> Iterator[Part]:
    return (Part(**columns) for columns in spool.frames())


def _checked(spool: Spool, source: SetSource, counts: dict[str, int]) -> Iterator[Part]:
    """Yield the finished parts.

    Raises:
        InputError: If there is no example or no row in them.
    """
    examples = rows = 0
    all_counts = [counts]
    for part in _recovered(spool):
        examples, rows = examples + len(part.example_bytes), rows + len(part.row_tokens)
        all_counts.append(part.counted())
        yield part
    if not examples:
        raise no_example(source.path, source.split, counts)
    if not rows:
        reasons = left_out(added_up(all_counts))
        raise InputError(f"{source.path}: nothing to read in {examples} examples{reasons}")
