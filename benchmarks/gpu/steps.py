"""What the parts of gpu.py that train share: batches, timed steps, and batch sizes that fit."""

import contextlib
import gc
import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import nn

from benchmarks.gpu.settings import Settings
from benchmarks.lib.timing import seconds
from dna_bigbird.corpus.batches import PretrainingBatch, collate_pretraining
from dna_bigbird.models.config import EncoderConfig
from dna_bigbird.models.memory import pretraining_memory

PREDICTED = 0.15
STD = 0.02
"""Standard deviation of fresh weights, as in the paper."""
WARM_UP, FEWEST = 2, 3
MEMORY_SHARE = 0.97
"""Part of the GPU's memory that an estimate may take: beyond it a size is not tried."""


@dataclass(frozen=True)
class Fit:
    """Sequences of a micro-batch, and whether layers are computed again in the backward pass."""

    batch: int
    checkpointing: bool


def sizes_to_try(
    settings: Settings, config: EncoderConfig, fits: list[Fit], backend: str
) -> list[Fit]:
    """Return the sizes that the estimate of models/memory.py does not rule out; the last one always.

    Args:
        backend: 'gather', which keeps copies of the keys, or another one.
    """
    if settings.device != "cuda":
        return fits[:1]
    total = MEMORY_SHARE * torch.cuda.get_device_properties(0).total_memory
    kept = [fit for fit in fits if _estimate(config, fit, backend) <= total]
    return kept or fits[-1:]


def _estimate(config: EncoderConfig, fit: Fit, backend: str) -> int:
    from dataclasses import replace

    return pretraining_memory(
        replace(config, gradient_checkpointing=fit.checkpointing or config.gradient_checkpointing),
        batch_size=fit.batch,
        predicted=int(PREDICTED * fit.batch * config.max_tokens),
        backend="gather" if backend == "gather" else "flex",
    ).total


def first_that_fits(fits: list[Fit], measure: Callable[[Fit], dict]) -> dict:
    """Return the measurement of the first size that fits into memory.

    Raises:
        torch.OutOfMemoryError: If none does.
    """
    for fit in fits[:-1]:
        with contextlib.suppress(torch.OutOfMemoryError):
            return measure(fit)
        gc.collect()  # only here is the failed step's memory released
        torch.cuda.empty_cache()
    return measure(fits[-1])


def fresh(build: Callable[[], nn.Module], device: str) -> nn.Module:
    """Return a model without buffers with random weights that are drawn on the device.

    Its own initialisation takes seconds on one core of the processor: in vain for a measurement.
    """
    with torch.device("meta"):
        model = build()
    model = model.to_empty(device=device)
    generator = torch.Generator(device).manual_seed(0)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if parameter.ndim > 1:
                parameter.normal_(std=STD, generator=generator)
            else:
                parameter.fill_(float(name.endswith("weight")))  # gains 1, biases 0
    return model


def step_seconds(settings: Settings, step: Callable[[], object], warm_up: int = WARM_UP) -> dict:
    """Return the median time of a step, the number of them, and the peak of memory.

    Steps are timed one by one, the GPU's work included, until `settings.sizes` has enough.
    """
    sizes, is_cuda = settings.sizes, settings.device == "cuda"
    for _ in range(warm_up):
        if seconds(step, settings.device) > max(sizes.seconds, 1.0):
            break  # long enough to be warm
    if is_cuda:
        torch.cuda.reset_peak_memory_stats()
    elapsed: list[float] = []
    began_at = time.perf_counter()
    while len(elapsed) < sizes.steps:
        elapsed.append(seconds(step, settings.device))
        if len(elapsed) >= FEWEST and time.perf_counter() - began_at > sizes.seconds:
            break
    return {
        "s per step": statistics.median(elapsed),
        "lowest": min(elapsed),
        "highest": max(elapsed),
        "steps": len(elapsed),
        "peak GB": torch.cuda.max_memory_allocated() / 1e9 if is_cuda else None,
    }


@contextlib.contextmanager
def deterministic() -> Iterator[None]:
    """Ask torch for deterministic algorithms with warnings, as tasks.fit does."""
    before = torch.are_deterministic_algorithms_enabled()
    warned = torch.is_deterministic_algorithms_warn_only_enabled()
    torch.use_deterministic_algorithms(True, warn_only=True)
    filled = torch.utils.deterministic.fill_uninitialized_memory
    torch.utils.deterministic.fill_uninitialized_memory = False
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(before, warn_only=warned)
        torch.utils.deterministic.fill_uninitialized_memory = filled


def random_batch(config: EncoderConfig, lengths: list[int], seed: int) -> PretrainingBatch:
    """Return sentence pairs of random tokens, with these numbers of tokens."""
    return collate_pretraining([(i, _example(config, n, (seed, i))) for i, n in enumerate(lengths)])


def _example(config: EncoderConfig, length: int, seed: tuple[int, int]) -> dict:
    rng = np.random.default_rng(seed)
    ids = rng.integers(6, config.vocab_size, size=length)
    predicted = max(round(PREDICTED * length), 1)
    positions = np.sort(rng.choice(length, size=predicted, replace=False))
    return {
        "token_ids": ids,
        "segment_ids": (np.arange(length) > length // 2).astype(np.int64),
        "positions": positions,
        "labels": ids[positions],
        "is_next": int(rng.integers(2)),
    }
