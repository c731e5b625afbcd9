"""Part (e) of gpu.py: two trainings of 20 steps from one seed in one process, compared bit by bit."""

import functools
import re
import warnings

import torch

from benchmarks.gpu.exactness import FLEX_SEARCHES_S
from benchmarks.gpu.own_step import BP_PER_TOKEN, step_of
from benchmarks.gpu.rows import Row, Values
from benchmarks.gpu.settings import Settings
from benchmarks.gpu.steps import deterministic, fresh, random_batch
from dna_bigbird.models.pretraining_model import PretrainingModel
from dna_bigbird.models.train_config import TrainConfig
from dna_bigbird.training.pretraining_task import PretrainingTask

SHORTER = 0.7
"""Length of the last sequence of a batch, as a share of the others': a second group, with padding."""


def rows(settings: Settings) -> list[Row]:
    """Return one row per backend."""
    block = settings.encoder().block_size
    return [
        Row(
            {"backend": name},
            functools.partial(measure, settings, name),
            *(
                (FLEX_SEARCHES_S, 4)
                if name == "flex" and block % 128
                else (20.0, 1 if name == settings.main_backend else 2)
            ),
        )
        for name in settings.backends
    ]


def measure(settings: Settings, backend: str) -> Values:
    """Train twice, and return how many weights differ and by how much."""
    with warnings.catch_warnings(record=True) as caught, deterministic():
        warnings.simplefilter("always")
        runs = [trained(settings, backend) for _ in range(2)]
    pairs = [(runs[0][name], runs[1][name]) for name in runs[0]]
    different = sum(not torch.equal(a, b) for a, b in pairs)
    named = {
        re.split(r"\W", str(x.message))[0] for x in caught if "deterministic" in str(x.message)
    }
    return {
        "steps": settings.sizes.determinism_steps,
        "bitwise equal": not different,
        "weights that differ": f"{different} of {len(pairs)}",
        "largest difference": max((a - b).abs().max().item() for a, b in pairs),
        "operations that torch warns about": ", ".join(sorted(named)) or "none",
    }


def trained(settings: Settings, backend: str) -> dict[str, torch.Tensor]:
    """Return the weights after some steps with AdamW in bfloat16 autocast."""
    config, sizes = settings.encoder(), settings.sizes
    steps = sizes.determinism_steps
    training = TrainConfig(max_steps=steps, validate_every=steps, precision="bf16-mixed")
    model = fresh(lambda: PretrainingModel(config), settings.device)
    model.encoder.set_backend(backend)
    task = PretrainingTask(model, training, [BP_PER_TOKEN] * config.vocab_size)
    task = task.to(settings.device).train()
    lengths = [config.max_tokens] * sizes.determinism_batch
    lengths[-1] = int(SHORTER * config.max_tokens)
    batches: list = [None]
    step = step_of(task, training, batches, settings.device)
    for number in range(steps):
        batches[0] = random_batch(config, lengths, number)
        torch.manual_seed(number)  # of dropout, as tasks.steps does
        step()
    return {name: x.detach().cpu() for name, x in task.model.state_dict().items()}
