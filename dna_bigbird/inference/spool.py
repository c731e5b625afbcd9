"""Finishing an interrupted run: rows that are done are kept until the whole file is written."""

import contextlib
import fcntl
import json
import os
import signal
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import BinaryIO

from dna_bigbird import __version__
from dna_bigbird.errors import InputError, Interrupted, OutputError, note, shortened
from dna_bigbird.inference.spool_file import Spool
from dna_bigbird.writing import partial_path, readable_write_error


def spool_path(output: Path | str) -> Path:
    """Return where the finished rows of an unfinished output stand: `.scores.tsv.rows.partial`.

    It is not the name under which the output itself is written: both exist while rows become a file.
    """
    output = Path(output)
    return partial_path(output.with_name(f"{output.name}.rows"))


def file_identity(path: Path | str) -> dict:
    """Return what tells cheaply that a file has changed: its size in bytes and its time in ns."""
    found = os.stat(path)
    return {"size": found.st_size, "mtime_ns": found.st_mtime_ns}


def run_identity(settings: Mapping, checksums: Mapping, files: Mapping[str, Path]) -> dict:
    """Return what must be the same for an interrupted run to be continued."""
    inputs = {role: file_identity(path) for role, path in files.items()}
    return {**settings, "checksums": checksums, "inputs": inputs}


@contextlib.contextmanager
def open_spool(
    output: Path | str, identity: dict, resume: bool, unit: str = "windows"
) -> Iterator[Spool]:
    """Open the finished rows of `output`; the block appends the others and writes the file.

    If the block succeeds the spool is removed. Ctrl-C, SIGTERM, a failed write and unforeseen
    errors leave it for `--resume`; bad input removes it, unless it was there before.

    Args:
        identity: What must be the same for a run to be continued (JSON values; dicts may nest):
            settings that change the rows, `file_identity` of inputs. The package's version is added.
        resume: Go on with the rows of an interrupted run, if there are any. Otherwise they are
            thrown away, and a note on standard error says so.
        unit: What a row is, for messages.

    Raises:
        InputError: If the rows to go on with are of another run (naming what differs), or another
            process is writing this output.
        OutputError: If the folder cannot be written to, or the disk is full.
        Interrupted: On Ctrl-C or SIGTERM, with a line that tells how to go on.
    """
    output = Path(output)
    path = spool_path(output)
    identity = json.loads(json.dumps({"dna-bigbird": __version__} | identity))
    with _locked(path, output) as stream:
        spool = Spool(output, stream)
        try:
            with _sigterm_interrupts():
                _begin(spool, identity, resume, unit)
                yield spool
        except KeyboardInterrupt as stop:
            status = 143 if isinstance(stop, _Terminated) else 130
            kept = f"after {spool.rows} {unit}; continue with --resume"
            if not spool.rows:
                path.unlink(missing_ok=True)
                kept = f"before the first {unit} were finished; nothing was left behind"
            raise Interrupted(f"{output}: interrupted {kept}", status) from None
        except OutputError as error:
            if spool.rows and error.reason:
                raise OutputError(
                    f"{output}: cannot write it: {error.reason}; {spool.rows} {unit} are kept. Make "
                    f"room (df -h {output.parent}), then continue with --resume"
                ) from error
            path.unlink(missing_ok=True)
            raise
        except InputError:
            if not spool.resumed:
                path.unlink(missing_ok=True)
            raise
        path.unlink()


def _begin(spool: Spool, identity: dict, resume: bool, unit: str) -> None:
    found = spool.recover()
    if resume and found is not None:
        spool.resumed = True  # whatever happens now, the rows are not ours to remove
        difference = first_difference(found, identity)
        if difference:
            raise InputError(
                f"{spool.output}: cannot continue the interrupted run: {difference}. Run it with "
                "the same settings and inputs, or without --resume to start anew"
            )
        return
    if spool.rows:
        note(
            f"{spool.output}: {spool.rows} {unit} of an interrupted run are thrown away; "
            "--resume would have continued it"
        )
    spool.start(identity)


def first_difference(found: object, expected: object, name: str = "") -> str:
    """Return what differs between two identities as words, "" if nothing does."""
    if isinstance(found, dict) and isinstance(expected, dict):
        for key in sorted(found.keys() | expected.keys()):
            inner = f"{name}.{key}" if name else key
            if words := first_difference(found.get(key), expected.get(key), inner):
                return words
        return ""
    if found == expected:
        return ""
    return f"its {name} was {shortened(found)}, now it is {shortened(expected)}"


@contextlib.contextmanager
def _locked(path: Path, output: Path) -> Iterator[BinaryIO]:
    """Open the file for this process alone; where a file system knows no locks, for anyone."""
    while True:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        except OSError as error:
            raise readable_write_error(output, error) from error
        with open(descriptor, "r+b", buffering=0) as stream:
            try:
                fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise InputError(f"{output}: another process is writing it") from None
            except OSError:
                pass
            # Another process may have finished, and removed the file, after it was opened here.
            if path.exists() and path.stat().st_ino == os.fstat(descriptor).st_ino:
                yield stream
                return


class _Terminated(KeyboardInterrupt):
    pass


@contextlib.contextmanager
def _sigterm_interrupts() -> Iterator[None]:
    """Let SIGTERM end the block as Ctrl-C does; only the main thread may ask for that."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(signum: int, frame: object) -> None:
        raise _Terminated

    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
