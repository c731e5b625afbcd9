"""Share heads among threads that each compute alone.

PyTorch lets all threads work on one operation and wait for each other at its end. Attention in
small pieces is thousands of such waits, each as long as the scheduler leaves the last thread
waiting: many times slower on a machine with other work.
"""

import functools
import math
import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import torch
from torch import Tensor

_of_thread = threading.local()


def workspace(name: str, shape: tuple[int, ...], dtype: torch.dtype) -> Tensor:
    """Return uninitialised memory, the same for the same name and type in the same thread."""
    size, key = math.prod(shape), f"{name} {dtype}"
    kept = getattr(_of_thread, key, None)
    if kept is None or kept.numel() < size:
        with torch.inference_mode(False):  # kept for training too, also if inference asks first
            kept = torch.empty(size, dtype=dtype)
        setattr(_of_thread, key, kept)
    return kept[:size].view(shape)


TASKS_A_THREAD = 2
"""More tasks than threads, so that a thread that was held up does less."""


def _spans(heads: slice, num_heads: int) -> Iterator[tuple[int, slice]]:
    """Yield heads that are counted through all sequences as (sequence, its heads)."""
    first = heads.start
    while first < heads.stop:
        row, head = divmod(first, num_heads)
        count = min(num_heads - head, heads.stop - first)
        yield row, slice(head, head + count)
        first += count


def load(x_BHTD: Tensor, heads: slice, block_size: int, dtype: torch.dtype) -> Tensor:
    """Return some heads cut into blocks: (C, N, S, D), contiguous, a view where possible."""
    T, D = x_BHTD.shape[2:]
    parts = [x_BHTD[row, some] for row, some in _spans(heads, x_BHTD.shape[1])]
    some = parts[0] if len(parts) == 1 else torch.cat(parts)
    return some.to(dtype).reshape(len(some), T // block_size, block_size, D).contiguous()


def store(into_BHTD: Tensor, heads: slice, values_CNSD: Tensor) -> None:
    """Write what belongs to some heads, cut into blocks."""
    values_CTD = values_CNSD.flatten(1, 2)
    first = 0
    for row, some in _spans(heads, into_BHTD.shape[1]):
        count = some.stop - some.start
        into_BHTD[row, some] = values_CTD[first : first + count]
        first += count


def share_heads(task: Callable[[slice], None], num_heads: int) -> None:
    """Call `task` with slices of all heads, on all of PyTorch's threads, without autograd."""
    threads = torch.get_num_threads()
    run = functools.partial(_run, task, torch.is_inference_mode_enabled())
    if threads == 1:
        run(slice(0, num_heads))
        return
    heads_a_task = math.ceil(num_heads / (TASKS_A_THREAD * threads))
    slices = [
        slice(first, min(first + heads_a_task, num_heads))
        for first in range(0, num_heads, heads_a_task)
    ]
    pool = _pool(threads, min(threads, len(slices)))
    for _ in pool.map(run, slices):
        pass


def _run(task: Callable[[slice], None], inference: bool, heads: slice) -> None:
    """Run the task in the modes of the caller, which belong to a thread."""
    with torch.inference_mode(inference), torch.no_grad(), torch.autocast("cpu", enabled=False):
        task(heads)


@functools.lru_cache(maxsize=8)
def _pool(threads: int, workers: int) -> ThreadPoolExecutor:
    """Return the workers; together they have `threads` threads."""

    def start() -> None:
        torch.get_num_threads()  # a new thread takes the common number at its first question
        torch.set_num_threads(max(1, threads // workers))

    pool = ThreadPoolExecutor(workers, thread_name_prefix="attention", initializer=start)
    barrier = threading.Barrier(workers + 1)
    for _ in range(workers):
        pool.submit(barrier.wait)
    barrier.wait()  # all have started
    torch.set_num_threads(threads)  # the number is common to threads yet to come
    return pool


# A forked process has the object, but none of its threads.
os.register_at_fork(after_in_child=_pool.cache_clear)
