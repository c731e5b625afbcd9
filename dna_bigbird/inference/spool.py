"""Rows that are finished but whose output file is not: an append-only file that survives any kill.

    MAGIC, then frames: length (8 bytes) and CRC-32 (4 bytes) of the payload, little-endian; payload

The first frame holds the identity of the run as JSON, every other one columns of equal length: a
line of JSON (names, types, shapes), then the bytes of the arrays. A frame is believed only if its
checksum fits, so a kill at any byte loses at most the frame that was being written.
"""

import contextlib
import fcntl
import json
import os
import signal
import struct
import threading
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import BinaryIO

import numpy as np

from dna_bigbird import __version__
from dna_bigbird.errors import InputError, Interrupted, OutputError, note, shortened
from dna_bigbird.files import partial_path, readable_write_error

MAGIC = b"dna-bigbird rows 1\n"
FRAME = struct.Struct("<QI")

Columns = Mapping[str, np.ndarray]


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


class Spool:
    """Finished rows on disk; see `open_spool`."""

    def __init__(self, output: Path, stream: BinaryIO) -> None:
        self.output, self._stream = output, stream
        self.rows = 0
        """Rows in it, those of the interrupted run included."""
        self.resumed = False
        self._first = self._end = 0

    def append(self, columns: Columns) -> None:
        """Add rows: arrays of any type but objects, alike in length.

        Raises:
            OutputError: If they could not be written; the rows before stay.
        """
        arrays = {name: np.ascontiguousarray(array) for name, array in columns.items()}
        lengths = {len(array) for array in arrays.values()}
        if len(lengths) != 1 or any(array.dtype.hasobject for array in arrays.values()):
            raise ValueError(f"expected columns of one length and without objects: {lengths}")
        described = [[name, array.dtype.str, array.shape] for name, array in arrays.items()]
        self._write(
            b"\n".join(
                [json.dumps(described).encode(), b"".join(a.tobytes() for a in arrays.values())]
            )
        )
        self.rows += lengths.pop()

    def frames(self) -> Iterator[dict[str, np.ndarray]]:
        """Yield the columns of every `append`, in order; the arrays are read-only.

        Raises:
            InputError: If the file has changed since it was opened.
        """
        place = self._first
        while place < self._end:
            payload = self._payload(place)
            if payload is None:
                raise InputError(
                    f"{spool_path(self.output)}: damaged at byte {place}; run without --resume"
                )
            yield _columns(payload)
            place += FRAME.size + len(payload)

    def start(self, identity: dict) -> None:
        """Make it empty, for this run."""
        self._stream.truncate(0)
        self._end = self._write_all(0, MAGIC)
        self._write(json.dumps(identity, sort_keys=True).encode())
        self._first, self.rows, self.resumed = self._end, 0, False

    def recover(self) -> dict | None:
        """Find what is whole, cut off the rest, and return the identity of the run that wrote it.

        Returns:
            None if there is nothing to go on with.
        """
        self._stream.seek(0)
        if self._stream.read(len(MAGIC)) != MAGIC:
            return None
        place = len(MAGIC)
        identity = None
        while (payload := self._payload(place)) is not None:
            place += FRAME.size + len(payload)
            if identity is None:
                identity, self._first = json.loads(payload), place
            else:
                self.rows += json.loads(payload.partition(b"\n")[0])[0][2][0]
        self._end = place
        self.resumed = self.rows > 0
        if identity is not None:
            self._stream.truncate(place)
        return identity

    def _payload(self, place: int) -> bytes | None:
        """Return the payload of the frame at a byte, None if there is no whole one."""
        self._stream.seek(place)
        header = self._stream.read(FRAME.size)
        if len(header) < FRAME.size:
            return None
        length, checksum = FRAME.unpack(header)
        # Zeros are what a disk may hold after a power cut, and their checksum would be right.
        if not 0 < length <= os.fstat(self._stream.fileno()).st_size - place - FRAME.size:
            return None
        payload = self._stream.read(length)
        return payload if len(payload) == length and zlib.crc32(payload) == checksum else None

    def _write(self, payload: bytes) -> None:
        frame = FRAME.pack(len(payload), zlib.crc32(payload)) + payload
        self._end = self._write_all(self._end, frame)

    def _write_all(self, place: int, data: bytes) -> int:
        """Write all of it or, as far as the disk allows, nothing; return where it ends."""
        self._stream.seek(place)
        rest = memoryview(data)
        try:
            while rest:
                rest = rest[self._stream.write(rest) :]
        except OSError as error:
            with contextlib.suppress(OSError):
                self._stream.truncate(place)
            raise readable_write_error(self.output, error) from error
        return place + len(data)


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


def _columns(payload: bytes) -> dict[str, np.ndarray]:
    described, _, _ = payload.partition(b"\n")
    place = len(described) + 1
    columns = {}
    for name, dtype, shape in json.loads(described):
        size = int(np.prod(shape))
        columns[name] = np.frombuffer(payload, dtype, size, place).reshape(shape)
        place += columns[name].nbytes
    return columns


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
