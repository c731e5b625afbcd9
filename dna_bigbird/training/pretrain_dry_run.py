"""Steps of `pretrain --dry_run`: what a run would take on a GPU, from its settings alone."""

from collections.abc import Iterable, Iterator
from pathlib import Path

from dna_bigbird.core.results import DryRun
from dna_bigbird.corpus.masking import MaskingConfig
from dna_bigbird.models.config import EncoderConfig
from dna_bigbird.models.memory import StepMemory, pretraining_memory, pretraining_parameters
from dna_bigbird.models.precision import BFLOAT16
from dna_bigbird.models.train_config import TrainConfig

GPUS_GB = (40, 80, 141)
"""Memory of an A100, an H100 and an H200."""
USABLE = 0.9
"""Share of it that the estimate may fill: CUDA's runtime, workspaces and gaps are not counted."""
BACKENDS = {"gather": "gather", "flex": "flex, triton"}
"""Those whose memory differs, and the names that are printed."""


def dry_run(
    encoder: EncoderConfig, source: str, training: TrainConfig, masking: MaskingConfig
) -> DryRun:
    """Return the estimate; `encoder` and `source` are as `sized` returns them."""
    predicted = int(masking.fraction * encoder.max_tokens) * training.batch_size
    is_etc = encoder.attention == "etc"
    backends = BACKENDS if encoder.has_blocks else {"auto": "auto"}
    precision = BFLOAT16 if training.precision == "auto" else training.precision
    memory = {
        name: pretraining_memory(
            encoder,
            batch_size=training.batch_size,
            predicted=predicted,
            precision=precision,
            device="cuda",
            backend=name,
            processes=training.processes,
            optimizer=training.optimizer,
            accumulates=training.accumulate > 1,
        )
        for name in backends
    }
    passes = training.accumulate * training.processes
    tokens = training.batch_size * encoder.max_tokens * passes
    parameters = pretraining_parameters(encoder)
    lines = [
        f"model            {parameters:,} parameters, vocabulary {encoder.vocab_size:,} ({source})",
        f"tokens per step  {tokens:,}: {training.batch_size} sequences of {encoder.max_tokens:,} in "
        f"each of {passes} micro-batches",
        "",
        *table(memory, backends.values(), training.optimizer, precision),
        "",
        *(["The second pass over hidden sentences (CPC) is not counted.", ""] if is_etc else []),
        "An estimate from the settings; docs/training.md has how far it was checked. A training fits a",
        f"GPU that it fills to {USABLE:.0%} at most. Nothing was read or written.",
    ]
    return DryRun(parameters, tokens, memory, "\n".join(lines))


def sized(
    encoder: EncoderConfig, tokenizer: Path | None, initial: Path | None
) -> tuple[EncoderConfig, str]:
    """Return the encoder as a bundle or a tokenizer, if it is there, sizes it, and its source."""
    from dna_bigbird.training.pretraining_start import choose_start

    if initial is None and tokenizer is not None and not tokenizer.is_file():
        return encoder, f"as in the settings: there is no {tokenizer}"
    return choose_start(tokenizer, initial, encoder).encoder, str(tokenizer or initial)


def table(
    memory: dict[str, StepMemory], backends: Iterable[str], optimizer: str, precision: str
) -> Iterator[str]:
    """Yield the lines of the table, in GB (10^9 bytes) of one GPU."""
    steps = list(memory.values())
    yield _line("GB of one GPU, attention backend", backends)
    rows = {
        "weights": [step.weights for step in steps],
        "gradients": [step.gradients for step in steps],
        f"optimizer state ({optimizer})": [step.optimizer for step in steps],
        f"copies of weights ({precision})": [step.copies for step in steps],
        "activations": [step.activations for step in steps],
        "logits, or a layer computed again": [max(s.logits, s.recomputed) for s in steps],
        "expected peak": [step.total for step in steps],
    }
    for name, values in rows.items():
        yield _line(name, (f"{value / 1e9:.1f}" for value in values))
    for size in GPUS_GB:
        fits = ("yes" if s.total <= USABLE * size * 1e9 else "no" for s in steps)
        yield _line(f"fits {size} GB", fits)


def _line(name: str, cells) -> str:
    return f"{name:<34}" + "".join(f"{cell:>14}" for cell in cells)
