"""Peak memory of a pretraining step: measured on the CPU against the estimate of models/memory.py.

    python -m benchmarks.speed step_memory              ratios at small sizes, then the paper's model on a
    GPU
    python -m benchmarks.speed step_memory --estimate   the estimate alone
    python -m benchmarks.speed step_memory --training   whole steps with the optimizer, of 2 GB and more

Measured is what forward and backward pass of one micro-batch add to the resident memory of a
process that has weights and gradients; the same part of the estimate is next to it. With --training
it is what the start of a training (two steps with AdamW) adds to a process that has the weights
alone. The figures for a GPU are the estimate alone: no GPU was available.
"""

import argparse
import itertools
from collections.abc import Callable
from dataclasses import dataclass, replace

import torch
from torch import nn

from benchmarks.lib import memory
from benchmarks.lib.timing import header
from dna_bigbird.models.config import EncoderConfig
from dna_bigbird.models.memory import pretraining_memory
from dna_bigbird.models.pretraining_model import PretrainingModel
from dna_bigbird.models.train_config import TrainConfig
from dna_bigbird.training.optimisation import build_optimizer

SMALL = EncoderConfig(
    vocab_size=4000, hidden_size=256, num_layers=4, num_heads=4, ffn_size=1024, max_tokens=1024
)
WIDE = EncoderConfig(num_layers=2, max_tokens=2048)
PAPER = EncoderConfig()
MASKED = 0.15
PROCESSES = 8


@dataclass(frozen=True)
class Step:
    """One micro-batch of full sequences."""

    config: EncoderConfig
    batch_size: int
    precision: str = "bf16-mixed"
    backend: str = "cpu_chunks"

    @property
    def predicted(self) -> int:
        """Masked tokens of the micro-batch."""
        return self.batch_size * int(MASKED * self.config.max_tokens)

    def estimate(self, device: str, processes: int = 1, accumulates: bool = True):
        """Return the estimated memory of this step."""
        return pretraining_memory(
            self.config,
            batch_size=self.batch_size,
            predicted=self.predicted,
            precision=self.precision,
            device=device,
            backend=self.backend,
            processes=processes,
            accumulates=accumulates,
        )


STEPS = {
    "small": Step(SMALL, 8),
    "small, float32": Step(SMALL, 8, "32-true"),
    "small, no dropout": Step(replace(SMALL, dropout=0.0), 8),
    "small, gradient checkpointing": Step(replace(SMALL, gradient_checkpointing=True), 8),
    "small, gather": Step(SMALL, 8, backend="gather"),
    "base width, 2 layers": Step(WIDE, 2),
    "base width, 2 layers, gather": Step(WIDE, 2, backend="gather"),
}


TRAININGS = {
    "base width, 2 layers": Step(WIDE, 8),
    "base width, 2 layers, float32": Step(WIDE, 5, "32-true"),
    "base model, 1,024 tokens": Step(replace(PAPER, max_tokens=1024), 2),
}
"""Steps of 2 GB and more."""


def make(step: Step) -> Callable[[], None]:
    """Return a call that computes the loss and its gradients."""
    config = step.config
    model = PretrainingModel(config).train()
    model.encoder.set_backend(step.backend)
    drawn = torch.Generator().manual_seed(0)
    shape = (step.batch_size, config.max_tokens)
    ids_BT = torch.randint(6, config.vocab_size, shape, generator=drawn)
    is_padding_BT = torch.zeros(shape, dtype=torch.bool)
    positions_P = torch.randperm(ids_BT.numel(), generator=drawn)[: step.predicted].sort().values
    labels_P = ids_BT.flatten()[positions_P]
    for parameter in model.parameters():
        parameter.grad = torch.zeros_like(parameter)

    def call() -> None:
        with torch.autocast("cpu", torch.bfloat16, enabled=step.precision == "bf16-mixed"):
            mlm_PV, nsp_B2 = model(ids_BT, is_padding_BT, None, positions_P)
            loss = nn.functional.cross_entropy(mlm_PV.float(), labels_P)
            loss = loss + nn.functional.cross_entropy(nsp_B2.float(), ids_BT[:, 0] % 2)
        del mlm_PV, nsp_B2
        loss.backward()

    call.model = model
    return call


def make_training(step: Step) -> Callable[[], None]:
    """Return a call that trains for two steps from the weights alone, and forgets all but those."""
    compute = make(step)
    model = compute.model
    settings = TrainConfig(precision=step.precision, max_steps=2, validate_every=2)

    def call() -> None:
        model.zero_grad(set_to_none=True)
        optimizer, _ = build_optimizer(model, settings)
        for _ in range(2):
            compute()
            optimizer.step()
            optimizer.zero_grad()
        model.zero_grad(set_to_none=True)

    return call


def compare(names: list[str], training: bool) -> None:
    """Print measured and estimated memory of steps on the CPU, and their ratio."""
    steps = TRAININGS if training else STEPS
    how = make_training if training else make
    peaks = memory.peaks(how, [steps[name] for name in names], "cpu")
    print(f"{'step on the CPU':32} {'measured':>9} {'estimate':>9} {'measured / estimate':>20}")
    for name in names:
        step = steps[name]
        part = step.estimate("cpu", accumulates=not training)
        kept = part.weights if training else part.states - part.copies
        expected, measured = part.total - kept, peaks[step]
        if isinstance(measured, str):
            print(f"{name:32} {measured}")
        else:
            ratio = measured / expected
            print(f"{name:32} {measured / 1e9:6.2f} GB {expected / 1e9:6.2f} GB {ratio:20.2f}")


def paper() -> None:
    """Print the estimate for the paper's model on one GPU of several."""
    print(f"\nestimate for the paper's model on one GPU of {PROCESSES}, bf16-mixed, in GB")
    print("backend  batch_size  checkpointing  states  activations  logits  layer again  total")
    for backend, checkpointing in itertools.product(("gather", "flex"), (False, True)):
        config = replace(PAPER, gradient_checkpointing=checkpointing)
        for batch_size in (32, 16, 8):
            part = Step(config, batch_size, backend=backend).estimate("cuda", PROCESSES)
            values = (part.states, part.activations, part.logits, part.recomputed, part.total)
            widths = (6, 11, 6, 11, 5)
            texts = (f"{x / 1e9:{w}.1f}" for x, w in zip(values, widths, strict=True))
            print(f"{backend:7}  {batch_size:10}  {checkpointing!s:>13}  {'  '.join(texts)}")


def main(arguments: list[str] | None = None) -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--estimate", action="store_true", help="print the estimate alone")
    parser.add_argument("--steps", nargs="*", choices=list(STEPS), default=list(STEPS))
    parser.add_argument("--training", action="store_true", help="whole steps, above the weights")
    options = parser.parse_args(arguments)
    if not options.estimate:
        print("\n".join(header("cpu")))
        compare(list(TRAININGS) if options.training else options.steps, options.training)
    paper()


if __name__ == "__main__":
    main()
