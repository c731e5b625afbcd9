"""Part (b) of gpu.py: attention alone, bfloat16, each backend in turn with full attention.

That is PyTorch's flash kernel on a GPU.
"""

import functools
import itertools

import torch

from benchmarks.gpu.exactness import FLEX_COMPILES_S, FLEX_SEARCHES_S
from benchmarks.gpu.rows import Row, Values
from benchmarks.gpu.settings import Settings
from benchmarks.lib import peers
from benchmarks.lib.timing import (
    FORWARD,
    MIN_ROUNDS,
    MODES,
    TRAINING,
    Case,
    interleaved,
    ratio,
    spread,
)
from dna_bigbird.attention import attend, patterns

DENSE_LIMIT, SHIPPED_LIMIT = 16384, 16384
"""Tokens up to which a whole score matrix is tried: of our `dense`, and of the library as shipped."""
RANDOM = 3
AT_LEAST_S = 0.01
SLOW_FROM = 65536
"""Tokens from which the library takes seconds to draw its blocks."""


def rows(settings: Settings) -> list[Row]:
    """Return one row per length, mode, block size and backend or peer."""
    cases = itertools.product(settings.sizes.lengths, MODES, settings.sizes.blocks[::-1])
    return [
        Row(
            {"tokens": tokens, "mode": mode, "blocks of": block, "name": name},
            functools.partial(measure, settings, tokens, mode, block, name),
            *cost(settings, name, tokens, mode, block),
        )
        for tokens, mode, block in cases
        for name in (*settings.backends, "hf-strip", "hf", "dense")
        if tokens <= {"dense": DENSE_LIMIT, "hf": SHIPPED_LIMIT}.get(name, tokens)
    ]


def cost(settings: Settings, name: str, tokens: int, mode: str, block: int) -> tuple[float, int]:
    """Return the seconds to expect and the priority."""
    flash_s = 15.0 if tokens > SLOW_FROM else 2.0
    later = 2 if tokens < SLOW_FROM else 3
    if name == "flex" and block % 128:
        return FLEX_SEARCHES_S if mode == TRAINING else FLEX_COMPILES_S, 4
    if name == "flex":
        return FLEX_COMPILES_S + flash_s, later
    if name == "dense" or (name.startswith("hf") and tokens >= SLOW_FROM):
        return 40.0 + flash_s, 4
    is_first = (
        name == settings.main_backend and mode == TRAINING and block == settings.sizes.blocks[0]
    )
    return 4.0 + flash_s, 1 if is_first else later


def measure(settings: Settings, tokens: int, mode: str, block: int, name: str) -> Values:
    """Time one backend or peer and full attention in turn."""
    sizes = settings.sizes
    batch = sizes.batch(sizes.attention_tokens, tokens)
    shape = peers.Shape(batch, sizes.heads, tokens, sizes.head_dim, block, RANDOM)
    reference = "flash" if settings.device == "cuda" else "dense peer"
    calls = {
        Case(tokens, mode, text): prepared(settings.device, shape, mode, text)
        for text in (name, reference)
    }
    times, failed = interleaved(calls, MIN_ROUNDS, settings.device, at_least_s=AT_LEAST_S)
    if failed:
        raise RuntimeError("; ".join(f"{case.name}: {why}" for case, why in failed.items()))
    ours, full = calls
    median_s = spread(times[ours]).median
    return {
        "batch": batch,
        "ms": 1e3 * median_s,
        "tokens/s": round(batch * tokens / median_s),
        "ms of full": 1e3 * spread(times[full]).median,
        "full / this": str(ratio(times, full, ours)),
    }


def prepared(device: str, shape: peers.Shape, mode: str, name: str):
    """Return a call of forward, or of forward and backward."""
    generator = torch.Generator(device).manual_seed(0)
    size = (shape.batch, shape.heads, shape.tokens, shape.head_dim)
    q, k, v, weight = (
        torch.randn(size, generator=generator, device=device, dtype=torch.bfloat16)
        for _ in range(4)
    )
    attention = function(device, shape, mode, name)
    if mode == FORWARD:

        def forward() -> torch.Tensor:
            with torch.no_grad():
                return attention(q, k, v)

        return forward
    q, k, v = (x.requires_grad_() for x in (q, k, v))
    return lambda: torch.autograd.grad(attention(q, k, v), (q, k, v), weight)


def function(device: str, shape: peers.Shape, mode: str, name: str) -> peers.Attention:
    """Return our attention with a backend, or a peer."""
    if name in ("flash", "hf", "hf-strip", "dense peer"):
        peer = name.removesuffix(" peer")
        training = mode == TRAINING
        return peers.attention(peer, shape, torch.bfloat16, device, training=training)
    blocks = -(-shape.tokens // shape.block_size)
    pattern = patterns.bigbird_itc(blocks, shape.block_size, RANDOM, shape.heads)
    return lambda q, k, v: attend(q, k, v, pattern, backend=name)
