"""Interleaved rounds, ratios with their spread, and the lines that say where they were measured."""

import datetime
import importlib.metadata
import itertools
import math
import os
import platform
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import torch

MIN_ROUNDS = 7
FORWARD, TRAINING = "forward", "forward+backward"
MODES = (FORWARD, TRAINING)
FAILURES = (RuntimeError, ValueError, NotImplementedError, MemoryError)
"""What a case may raise that cannot run here; torch's own errors are among them."""


class Case(NamedTuple):
    """One line of a table."""

    tokens: int
    mode: str
    name: str


class Spread(NamedTuple):
    """Median, lowest and highest of the rounds."""

    median: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.median:.2f} [{self.low:.2f}, {self.high:.2f}]"


Times = dict[Case, list[float]]


def spread(values: Sequence[float]) -> Spread:
    """Return the median with the lowest and the highest value."""
    return Spread(statistics.median(values), min(values), max(values))


def ratio(times: Times, slow: Case, fast: Case) -> Spread | None:
    """Return how many times longer `slow` takes than `fast`, round by round.

    None if one of them did not run.
    """
    if slow not in times or fast not in times:
        return None
    return spread([s / f for s, f in zip(times[slow], times[fast], strict=True)])


def seconds(
    call: Callable[[], object],
    device: str,
    repeats: int = 1,
    clock: Callable[[], float] = time.perf_counter,
) -> float:
    """Return the time of one call, the work it left on the GPU included."""
    if device == "cuda":
        torch.cuda.synchronize()
    started_at = clock()
    for _ in range(repeats):
        call()
    if device == "cuda":
        torch.cuda.synchronize()
    return (clock() - started_at) / repeats


def reason(error: BaseException) -> str:
    """Return an error as a few words that fit into a table."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()] or [repr(error)]
    text = " ".join(lines[0].split())
    if "allocate" in text or "out of memory" in text or isinstance(error, MemoryError):
        return "does not fit into memory"
    return text if len(text) <= 120 else text[:117] + "..."


def interleaved(
    calls: Mapping[Case, Callable[[], object]],
    rounds: int,
    device: str,
    *,
    at_least_s: float = 0.0,
    clock: Callable[[], float] = time.perf_counter,
) -> tuple[Times, dict[Case, str]]:
    """Time all cases in turn, in `rounds` rounds after a round that warms up.

    Every second round runs backwards, so that no case always follows the same one.

    Args:
        calls: In the order in which they run; put next to each other what is compared.
        at_least_s: Shorter calls are repeated within a round until they take about this long.

    Returns:
        Seconds of one call in each round; and for each case that cannot run the reason.
    """
    if rounds < MIN_ROUNDS:
        raise ValueError(f"rounds {rounds} is below {MIN_ROUNDS}: medians of fewer mislead")
    repeats: dict[Case, int] = {}
    failed: dict[Case, str] = {}
    for case, call in calls.items():
        try:
            elapsed_s = seconds(call, device, clock=clock)
            if at_least_s:  # the first call may have compiled something
                elapsed_s = seconds(call, device, clock=clock)
        except FAILURES as error:
            failed[case] = reason(error)
            continue
        repeats[case] = max(1, math.ceil(at_least_s / max(elapsed_s, 1e-6)))
    times: Times = {case: [] for case in repeats}
    order = list(repeats)
    for _, cases in zip(range(rounds), itertools.cycle((order, order[::-1])), strict=False):
        for case in cases:
            times[case].append(seconds(calls[case], device, repeats[case], clock))
    return times, failed


def processor(device: str) -> str:
    """Return the name of the processor, or of the GPU if that does the work."""
    if device == "cuda":
        return torch.cuda.get_device_name()
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def version(distribution: str) -> str:
    """Return an installed version, or that there is none."""
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return "not installed"


def load() -> str:
    """Return how many programs wanted a processor in the last minute: 1 for each of our threads."""
    return f"{os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else "unknown"


def header(device: str) -> list[str]:
    """Return the lines above a table: when, where and with what it was measured."""
    lines = [
        f"# {datetime.datetime.now(datetime.UTC):%Y-%m-%d %H:%M} UTC; {processor(device)}; "
        f"{torch.get_num_threads()} threads of {os.cpu_count()} processors; "
        f"{platform.system()} {platform.machine()}; load before the run {load()}",
        f"# torch {torch.__version__}; transformers {version('transformers')}; "
        f"Python {platform.python_version()}",
    ]
    if device == "cuda":
        total_GB = torch.cuda.get_device_properties(0).total_memory / 1e9
        lines.append(f"# CUDA {torch.version.cuda}; {total_GB:.0f} GB on the card")
    return lines
