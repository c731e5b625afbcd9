"""Part (c) of gpu.py: a training step of the paper's base model, ours, full attention, the library's."""

import functools
from collections.abc import Callable

import torch
from torch import nn

from benchmarks.gpu.exactness import FLEX_COMPILES_S, FLEX_SEARCHES_S
from benchmarks.gpu.rows import Row, Values
from benchmarks.gpu.settings import Settings
from benchmarks.gpu.steps import Fit, first_that_fits, fresh, sizes_to_try, step_seconds
from benchmarks.lib import peers
from benchmarks.lib.encoder_models import Batch, library_logits, loss_of, own_logits
from dna_bigbird.models.flops import training_flops
from dna_bigbird.models.pretraining_model import PretrainingModel
from dna_bigbird.training.speed import measured_peak

LIBRARY = ("hf", "hf-strip")
FULL_BLOCK = 64
ROW_S, COMPILED_S, LONG_S = 15.0, 90.0, 150.0
"""Seconds of an ordinary row, of a compiled model, and of full attention at the greatest length."""


def rows(settings: Settings) -> list[Row]:
    """Return one row per length and model; every row names tokens, model, block size, compilation."""
    table_rows = []
    for tokens in settings.sizes.lengths:
        table_rows.append(_row(settings, tokens, "full", FULL_BLOCK))
        table_rows += [
            _row(settings, tokens, name, block)
            for block in settings.sizes.blocks[::-1]
            for name in settings.backends
        ]
        if tokens == settings.sizes.lengths[0]:
            table_rows += [
                _row(settings, tokens, name, settings.sizes.blocks[0]) for name in LIBRARY
            ]
        if settings.sizes.compiled:
            table_rows.append(_row(settings, tokens, "full", FULL_BLOCK, compiled=True))
            table_rows += [
                _row(settings, tokens, name, settings.sizes.blocks[-1], compiled=True)
                for name in settings.backends
                if name != "gather"
            ]
    return table_rows


def _row(settings: Settings, tokens: int, name: str, block: int, *, compiled: bool = False) -> Row:
    key = {"tokens": tokens, "model": name, "blocks of": block, "compiled": compiled}
    measured = functools.partial(measure, settings, tokens, name, block, compiled)
    return Row(key, measured, *cost(settings, tokens, name, block, compiled))


def cost(
    settings: Settings, tokens: int, name: str, block: int, compiled: bool
) -> tuple[float, int]:
    """Return the seconds to expect and the priority: what the aims compare is first."""
    sizes = settings.sizes
    is_longest = len(sizes.lengths) > 1 and tokens == sizes.lengths[-1]
    if name == "full" and is_longest:
        return LONG_S, 3
    if compiled:
        return COMPILED_S, 3
    if name == "flex":
        if block % 128:
            return FLEX_SEARCHES_S, 4
        return FLEX_COMPILES_S, 1 if settings.main_backend == "flex" else 2
    if name in ("full", "hf"):
        return ROW_S, 1
    if name == settings.main_backend:
        return ROW_S, 2 if is_longest and block != sizes.blocks[0] else 1
    return ROW_S, 3 if name == "gather" else 2


def measure(settings: Settings, tokens: int, name: str, block: int, compiled: bool) -> Values:
    """Time training steps at the first batch size that fits."""
    peak = measured_peak(torch.device(settings.device), in_bfloat16=True)
    batch = settings.sizes.batch(settings.sizes.step_tokens, tokens)
    fits = [Fit(batch, False), Fit(batch, True)]
    while batch > 1:
        batch //= 2
        fits.append(Fit(batch, True))
    config = settings.encoder(max_tokens=tokens, block_size=block)
    return first_that_fits(
        sizes_to_try(settings, config, fits, name),
        lambda fit: timed(settings, config, name, compiled, fit, peak),
    )


def timed(settings: Settings, config, name: str, compiled: bool, fit: Fit, peak: float) -> Values:
    """Time the steps of one model with one batch size."""
    model = build(config, name, fit.checkpointing, settings.device).train()
    if compiled:
        model.compile(dynamic=True)  # as tasks.fit does
    batch = Batch.draw(fit.batch, config.max_tokens, config.vocab_size, settings.device)
    figures = step_seconds(settings, step_of(model, batch, name, settings.device))
    tokens = fit.batch * config.max_tokens
    use = None
    if name not in LIBRARY:
        lengths = [config.max_tokens] * fit.batch
        operations = training_flops(model, lengths, len(batch.positions))
        use = operations / (figures["s per step"] * peak)
    return {
        "arithmetic": "bfloat16 weights" if name == "hf" else "bf16-mixed",
        "batch": fit.batch,
        "checkpointing": fit.checkpointing,
        "parameters, M": sum(p.numel() for p in model.parameters()) / 1e6,
        "tokens/s": round(tokens / figures["s per step"]),
        **figures,
        "utilisation": use,
        "peak TFLOP/s": peak / 1e12,
    }


def build(config, name: str, checkpointing: bool, device: str) -> nn.Module:
    """Return a model with fresh weights: ours with a backend, with full attention, or the library's."""
    from dataclasses import replace

    if name in LIBRARY:
        with torch.device(device):
            return _library(config, name, checkpointing).to(weight_type(name))
    config = replace(config, gradient_checkpointing=checkpointing)
    if name == "full":  # 'gather' is one call of PyTorch's fused attention there
        config, name = replace(config, attention="full"), "gather"
    model = fresh(lambda: PretrainingModel(config), device)
    model.encoder.set_backend(name)
    return model


def weight_type(name: str) -> torch.dtype:
    """Return float32; bfloat16 for the library as shipped, which fails under autocast."""
    return torch.bfloat16 if name == "hf" else torch.float32


def _library(config, name: str, checkpointing: bool) -> nn.Module:
    model = peers.library_model(
        stripped=name == "hf-strip",
        vocab_size=config.vocab_size,
        hidden_size=config.hidden_size,
        num_hidden_layers=config.num_layers,
        num_attention_heads=config.num_heads,
        intermediate_size=config.ffn_size,
        max_position_embeddings=config.max_tokens,
        block_size=config.block_size,
        num_random_blocks=config.num_random,
    )
    if checkpointing:
        model.gradient_checkpointing_enable()
    return model


def step_of(model: nn.Module, batch: Batch, name: str, device: str) -> Callable[[], None]:
    """Return a training step: forward in bfloat16 autocast, backward, fused AdamW."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
    logits_of = library_logits if name in LIBRARY else own_logits

    def step() -> None:
        with torch.autocast(device, torch.bfloat16, enabled=name != "hf"):
            loss = loss_of(logits_of(model, batch, "predicted"), batch, "predicted")
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)

    return step
