"""Peak memory of one call above what it was given.

On a CPU a fresh process runs each case twice and reports how far the second call raised its
resident memory above where it was (Linux: the kernel's high-water mark, set back before the
call). That process hands big freed blocks back at once, so nothing is hidden in free lists. On a
GPU PyTorch's own count is read.
"""

import ctypes
import gc
import multiprocessing
import os
import resource
from collections.abc import Callable, Iterable
from multiprocessing.connection import Connection
from pathlib import Path

import torch

from benchmarks.lib.timing import FAILURES, Case, reason

STATUS, CLEAR = Path("/proc/self/status"), Path("/proc/self/clear_refs")
MALLOC = {"MALLOC_MMAP_THRESHOLD_": "65536", "MALLOC_TRIM_THRESHOLD_": "65536"}

Make = Callable[[Case], Callable[[], object]]


def available_bytes() -> int:
    """Return the memory that this machine can still give, or 8 GB where it does not say."""
    info = Path("/proc/meminfo")
    for line in info.read_text().splitlines() if info.exists() else []:
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    return 8 * 10**9


def limit(num_bytes: int) -> None:
    """Let this process and its children fail to allocate beyond `num_bytes`.

    So a case that does not fit ends with an error that the table reports, and takes no other
    program with it. Not for a GPU, whose driver reserves addresses freely.
    """
    hard = resource.getrlimit(resource.RLIMIT_DATA)[1]
    if hard != resource.RLIM_INFINITY:
        num_bytes = min(num_bytes, hard)
    resource.setrlimit(resource.RLIMIT_DATA, (num_bytes, hard))


def _resident(field: str) -> int:
    for line in STATUS.read_text().splitlines():
        if line.startswith(field + ":"):
            return int(line.split()[1]) * 1024
    raise OSError(f"{STATUS} has no {field}")


def peak_cpu(call: Callable[[], object]) -> int:
    """Return by how many bytes one call raises the resident memory of this process.

    Raises:
        OSError: If this system does not let a process set its high-water mark back.
    """
    call()
    gc.collect()
    if hasattr(ctypes.CDLL(None), "malloc_trim"):
        ctypes.CDLL(None).malloc_trim(0)
    CLEAR.write_text("5")
    before = _resident("VmRSS")
    call()
    return max(_resident("VmHWM") - before, 0)


def peak_cuda(call: Callable[[], object]) -> int:
    """Return by how many bytes one call raises PyTorch's memory on the GPU."""
    call()
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    call()
    torch.cuda.synchronize()
    return torch.cuda.max_memory_allocated() - before


def _measure(make: Make, case: Case, device: str) -> int | str:
    try:
        return (peak_cuda if device == "cuda" else peak_cpu)(make(case))
    except (*FAILURES, OSError) as error:
        return reason(error)


def _child(make: Make, cases: list[Case], threads: int, results: Connection) -> None:
    torch.set_num_threads(threads)
    for case in cases:
        results.send(_measure(make, case, "cpu"))
        gc.collect()


def peaks(make: Make, cases: Iterable[Case], device: str) -> dict[Case, int | str]:
    """Return the peak memory of each case in bytes, or why it could not be measured.

    Args:
        make: Prepares a case and returns the call to measure; on a CPU it must be picklable.
    """
    cases = list(cases)
    if device == "cuda":
        return {case: _measure(make, case, device) for case in cases}
    results: dict[Case, int | str] = {}
    before = {name: os.environ.get(name) for name in MALLOC}
    while len(results) < len(cases):
        left = [case for case in cases if case not in results]
        context = multiprocessing.get_context("spawn")
        receive, send = context.Pipe(duplex=False)
        child = context.Process(target=_child, args=(make, left, torch.get_num_threads(), send))
        os.environ.update(MALLOC)
        try:
            child.start()
        finally:
            for name, value in before.items():
                os.environ.pop(name) if value is None else os.environ.update({name: value})
        send.close()
        for case in left:
            try:
                results[case] = receive.recv()
            except EOFError:
                results[case] = "the process that ran it was killed"
                break
        child.join()
    return results
