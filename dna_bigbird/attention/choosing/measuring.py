"""Time the backends on a problem of one class."""

# B batch, H heads, T tokens, D head dimension

from collections.abc import Callable
from typing import NamedTuple

import torch

from dna_bigbird.attention.choosing.shape_class import ShapeClass
from dna_bigbird.attention.patterns import bigbird_itc

NUM_HEADS, NUM_RANDOM = 12, 3
TOKENS = 32_768
"""Of a measured batch; a longer sequence is one alone."""
DENSE_UP_TO = 1024
"""Tokens: above, the whole score matrix is never the fastest."""
REPEATS = 10

Call = Callable[[], object]
Make = Callable[[str, ShapeClass], Call]
Timer = Callable[[Call], float]


class Row(NamedTuple):
    """One backend."""

    backend: str
    seconds: float | None
    """Of one call; None if it does not run."""
    reason: str = ""
    """Why it does not, in one line."""


def candidates(shape: ShapeClass) -> list[str]:
    """Return the backends that are tried on a GPU."""
    names = ["triton", "flex", "gather"]
    return [*names, "dense"] if shape.tokens <= DENSE_UP_TO else names


def measure(shape: ShapeClass, make: Make | None = None, timer: Timer | None = None) -> list[Row]:
    """Return how long each backend takes, fastest first; those that do not run come last.

    Compiling is not counted. PyTorch's random numbers stay as they were.

    Args:
        make: Returns the call of a backend; by default attention on the GPU.
        timer: Returns the seconds of a call; by default those of the GPU.
    """
    rows = []
    for backend in candidates(shape):
        try:
            call = (make or attention_call)(backend, shape)
            rows.append(Row(backend, (timer or gpu_seconds)(call)))
        except Exception as error:  # compilers raise any kind
            rows.append(Row(backend, None, first_line(error)))
    return sorted(rows, key=lambda row: (row.seconds is None, row.seconds))


def first_line(error: Exception) -> str:
    """Return the first line of what an error says."""
    return (str(error).strip() or type(error).__name__).splitlines()[0]


@torch.compiler.disable
def attention_call(backend: str, shape: ShapeClass, device: str = "cuda") -> Call:
    """Return attention over random numbers, with its gradients if the class is of training."""
    from dna_bigbird.attention.attend import attend  # which asks this package for a choice

    blocks = -(-shape.tokens // shape.block_size)
    pattern = bigbird_itc(blocks, shape.block_size, NUM_RANDOM, NUM_HEADS)
    size = (max(TOKENS // shape.tokens, 1), NUM_HEADS, shape.tokens, shape.head_dim)
    generator = torch.Generator(device).manual_seed(0)
    with torch.inference_mode(False), torch.no_grad():
        q, k, v, weight = (
            torch.randn(size, generator=generator, device=device, dtype=torch.float32).to(
                getattr(torch, shape.dtype)
            )
            for _ in range(4)
        )
    tensors = [x.requires_grad_(shape.training) for x in (q, k, v)]

    def call() -> object:
        with torch.inference_mode(False), torch.set_grad_enabled(shape.training):
            out = attend(*tensors, pattern, backend=backend)
            return torch.autograd.grad(out, tensors, weight) if shape.training else out

    return call


def gpu_seconds(call: Call) -> float:
    """Return the seconds of one call on the GPU, the mean of some after two that compile and warm up."""
    for _ in range(2):
        call()
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    start.record()
    for _ in range(REPEATS):
        call()
    end.record()
    torch.cuda.synchronize()
    return start.elapsed_time(end) / 1000 / REPEATS
