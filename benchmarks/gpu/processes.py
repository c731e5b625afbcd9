"""Part (g) of gpu.py: nccl (gloo on a CPU) with one process, and with as many GPUs as there are.

Each process is `python -m benchmarks.gpu.processes RANK PROCESSES BACKEND FILE MEGABYTES`.
"""

import functools
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

TIMES, LIMIT_S = 10, 120.0


def rows(settings) -> list:
    """Return a row with one process, and one with all GPUs if there are several."""
    import torch

    from benchmarks.gpu.rows import Row

    count = torch.cuda.device_count() if settings.device == "cuda" else 1
    return [
        Row({"processes": number}, functools.partial(measure, settings, number), 30.0, 2)
        for number in sorted({1, count})
    ]


def measure(settings, processes: int) -> dict:
    """Add up a tensor over the processes, and return how fast."""
    backend = "nccl" if settings.device == "cuda" else "gloo"
    with tempfile.TemporaryDirectory() as folder:
        words = [
            str(processes),
            backend,
            str(Path(folder) / "store"),
            str(settings.sizes.reduced_mb),
        ]
        children = [
            subprocess.Popen(
                [sys.executable, "-m", "benchmarks.gpu.processes", str(rank), *words],
                cwd=Path(__file__).parents[2],
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
            for rank in range(processes)
        ]
        try:
            texts = [child.communicate(timeout=LIMIT_S) for child in children]
        finally:
            for child in children:
                child.kill()
    for child, (_, errors) in zip(children, texts, strict=True):
        if child.returncode:
            raise RuntimeError((errors.strip().splitlines() or ["no message"])[-1])
    return {"backend": backend, **json.loads(texts[0][0].splitlines()[-1])}


def child(rank: int, processes: int, backend: str, store: str, megabytes: int) -> None:
    """Time all_reduce; the first process prints the figures as JSON."""
    import torch
    import torch.distributed as dist

    device = "cpu"
    if backend == "nccl":
        torch.cuda.set_device(rank)
        device = f"cuda:{rank}"
    dist.init_process_group(backend, init_method=f"file://{store}", rank=rank, world_size=processes)
    values = torch.full((megabytes * 250_000,), rank + 1.0, device=device)
    dist.all_reduce(values)
    is_sum = bool((values == processes * (processes + 1) / 2).all())
    times = []
    for _ in range(TIMES):
        dist.barrier()
        _finish(backend)
        started_at = time.perf_counter()
        dist.all_reduce(values)
        _finish(backend)
        times.append(time.perf_counter() - started_at)
    dist.destroy_process_group()
    if rank == 0:
        rate = values.nbytes / statistics.median(times) / 1e9
        shared = 2 * (processes - 1) / processes
        figures = {
            "MB": megabytes,
            "sum is right": is_sum,
            "ms": 1e3 * statistics.median(times),
            "GB/s": rate,
            "GB/s on the bus": rate * shared if processes > 1 else None,
        }
        print(json.dumps(figures))


def _finish(backend: str) -> None:
    import torch

    if backend == "nccl":
        torch.cuda.synchronize()


if __name__ == "__main__":
    child(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4], int(sys.argv[5]))
