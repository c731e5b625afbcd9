"""Steps of `plan`: how fast this machine computes a model, measured in a few seconds."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache

from dna_bigbird.models.config import EncoderConfig

MOST_OPERATIONS = 3e10
"""Of one measured training step; a larger one is cut in examples, then in layers, and scaled up."""
MEASURED_S = 1.0
MASKED_SHARE = 0.15


@dataclass(frozen=True)
class Work:
    """Training steps or predictions of one model."""

    encoder: EncoderConfig
    tokens: int
    """Of one sequence."""
    batch_size: int
    labels: int
    """0: masked tokens instead of labels."""
    precision: str = "auto"


def seconds_per_sequence(work: Work) -> float:
    """Return how long this machine trains on one sequence, an optimizer step included."""
    sequences, layers = _cut(work)
    encoder = replace(work.encoder, num_layers=layers)
    seconds = _measure(replace(work, encoder=encoder, batch_size=sequences)) / sequences
    cut = _operations(replace(work, encoder=encoder))
    return seconds * _operations(work) / cut


def _cut(work: Work) -> tuple[int, int]:
    """Return with how many sequences and layers a step is measured."""
    each = _operations(work)
    sequences = max(1, min(work.batch_size, int(MOST_OPERATIONS / each)))
    layers = work.encoder.num_layers
    while layers > 1 and sequences == 1 and _scaled(work, layers) > MOST_OPERATIONS:
        layers = layers // 2
    return sequences, layers


def _scaled(work: Work, layers: int) -> float:
    return _operations(replace(work, encoder=replace(work.encoder, num_layers=layers)))


@cache
def _operations(work: Work) -> float:
    """Return the operations of training on one sequence, counted on a model without weights."""
    import torch

    from dna_bigbird.models.flops import training_flops

    with torch.device("meta"):
        model = _model(work)
    return training_flops(model, [work.tokens], predicted_tokens(work, 1))


def total_operations(work: Work, sequences: float) -> float:
    """Return the operations of training on so many sequences."""
    return _operations(work) * sequences


def predicted_tokens(work: Work, sequences: int) -> int:
    """Return how many masked tokens are predicted in so many sequences."""
    return 0 if work.labels else max(1, int(MASKED_SHARE * work.tokens)) * sequences


def _model(work: Work):
    from dna_bigbird.models.classifier import SequenceClassifier
    from dna_bigbird.models.pretraining_model import PretrainingModel

    if work.labels:
        return SequenceClassifier(work.encoder, work.labels)
    return PretrainingModel(work.encoder)


@cache
def _measure(work: Work) -> float:
    """Return the seconds of one training step with random weights; the first one is not counted."""
    import torch

    on_gpu = torch.cuda.is_available()
    clock = time.perf_counter if on_gpu else time.process_time
    step = _step(work)
    step()
    times: list[float] = []
    while sum(times) < MEASURED_S and len(times) < 20:
        started_at = clock()
        step()
        times.append(clock() - started_at)
    # Processor time of all threads: other programs do not change it.
    return min(times) / (1 if on_gpu else torch.get_num_threads())


def _step(work: Work) -> Callable[[], None]:
    import torch

    from dna_bigbird.models.precision import BFLOAT16, resolve_precision
    from dna_bigbird.training.training_checks import set_training_backend

    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = _model(work).train().to(device)
    set_training_backend(model.encoder, "auto")
    shape = (work.batch_size, work.tokens)
    ids_BT = torch.randint(6, work.encoder.vocab_size, shape, device=device)
    is_padding_BT = torch.zeros(shape, dtype=torch.bool, device=device)
    positions_P = torch.arange(predicted_tokens(work, work.batch_size), device=device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.0)
    is_bf16 = resolve_precision(work.precision, device) == BFLOAT16

    def step() -> None:
        with torch.autocast(device, torch.bfloat16, enabled=is_bf16):
            if work.labels:
                outputs: Sequence = (model(ids_BT, is_padding_BT),)
            else:
                outputs = model(ids_BT, is_padding_BT, None, positions_P)
            loss = sum(output.float().logsumexp(-1).mean() for output in outputs)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        if device == "cuda":
            torch.cuda.synchronize()

    return step
