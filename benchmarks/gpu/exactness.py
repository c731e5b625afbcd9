"""Part (a) of gpu.py: the problems of tests/attention/test_cuda.py, how many and how exact."""

import functools
import itertools
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import torch

from benchmarks.gpu.rows import Row, Values
from benchmarks.gpu.settings import Settings

if TYPE_CHECKING:
    from tests.attention.cases import Case

FLEX_COMPILES_S, FLEX_SEARCHES_S = 45.0, 240.0
"""Kernels for blocks that 128 divides, and for others, whose tiles are searched."""
REFUSALS = (ValueError, NotImplementedError)
Problems = Callable[[], Iterable["Case"]]


def rows(settings: Settings) -> list[Row]:
    """Return one row per backend and group of problems."""
    return [
        Row(
            {"backend": name, "problems": group},
            functools.partial(measure, problems, name, settings.device),
            *cost(settings, name, block_size, group),
        )
        for (group, block_size, problems), name in itertools.product(
            groups(settings), settings.backends
        )
        if not (name == "flex" and block_size is None)
    ]


def cost(settings: Settings, backend: str, block_size: int | None, group: str) -> tuple[float, int]:
    """Return the seconds to expect and the priority."""
    is_first = group.endswith("bfloat16, right padded")
    if backend == "flex":
        if block_size != 128:
            return FLEX_SEARCHES_S, 4
        return FLEX_COMPILES_S, 1 if is_first and settings.main_backend == "flex" else 3
    if block_size is None and backend == "triton":  # each of the many shapes may compile
        return 90.0, 3
    return 6.0, 1 if is_first else 2


def groups(settings: Settings) -> list[tuple[str, int | None, Problems]]:
    """Return name, block size and problems of each group; None: sizes that flex refuses."""
    from tests.attention import cuda_problems as cuda
    from tests.attention.cases import random_case

    seeds = range(settings.sizes.random_problems)
    drawn = ("random", None, lambda: (random_case(seed) for seed in seeds))
    if not settings.sizes.all_problems:
        return [drawn, ("repeats", 64, lambda: [cuda.repeats(64, True)])]
    named = []
    for size, dtype, padding in itertools.product(
        cuda.SIZES[::-1], cuda.DTYPES[::-1], cuda.PADDINGS
    ):
        name = f"blocks of {size}, {_short(dtype)}, {padding} padded"
        named.append((name, size, functools.partial(cuda.regular, size, dtype, padding)))
    for size, training in itertools.product(cuda.SIZES[::-1], (False, True)):
        name = f"repeats, blocks of {size}, {'training' if training else 'evaluation'}"
        named.append((name, size, lambda s=size, t=training: [cuda.repeats(s, t)]))
    named.append(("queries without keys", 64, lambda: [cuda.without_keys()]))
    for (size, dim), dtype in itertools.product(cuda.OTHER_SIZES, cuda.DTYPES):
        name = f"blocks of {size}, heads of {dim}, {_short(dtype)}"
        named.append((name, size, lambda s=size, d=dim, t=dtype: [cuda.other_size(s, d, t)]))
    return [*named, drawn]


def _short(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


def measure(problems: Problems, backend: str, device: str) -> Values:
    """Count the problems, and return the worst error over the allowed one."""
    from tests.attention.cases import excess, results

    counted, refused, worst = 0, 0, 0.0
    failed: list[str] = []
    for problem in problems():
        try:
            given_back = results(problem, backend, problem.dtype, device)
        except REFUSALS:
            refused += 1
            continue
        counted += 1
        try:
            worst = max(worst, excess(problem, given_back, device))
        except AssertionError:
            failed.append("not finite")
    good = "all refused" if not counted else "yes" if worst <= 1 and not failed else "NO"
    return {
        "count": counted,
        "refused": refused,
        "not finite": len(failed),
        "worst excess": worst,
        "within the tolerance": good,
    }
