"""A staged training: each phase is a training of its own, from the weights of the one before."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor

from dna_bigbird.core.errors import InputError, note
from dna_bigbird.core.rounding import rounded
from dna_bigbird.corpus.characters import (
    COMPLEMENT,
    UNKNOWN,
    CharacterExamples,
    Characters,
    CharacterSplit,
    read_bases,
    read_characters,
)
from dna_bigbird.metrics.language import interval
from dna_bigbird.models.character_model import CharacterModel
from dna_bigbird.models.train_config import TrainConfig
from dna_bigbird.training.character_config import Phase, StagedTraining
from dna_bigbird.training.data_modules import pretraining_data
from dna_bigbird.training.fit import FitResult, fit
from dna_bigbird.training.objective import Objective, Sums, pair
from dna_bigbird.training.training_checks import module_sha256

# Each character from those before it (specification §8.2).

# B batch, T characters, V vocabulary
# ruff: noqa: N815 - fields carry their shape as a capital suffix, as variables do


class CharacterBatch(NamedTuple):
    """Windows of equal length, one character longer than what is read: (B, T + 1)."""

    characters_BT: Tensor
    examples_B: Tensor
    """Numbers of the examples."""


def collate_characters(numbered: Sequence[tuple[int, NDArray[np.uint8]]]) -> CharacterBatch:
    """Join numbered windows of equal length."""
    rows = np.stack([window for _, window in numbered]).astype(np.int64)
    return CharacterBatch(torch.from_numpy(rows), torch.tensor([index for index, _ in numbered]))


class CharacterTask(Objective):
    """Predict the next character; loss and bits are means over the predicted ones."""

    monitor = "bits_per_character"
    mode = "min"
    example = "character"

    def __init__(self, model: CharacterModel, config: TrainConfig, unscored: int | None) -> None:
        super().__init__(model, config)
        self.unscored = unscored

    def loss_and_sums(self, batch: CharacterBatch) -> tuple[Tensor, Sums]:
        """Return the loss and the figures above."""
        read_BT, next_BT = batch.characters_BT[:, :-1], batch.characters_BT[:, 1:]
        nats_BT = nats_of(self.model(read_BT), next_BT)
        scored = torch.ones_like(nats_BT)
        if self.unscored is not None:
            scored = (next_BT != self.unscored).to(nats_BT.dtype)
        total, count = (nats_BT * scored).sum(), scored.sum()
        bits = pair(total, count)
        return total / count.clamp(min=1), {
            "loss": bits,
            "bits_per_character": bits / torch.tensor([math.log(2), 1.0]).to(bits),
        }


def nats_of(logits_BTV: Tensor, next_BT: Tensor) -> Tensor:
    """Return the negative log-likelihood (B, T) of the true characters, float32 or float64."""
    wide = torch.promote_types(logits_BTV.dtype, torch.float32)
    return F.cross_entropy(logits_BTV.to(wide).transpose(1, 2), next_BT, reduction="none")


def read_parts(path: Path, source: str, split: CharacterSplit) -> Characters:
    """Return the characters of a file; `source` is 'bytes', 'text8', 'enwik8' or 'dna'."""
    return read_bases(path, split) if source == "dna" else read_characters(path, split, source)


class FinishedPhase(NamedTuple):
    """A phase and its result."""

    phase: Phase
    windows: list[int]
    result: FitResult


def train_in_phases(
    model: CharacterModel,
    characters: Characters,
    training: StagedTraining,
    *,
    checkpoints: Path,
    seed: int,
    settings: dict,
) -> list[FinishedPhase]:
    """Train a model, which has the weights and the windows of the last phase at the end.

    A phase starts from the best weights of the one before, with a new optimizer and a folder of its
    own in `checkpoints`. `settings` is what else decides the result, such as checksums of the
    input.
    """
    first_windows, finished = list(model.config.causal_windows), []
    for phase in training.phases:
        windows = [window * phase.factor for window in first_windows]
        model.use_windows(windows)
        result = _train_phase(
            model,
            _examples(characters, training, phase, seed),
            training,
            phase,
            unscored=characters.unscored,
            checkpoints=checkpoints / f"phase-{phase.number + 1}",
            seed=_seed_of(seed, phase),
            settings={
                **settings,
                "phase": phase.number + 1,
                "model": asdict(model.config),
                "characters": phase.max_tokens,
                "both_strands": _reads_both_strands(characters, training),
                "weights": module_sha256(model),
            },
        )
        bits = result.best_metrics["bits_per_character"]
        note(
            f"phase {phase.number + 1} of {len(training.phases)}: {bits:.4f} bits per character on "
            f"validation, windows of {phase.max_tokens:,}"
        )
        finished.append(FinishedPhase(phase, windows, result))
    return finished


def _train_phase(model, examples, training, phase, *, unscored, **run) -> FitResult:
    config = training.train_config(phase.number)
    count = examples["validation"].examples_per_epoch
    data = pretraining_data(
        examples["train"],
        examples["validation"],
        batch_size=config.batch_size,
        validation_examples=min(config.validation_examples or count, count),
        accumulate=config.accumulate,
        workers=config.workers,
        collate=collate_characters,
    )
    return fit(CharacterTask(model, config, unscored), data, config, **run)


def _examples(
    characters: Characters, training: StagedTraining, phase: Phase, seed: int
) -> dict[str, CharacterExamples]:
    """Return the examples of a phase, of both strands if DNA is to be read so."""
    complement = COMPLEMENT if _reads_both_strands(characters, training) else None
    build = {
        "train": partial(CharacterExamples, complement=complement),
        "validation": partial(CharacterExamples, in_order=True),
    }
    examples = {}
    for part, new in build.items():
        try:
            examples[part] = new(characters.parts[part], phase.max_tokens, _seed_of(seed, phase))
        except ValueError as error:
            raise InputError(
                f"--training.max_tokens {training.max_tokens}: in phase {phase.number + 1} a window has "
                f"{phase.max_tokens:,} characters, and the {part} part has {error}; take shorter windows "
                "or fewer phases"
            ) from None
    return examples


def _reads_both_strands(characters: Characters, training: StagedTraining) -> bool:
    """Return True for DNA, whose N is never predicted, unless one strand is asked for."""
    return training.both_strands and characters.unscored == UNKNOWN


def _seed_of(seed: int, phase: Phase) -> int:
    return 1000 * seed + phase.number


# --- Scores and history of a staged training, as its folder has them ---

PIECE = 10_000
"""Characters that the bootstrap draws together: neighbours are not independent."""


def metrics_of(
    finished: Sequence[FinishedPhase], characters: Characters, seed: int
) -> dict[str, object]:
    """Return metrics.json: the best validation of each phase, windows one after another."""
    phases = [
        {
            "phase": each.phase.number + 1,
            "characters": each.phase.max_tokens,
            "windows": each.windows,
            "step": each.result.best_step,
            "bits_per_character": each.result.best_metrics["bits_per_character"],
        }
        for each in finished
    ]
    return {
        **rounded({"bits_per_character": phases[-1]["bits_per_character"]}),
        "n_characters": {name: len(part) for name, part in characters.parts.items()},
        "phases": [rounded(phase) for phase in phases],
        "seed": seed,
        "split": "validation",
    }


def history_of(finished: Sequence[FinishedPhase]) -> str:
    """Return history.tsv: that of each phase, with its number in the first column."""
    lines = []
    for each in finished:
        head, *rows = each.result.history.splitlines()
        lines += [f"phase\t{head}"] if not lines else []
        lines += [f"{each.phase.number + 1}\t{row}" for row in rows]
    return "\n".join(lines) + "\n"


def predictor_rows(
    nats: Mapping[str, NDArray[np.float64]],
    characters: NDArray[np.uint8],
    unscored: int | None,
    seed: int,
) -> list[dict[str, object]]:
    """Return bits per character of each predictor, all on the same characters."""
    # Those are the ones that every predictor gives a number for (`nats`, (N,), NaN where it gives
    # none), without `unscored`; n counts them.
    is_scored = np.all([np.isfinite(values) for values in nats.values()], axis=0)
    if unscored is not None:
        is_scored &= characters != unscored
    piece = np.flatnonzero(is_scored) // PIECE
    counts = np.bincount(piece)
    rows = []
    for name, values in nats.items():
        bits = np.bincount(piece, values[is_scored] / np.log(2))
        value, low, high = interval("bits", bits[counts > 0], counts[counts > 0], seed).values()
        if len(counts) < 2:  # one piece gives no interval
            low = high = None
        rows.append(
            {"predictor": name, "bits": value, "low": low, "high": high, "n": int(is_scored.sum())}
        )
    return rows
