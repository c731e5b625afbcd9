"""Attention on the GPU, timed: what `autotune` compares."""

import torch

from dna_bigbird.attention.attend import attend
from dna_bigbird.attention.autotune import Call, Row, ShapeClass, measure
from dna_bigbird.attention.patterns import bigbird_itc

NUM_HEADS, NUM_RANDOM = 12, 3
TOKENS = 32_768
"""Of a measured batch; a longer sequence is one alone."""
REPEATS = 10


def measure_on_gpu(shape: ShapeClass) -> list[Row]:
    """Return how long each backend takes on this GPU, compiling not counted, fastest first."""
    return measure(shape, attention_call, gpu_seconds)


@torch.compiler.disable
def attention_call(backend: str, shape: ShapeClass, device: str = "cuda") -> Call:
    """Return attention over random numbers, with its gradients if the class is of training."""
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
