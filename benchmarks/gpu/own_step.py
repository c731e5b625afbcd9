"""Part (d) of gpu.py: the step of config/grch37.yaml on one GPU, and the days of its 1,000,000 steps.

The data of a step are random tokens, 4,096 per sequence. Loss, optimizer, schedule and deterministic
algorithms are those of `dna-bigbird pretrain`.
"""

import functools
from dataclasses import replace
from pathlib import Path

import torch
import yaml

from benchmarks.gpu.exactness import FLEX_SEARCHES_S
from benchmarks.gpu.rows import Row, Values
from benchmarks.gpu.settings import Settings
from benchmarks.gpu.steps import (
    Fit,
    deterministic,
    first_that_fits,
    fresh,
    random_batch,
    sizes_to_try,
    step_seconds,
)
from dna_bigbird.corpus.batches import PretrainingBatch
from dna_bigbird.models.config import EncoderConfig
from dna_bigbird.models.flops import training_flops
from dna_bigbird.models.pretraining_model import PretrainingModel
from dna_bigbird.models.train_config import TrainConfig
from dna_bigbird.training import training_checks
from dna_bigbird.training.optimisation import build_optimizer
from dna_bigbird.training.pretraining_task import PretrainingTask
from dna_bigbird.training.speed import measured_peak

CONFIG = Path(__file__).resolve().parents[2] / "config/grch37.yaml"
GPUS, DAY_S = 8, 86400
BP_PER_TOKEN = 8.78
"""As in the paper; unused by the loss."""


def rows(settings: Settings) -> list[Row]:
    """Return one row per backend, the one of the config first."""
    model, training = read(settings)
    names = dict.fromkeys([training.attention_backend, *settings.backends])
    chosen = [_row(settings, name, False, *cost(settings, model, name)) for name in names]
    if settings.sizes.compiled:
        chosen.append(_row(settings, settings.main_backend, True, 150.0, 2))
    return chosen


def cost(settings: Settings, model: EncoderConfig, name: str) -> tuple[float, int]:
    """Return the seconds to expect and the priority."""
    if name == "flex" and model.block_size % 128:
        return FLEX_SEARCHES_S, 4
    if name == "auto" and settings.device == "cuda":
        return 240.0, 4  # it measures the others first
    return 45.0, 1 if name == settings.main_backend else 3


def _row(settings: Settings, name: str, compiled: bool, seconds: float, priority: int) -> Row:
    measured = functools.partial(measure, settings, name, compiled)
    return Row({"backend": name, "compiled": compiled}, measured, seconds, priority)


def read(settings: Settings) -> tuple[EncoderConfig, TrainConfig]:
    """Return the sections `model` and `pretraining` of the config, with tiny sizes if asked for."""
    config = yaml.safe_load(CONFIG.read_text())
    model = EncoderConfig(vocab_size=config["tokenizer"]["vocab_size"], **config["model"])
    training = TrainConfig(**config["pretraining"])
    if settings.sizes.encoder:
        model = replace(model, **settings.sizes.encoder)
        training = replace(training, batch_size=2, accumulate=2)
    return model, training


def measure(settings: Settings, backend: str, compiled: bool) -> Values:
    """Time steps with the first micro-batch that fits; the sequences per step stay the same."""
    model, training = read(settings)
    peak = measured_peak(torch.device(settings.device), in_bfloat16=True)
    fits = [Fit(training.batch_size, False)]
    while fits[-1].batch > 1:
        fits.append(Fit(fits[-1].batch // 2, False))
    return first_that_fits(
        sizes_to_try(settings, model, fits, backend),
        lambda fit: timed(settings, model, training, backend, compiled, fit, peak),
    )


def timed(
    settings: Settings,
    model: EncoderConfig,
    training: TrainConfig,
    backend: str,
    compiled: bool,
    fit: Fit,
    peak: float,
) -> Values:
    """Time steps with one micro-batch."""
    sequences = training.batch_size * training.accumulate
    training = replace(training, batch_size=fit.batch, accumulate=sequences // fit.batch)
    network = fresh(lambda: PretrainingModel(model), settings.device)
    used = backend
    if training_checks.is_backend_open(
        network, replace(training, attention_backend=backend), settings.device
    ):
        used = training_checks.choose_backend(network, training)[training_checks.BACKEND]
    network.encoder.set_backend(used)
    if compiled:
        network.compile(dynamic=True)
    task = PretrainingTask(network, training, [BP_PER_TOKEN] * model.vocab_size)
    task = task.to(settings.device).train()
    lengths = [model.max_tokens] * fit.batch
    batches = [random_batch(model, lengths, seed) for seed in range(training.accumulate)]
    if settings.device == "cuda":
        batches = [PretrainingBatch(*(x.pin_memory() for x in batch)) for batch in batches]
    with deterministic():
        figures = step_seconds(settings, step_of(task, training, batches, settings.device), 1)
    step_s = figures["s per step"]
    predicted = sum(len(batch.labels_P) for batch in batches)
    operations = training_flops(network, [model.max_tokens] * sequences, predicted)
    days = training.max_steps * step_s / DAY_S
    return {
        "computed with": used,
        "micro-batch": f"{fit.batch} x {training.accumulate}",
        "tokens/s": round(sequences * model.max_tokens / step_s),
        **figures,
        "utilisation": operations / (step_s * peak),
        "peak TFLOP/s": peak / 1e12,
        f"days of {training.max_steps:,} steps on 1": days,
        f"on {GPUS}, perfect scaling assumed": days / GPUS,
    }


def step_of(task: PretrainingTask, training: TrainConfig, batches: list, device: str):
    """Return one optimizer step over the micro-batches, copies to the device included."""
    optimizer, schedule = build_optimizer(task.model, training)

    def step() -> None:
        for batch in batches:
            moved = task.transfer_batch_to_device(batch, torch.device(device), 0)
            with torch.autocast(device, torch.bfloat16):
                loss, _ = task.loss_and_sums(moved)
            (loss / len(batches)).backward()
        optimizer.step()
        schedule.step()
        optimizer.zero_grad(set_to_none=True)

    return step
