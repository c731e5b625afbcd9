"""`dna-bigbird clear-lock`."""

import contextlib
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from dna_bigbird.core import watchdog
from dna_bigbird.core.choices import checked
from dna_bigbird.core.errors import InputError
from dna_bigbird.core.paths import OutputFolder
from dna_bigbird.core.results import Result

WAIT_S = 10.0
DAY_NS = 24 * 3600 * 10**9


@dataclass(frozen=True)
class ClearedLock(Result):
    """The lock of a folder after the check."""

    folder: Path
    num_dead_runs: int
    """Records of dead runs removed with a stale lock; 0 if there was no lock."""

    def summary(self) -> str:
        """Return what was removed; nothing without a lock."""
        if not self.num_dead_runs:
            return ""
        count = self.num_dead_runs
        return f"{self.folder / '.snakemake'}: stale lock removed; {count} dead run(s) recorded"


@checked()
def clear_lock(folder: OutputFolder = Path(".")) -> ClearedLock:
    """Remove a stale Snakemake lock after proof that its process is dead.

    The Snakefile writes down every main process. The lock goes only if all of them are dead: of
    this machine and gone, or from before its last start. Otherwise this ends with status 2.

    Examples:
        dna-bigbird clear-lock
        dna-bigbird clear-lock --folder runs/hg19

    Args:
        folder: Folder of the workflow: where Snakemake was started.
    """
    return ClearedLock(folder, remove_stale_lock(folder))


def remove_stale_lock(
    folder: Path,
    *,
    state_of: Callable[[watchdog.Process], str] = watchdog.state_of,
    leftovers_of: Callable[[list[watchdog.Process]], list[int]] | None = None,
    sleep: Callable[[float], None] = time.sleep,
) -> int:
    """Remove the lock and the records of dead runs; returns how many runs, 0 without a lock."""
    leftovers_of = leftovers_of or jobs_left_by
    locks = {path: _version(path) for path in sorted((folder / ".snakemake/locks").glob("*.lock"))}
    records = _read_records(folder / watchdog.RUNS)
    if not locks:
        _forget_ended_runs(records, state_of)
        return 0
    where = folder / ".snakemake" / "locks"
    oldest_lock = min(modified for _, modified in locks.values())
    if not any(modified <= oldest_lock for _, modified in records.values()):
        raise InputError(
            f"{where}: there is a lock, but no record of the run that made it. If no Snakemake "
            "works in this folder any more, on any machine: snakemake --unlock"
        )
    processes = [process for process, _ in records.values()]
    for process in processes:
        _require_dead(where, process, state_of(process))
    _wait_for_jobs(where, processes, leftovers_of, sleep)
    for path, version in locks.items():
        with contextlib.suppress(FileNotFoundError):
            if _version(path) == version:  # not a lock that another run made in the meantime
                path.unlink()
    for path in records:
        path.unlink(missing_ok=True)
    return len(records)


def jobs_left_by(processes: list[watchdog.Process]) -> list[int]:
    """Return the ids of living processes that one of these Snakemakes started."""
    marks = {f"{watchdog.VARIABLE}={process.to_json()}".encode() for process in processes}
    pids = []
    for entry in watchdog.PROC.glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if marks & set((entry / "environ").read_bytes().split(b"\0")):
                pids.append(int(entry.name))
    mine = os.getpid()
    return sorted(pid for pid in pids if pid != mine and watchdog.start_time_of(pid) is not None)


def _forget_ended_runs(records, state_of) -> None:
    """Without a lock: drop the records of dead runs, and of runs elsewhere that must be over."""
    # A run takes its lock seconds after its record and keeps it: a day later it has a lock or has ended.
    for path, (process, modified) in records.items():
        state = state_of(process)
        is_old = time.time_ns() - modified > DAY_NS
        if state == "dead" or (state == "elsewhere" and is_old):
            path.unlink(missing_ok=True)


def _require_dead(where: Path, process: watchdog.Process, state: str) -> None:
    if state == "alive":
        raise InputError(
            f"{where}: the Snakemake that holds the lock is running (process {process.pid}); "
            "wait for it, or stop it first"
        )
    if state == "elsewhere":
        raise InputError(
            f"{where}: a Snakemake on {process.host} (process {process.pid}) may hold the lock, and "
            "this machine cannot check it. Look there; if it is gone: snakemake --unlock"
        )


def _wait_for_jobs(where, processes, leftovers_of, sleep, pause_s: float = 0.1) -> None:
    """Wait until the jobs of a killed Snakemake have ended by themselves."""
    for _ in range(round(WAIT_S / pause_s)):
        left = leftovers_of(processes)
        if not left:
            return
        sleep(pause_s)
    raise InputError(
        f"{where}: the Snakemake is dead, but jobs of it are still running (process "
        f"{', '.join(map(str, left))}); wait for them, or stop them first"
    )


def _read_records(folder: Path) -> dict[Path, tuple[watchdog.Process, int]]:
    """Return each recorded main process with the time (ns) of its record."""
    records = {}
    for path in sorted(folder.glob("*.json")):
        try:
            modified = path.stat().st_mtime_ns
            records[path] = watchdog.Process.from_json(path.read_text()), modified
        except FileNotFoundError:  # its run has just ended
            continue
        except ValueError:
            raise InputError(
                f"{path}: damaged record of a run; expected one line of JSON"
            ) from None
    return records


def _version(path: Path) -> tuple[int, int]:
    """Return what changes when another process makes the file again."""
    stat = path.stat()
    return stat.st_ino, stat.st_mtime_ns
