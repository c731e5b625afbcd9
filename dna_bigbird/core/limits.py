"""How many threads and processes this machine can take; more than that is cut down, with a note."""

import math
import os
import re
from collections.abc import Iterator
from pathlib import Path

from dna_bigbird.core.errors import InputError, note

PROC, CGROUP = Path("/proc"), Path("/sys/fs/cgroup")
WORKERS_PER_PROCESSOR = 4
"""More processes than that only wait for each other."""


def usable_processors(cgroup: Path = CGROUP, own: Path = PROC / "self/cgroup") -> int:
    """Count processors this process may use: a job or a container often gets some of them."""
    has_affinity = hasattr(os, "sched_getaffinity")
    count = len(os.sched_getaffinity(0)) if has_affinity else os.cpu_count() or 1
    for folder in _groups(cgroup, own):
        quota, _, period = _text(folder / "cpu.max").strip().partition(" ")
        if quota.isdigit() and period.isdigit() and int(period):
            count = min(count, max(1, math.ceil(int(quota) / int(period))))
    return count


def free_bytes(
    meminfo: Path = PROC / "meminfo", cgroup: Path = CGROUP, own: Path = PROC / "self/cgroup"
) -> int | None:
    """Return the memory that this process may still take; None where the system does not tell."""
    # Pages of files that can be dropped at any time count as free.
    available = re.search(r"^MemAvailable:\s*(\d+) kB$", _text(meminfo), re.MULTILINE)
    free = [int(available[1]) * 1024] if available else []
    for folder in _groups(cgroup, own):
        limit = _text(folder / "memory.max").strip()
        used = _text(folder / "memory.current").strip()
        if limit.isdigit() and used.isdigit():
            dropped = re.search(r"^inactive_file (\d+)$", _text(folder / "memory.stat"), re.M)
            free.append(int(limit) - int(used) + (int(dropped[1]) if dropped else 0))
    return max(0, min(free)) if free else None


def check_memory(option: str, needed: int) -> None:
    """Raise InputError if what an option asks for, in bytes, is more than the free memory."""
    free = free_bytes()
    if free is not None and needed > free:
        raise InputError(
            f"{option}: this takes about {needed / 1e9:,.1f} GB of memory, and {free / 1e9:.1f} GB are free; give a "
            "smaller number"
        )


def allowed_threads(asked: int) -> int:
    """Return how many threads to use, at most one for each processor this process may use."""
    # Tens of thousands of threads crash the OpenMP library instead of failing with an error.
    usable = usable_processors()
    if asked > usable:
        note(
            f"{asked} threads: this process may use {_count(usable, 'processor')}, so {usable} run"
        )
    return min(asked, usable)


def use_threads(asked: int) -> None:
    """Set the number of threads torch computes with, as `allowed_threads`; 0 leaves it as it is."""
    if asked:
        import torch

        torch.set_num_threads(allowed_threads(asked))


def allowed_workers(asked: int, bytes_each: int) -> int:
    """Return how many processes to start: four per usable processor, or as many as memory holds."""
    usable, free = usable_processors(), free_bytes()
    most = WORKERS_PER_PROCESSOR * usable
    reason = f"at most {WORKERS_PER_PROCESSOR} for each of {_count(usable, 'usable processor')}"
    if free is not None and free // bytes_each < most:
        most = max(1, free // bytes_each)
        reason = f"{free / 1e9:.1f} GB of memory are free and each takes {bytes_each / 1e9:.1f} GB"
    if asked > most:
        note(f"{asked} workers: {reason}, so {_count(most, 'process', 'es')} start")
    return min(asked, most)


def _count(number: int, noun: str, plural: str = "s") -> str:
    return f"{number} {noun}{'' if number == 1 else plural}"


def _groups(cgroup: Path, own: Path) -> Iterator[Path]:
    """Yield the folders of the control groups of this process, from its own to the outermost."""
    match = re.search(r"^0::/(.*)$", _text(own), re.MULTILINE)
    folder = cgroup / match[1] if match else cgroup
    while folder != cgroup and cgroup in folder.parents:
        yield folder
        folder = folder.parent
    yield cgroup


def _text(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""
