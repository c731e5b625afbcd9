"""What a step of the optimizer Muon costs next to AdamW's, and its share of a training step.

    python -m benchmarks.speed optimizers --threads 1                    the demo's model and 4 layers of 128
    python -m benchmarks.speed optimizers --threads 1 --sizes base       12 layers of 768
    ONEDNN_MAX_CPU_ISA=AVX2 ATEN_CPU_CAPABILITY=avx2 python -m benchmarks.speed optimizers --threads 1

The optimizers update one model with the same gradients, in turn, in interleaved rounds; times are
processor time, ratios are taken round by round. `plain` is Muon in float32 with torch's own order of
products for every matrix. A training step is forward and backward pass of 4,096 random tokens (the
demo's: 3,072) in --precision, and the step of the optimizer. Muon in bfloat16 is left out for base
where the processor has no bfloat16 products: a step takes minutes.
"""

import argparse
import contextlib
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch

from benchmarks.lib.encoder_models import Batch, loss_of, own_logits
from benchmarks.lib.options import names
from benchmarks.lib.timing import (
    MIN_ROUNDS,
    TRAINING,
    Case,
    Times,
    header,
    interleaved,
    ratio,
    spread,
)
from dna_bigbird.models.config import EncoderConfig
from dna_bigbird.models.precision import BFLOAT16, has_bf16_products, resolve_precision
from dna_bigbird.models.pretraining_model import PretrainingModel
from dna_bigbird.models.train_config import TrainConfig
from dna_bigbird.training import optimizers
from dna_bigbird.training.optimisation import build_optimizer

BLOCKS = {"dropout": 0.0, "norm_first": True, "positions": "rotary", "init_std": 0.05}


class Size(NamedTuple):
    """A model and what one training step of it reads."""

    model: EncoderConfig
    batch: int


SIZES = {
    "demo": Size(  # config/config.yaml
        EncoderConfig(
            vocab_size=512, hidden_size=128, num_layers=2, num_heads=4, ffn_size=256,
            max_tokens=384, block_size=32, num_random=2, **BLOCKS,
        ),
        8,
    ),
    "4x128": Size(  # tests/real/pretraining.yaml, at 512 tokens
        EncoderConfig(
            vocab_size=2048, hidden_size=128, num_layers=4, num_heads=4, ffn_size=512,
            max_tokens=512, block_size=32, num_random=2, **BLOCKS,
        ),
        8,
    ),
    "base": Size(EncoderConfig(**BLOCKS), 1),
}  # fmt: skip
OPTIMIZERS = {
    "adamw": {},
    "muon/bfloat16": {"optimizer": "muon", "muon_precision": "bfloat16"},
    "muon/float32": {"optimizer": "muon", "muon_precision": "float32"},
    "muon/float32/plain": {"optimizer": "muon", "muon_precision": "float32"},
}
PASSES = "forward and backward"


def step_of(name: str, model: PretrainingModel) -> Callable[[], object]:
    """Return one step of an optimizer. Its rate is 0, as at the start of a warm-up."""
    config = TrainConfig(**OPTIMIZERS[name], warmup_steps=1)
    optimizer, _ = build_optimizer(model, config)
    if not name.endswith("plain"):
        return lambda: optimizer.step()  # the schedule keeps no optimizer alive

    def plain() -> None:
        usual, optimizers._by_square = optimizers._by_square, optimizers._by_steps
        try:
            optimizer.step()
        finally:
            optimizers._by_square = usual

    return plain


def passes_of(model: PretrainingModel, size: Size, precision: str) -> Callable[[], object]:
    """Return forward and backward pass of a training step."""
    batch = Batch.draw(size.batch, size.model.max_tokens, size.model.vocab_size, "cpu")

    def call() -> None:
        model.zero_grad()
        with contextlib.ExitStack() as stack:
            if precision == BFLOAT16:
                stack.enter_context(torch.autocast("cpu", torch.bfloat16))
            loss = loss_of(own_logits(model, batch, "predicted"), batch, "predicted")
        loss.backward()

    return call


def measured(name: str, precision: str, rounds: int) -> tuple[Times, dict[Case, str]]:
    """Time the passes and every optimizer of one size."""
    size = SIZES[name]
    model = PretrainingModel(size.model)
    tokens = size.batch * size.model.max_tokens
    calls = {Case(tokens, TRAINING, PASSES): passes_of(model, size, precision)}
    for optimizer in OPTIMIZERS:
        is_slow = optimizer == "muon/bfloat16" and not has_bf16_products("cpu")
        if not (is_slow and name == "base"):
            calls[Case(tokens, TRAINING, optimizer)] = step_of(optimizer, model)
    next(iter(calls.values()))()  # gradients
    return interleaved(calls, rounds, "cpu", clock=time.process_time)


def show(name: str, precision: str, times: Times) -> None:
    """Print a line per optimizer."""
    cases = {case.name: case for case in times}
    of_passes = times[cases[PASSES]]
    print(f"\n# {name}: {PASSES} in {precision}: {1000 * spread(of_passes).median:.4g} ms")
    print("optimizer\tms of its step\tits step / adamw's\tits step, % of a training step")
    for case in cases.values():
        if case.name == PASSES:
            continue
        shares = [
            100 * own / (own + rest) for own, rest in zip(times[case], of_passes, strict=True)
        ]
        cells = (
            case.name,
            f"{1000 * spread(times[case]).median:.4g}",
            str(ratio(times, case, cases["adamw"])),
            str(spread(shares)),
        )
        print("\t".join(cells), flush=True)


def main(argv: Sequence[str] | None = None) -> None:
    """Print a table per size."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sizes", type=names(tuple(SIZES)), default=("demo", "4x128"))
    parser.add_argument("--precision", default="auto", choices=("auto", "32-true", "bf16-mixed"))
    parser.add_argument("--rounds", type=int, default=MIN_ROUNDS)
    parser.add_argument("--threads", type=int, default=0, help="0 leaves PyTorch alone")
    options = parser.parse_args(argv)
    if options.threads:
        torch.set_num_threads(options.threads)
    print("\n".join(header("cpu")))
    print(f"# processor time; median [lowest, highest] of {options.rounds} interleaved rounds")
    precision = resolve_precision(options.precision, "cpu")
    for name in options.sizes:
        times, failed = measured(name, precision, options.rounds)
        show(name, precision, times)
        for case, why in failed.items():
            print(f"{case.name}\tnot run: {why}")


if __name__ == "__main__":
    main()
