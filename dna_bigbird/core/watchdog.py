"""Which Snakemake process started this one, and ending when it ends.

A SIGKILL cannot be caught: a killed Snakemake leaves its children running and its lock behind. So
the Snakefile calls `announce`, which writes down who the main process is (for
`dna-bigbird clear-lock`) and puts the same into the environment of the jobs, and every
`dna-bigbird` command calls `start`, which ends the process as soon as that one is gone.

A process is known by host, boot, process-id namespace, id and start time: an id alone is used again.
"""

import atexit
import contextlib
import json
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

from dna_bigbird.core.child_start import open_pidfd, wait_for_end

VARIABLE = "DNA_BIGBIRD_RUN"
RUNS = Path(".snakemake") / "dna_bigbird_runs"
EXIT_STATUS = 143  # as if ended by SIGTERM
PROC = Path("/proc")

State = Literal["alive", "dead", "elsewhere"]


@dataclass(frozen=True)
class Process:
    """One process, distinguished from every other one on any machine at any time."""

    host: str
    boot_id: str
    pid_namespace: str
    pid: int
    start_time: str

    def to_json(self) -> str:
        """Return it as one line."""
        return json.dumps(asdict(self), sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> "Process":
        """Read what `to_json` wrote, or raise ValueError."""
        try:
            values = json.loads(text)
            return cls(**values | {"pid": int(values["pid"])})
        except (TypeError, KeyError) as error:
            raise ValueError(f"not a process: {text!r}") from error


def this_process() -> Process:
    """Return the identity of the calling process."""
    pid = os.getpid()
    return Process(*_this_system(), pid=pid, start_time=start_time_of(pid) or "")


def start_time_of(pid: int) -> str | None:
    """Return when a process started (clock ticks since boot), or None if there is none or a zombie."""
    # "" where the system does not tell: no /proc, or processes of other users hidden.
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return None
    except PermissionError:  # another user's
        pass
    try:
        stat = (PROC / str(pid) / "stat").read_text()
    except OSError:
        return ""
    fields = stat.rpartition(")")[2].split()  # the name before it may hold spaces
    return None if fields[0] in "ZX" else fields[19]


def state_of(process: Process) -> State:
    """Return whether a process lives; one that cannot be checked from here is "elsewhere"."""
    # Without proof of death it lives: an id in use with an unknown start time is alive.
    host, boot_id, pid_namespace = _this_system()
    if process.host != host:
        return "elsewhere"
    if process.boot_id != boot_id:
        return "dead"
    if process.pid_namespace != pid_namespace:
        return "elsewhere"
    start_time = start_time_of(process.pid)
    if start_time is None or (
        start_time and process.start_time and start_time != process.start_time
    ):
        return "dead"
    return "alive"


def announce(folder: Path = RUNS, *, is_job: bool = False, is_cluster_job: bool = False) -> None:
    """Record which Snakemake process runs the workflow; the Snakefile calls this when it is read."""
    # is_job: another Snakemake on this machine started this one and stays the process to watch.
    # is_cluster_job: its commands watch this Snakemake, not the one that submitted it.
    me = this_process()
    if is_job and os.environ.get(VARIABLE):
        return
    os.environ[VARIABLE] = me.to_json()
    if is_job or is_cluster_job:
        return
    record = folder / f"{me.host}.{me.pid}.{me.start_time or time.time_ns()}.json"
    folder.mkdir(parents=True, exist_ok=True)
    temporary = record.with_suffix(".partial")
    temporary.write_text(me.to_json() + "\n")
    temporary.replace(record)

    def forget() -> None:
        if os.getpid() == me.pid:  # a forked child runs this too
            record.unlink(missing_ok=True)

    atexit.register(forget)


def start(end: Callable[[], None] | None = None) -> threading.Thread | None:
    """Watch the Snakemake that started this command, if any, in a thread; call `end` when it is gone."""
    end = end or _end_everything
    text = os.environ.get(VARIABLE)
    if not text:
        return None
    try:
        parent = Process.from_json(text)
    except ValueError:
        return None
    if state_of(parent) == "elsewhere":
        return None
    watched = open_pidfd(parent.pid)
    if state_of(parent) == "dead":  # asked after opening: the id is not another process's
        if watched is not None:
            os.close(watched)
        end()
        return None

    def wait() -> None:
        wait_for_end(watched, lambda: state_of(parent) == "alive")
        end()

    thread = threading.Thread(target=wait, name="dna-bigbird watchdog", daemon=True)
    thread.start()
    return thread


def descendants(pid: int) -> list[int]:
    """Return the ids of all processes below one, as far as /proc tells."""
    children: dict[int, list[int]] = {}
    for entry in PROC.glob("[0-9]*"):
        with contextlib.suppress(OSError, IndexError, ValueError):
            parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            children.setdefault(parent, []).append(int(entry.name))
    processes, queue = [], [pid]
    while queue:
        below = children.get(queue.pop(), [])
        processes += below
        queue += below
    return processes


def _end_everything() -> None:
    with contextlib.suppress(OSError):
        os.write(2, b"dna-bigbird: ended, because the Snakemake that started this is gone\n")
    for pid in descendants(os.getpid()):
        with contextlib.suppress(OSError):
            os.kill(pid, signal.SIGKILL)
    os._exit(EXIT_STATUS)


def _this_system() -> tuple[str, str, str]:
    """Return host name, boot and process-id namespace; the last two are "" where unknown."""
    boot, namespace = PROC / "sys/kernel/random/boot_id", PROC / "self/ns/pid"
    return (
        socket.gethostname(),
        boot.read_text().strip() if boot.exists() else "",
        os.readlink(namespace) if sys.platform == "linux" and namespace.is_symlink() else "",
    )
