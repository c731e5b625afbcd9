"""One training of learning.py, in a process of its own: `python learning_run.py train|follow|measure FOLDER PARENT`.

FOLDER/settings.json describes it (see learning.py); the training is `dna-bigbird pretrain`'s own, with a
clock. Started again it continues from its checkpoint. Writes steps.json (measure), and result.json and
scores.npz (train, and follow, which scores the model at each validation too).
"""

import functools
import json
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytorch_lightning as pl
import torch

from dna_bigbird.bundles.bundle import load_bundle
from dna_bigbird.core import child_start
from dna_bigbird.core.limits import use_threads
from dna_bigbird.core.writing import atomic_path, json_text
from dna_bigbird.corpus.masking import PAPER, MaskingConfig
from dna_bigbird.corpus.pretraining_examples import PretrainExamples
from dna_bigbird.corpus.token_store import TokenStore
from dna_bigbird.corpus.tokenizer import DnaTokenizer
from dna_bigbird.evaluation.evaluate_lm_parts import HiddenTokens
from dna_bigbird.evaluation.evaluate_lm_run import ExampleScores, score_examples
from dna_bigbird.metrics.language import bits_per_base
from dna_bigbird.models.config import EncoderConfig
from dna_bigbird.models.train_config import TrainConfig
from dna_bigbird.training import pretraining_start
from dna_bigbird.training.objective_config import CpcConfig
from dna_bigbird.training.pretrain import pretrain
from dna_bigbird.training.pretraining_task import PretrainingTask

MEASURED, SKIPPED = 30, 10
"""Steps whose processor time is measured, after some that are not."""

Score = Callable[[PretrainingTask], dict[str, float]]


class ProcessorClock(pl.Callback):
    """Counts tokens and processor seconds of training, and scores the model at each validation.

    The seconds are those of all threads of this process from the first step on: data, forward,
    backward, optimizer and checkpoints; no validation, no import. They are kept in the checkpoints,
    so what a killed run did after its last checkpoint, and does again, counts once.

    Args:
        score: Called at each validation; its figures join the row. None: no rows.
    """

    def __init__(
        self, score: Score | None = None, clock: Callable[[], float] = time.process_time
    ) -> None:
        self.score, self.clock = score, clock
        self.rows: list[dict] = []
        self.ends: list[float] = []
        self.tokens = 0
        self._before_s = 0.0
        self._since: float | None = None

    @property
    def seconds(self) -> float:
        """Processor seconds of training so far."""
        return self._before_s + (0.0 if self._since is None else self.clock() - self._since)

    def state_dict(self) -> dict[str, Any]:
        """Return what a restart needs."""
        return {"rows": self.rows, "tokens": self.tokens, "seconds": self.seconds}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Continue from a checkpoint."""
        self.rows, self.tokens = state_dict["rows"], state_dict["tokens"]
        self._before_s = state_dict["seconds"]

    def on_train_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Start the clock."""
        self._since = self.clock()

    def on_train_batch_end(
        self,
        trainer: pl.Trainer,
        pl_module: pl.LightningModule,
        outputs: Any,
        batch: Any,
        batch_idx: int,
    ) -> None:
        """Count the tokens."""
        self.tokens += int((~batch.is_padding_BT).sum())
        self.ends.append(self.seconds)

    def on_validation_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Stop the clock."""
        self._before_s, self._since = self.seconds, None

    def on_validation_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Score the model, and start the clock again."""
        if self.score is not None:
            row = {"step": trainer.global_step, "tokens": self.tokens}
            row |= {"processor_s": round(self._before_s, 2), **self.score(pl_module)}
            self.rows.append(row)
        self._since = self.clock()


@contextmanager
def watched_by(callback: pl.Callback) -> Iterator[None]:
    """Let every training of the block have one more callback; `pretrain` has no option for it."""
    usual = pretraining_start.fit
    pretraining_start.fit = functools.partial(usual, callbacks=(callback,))
    try:
        yield
    finally:
        pretraining_start.fit = usual


def train_by(
    run: dict, clock: ProcessorClock, steps: int, every: int, output: Path, **changes: Any
) -> None:
    """Call `pretrain` as the settings of a run have it."""
    settings, corpus = run["settings"], run["corpus"]
    training = settings["training"] | {"max_steps": steps, "validate_every": every} | changes
    training["warmup_steps"] = min(training.get("warmup_steps", 0), steps // 10)
    objective = dict(settings["objective"])
    if "cpc" in objective:
        objective["cpc"] = CpcConfig(**objective["cpc"])
    if objective.get("repeat_weight", 1.0) != 1.0:
        objective["genome"] = Path(corpus["genome"])
    initial = run.get("initial")
    start = {"initial": initial} if initial else {"tokenizer": Path(corpus["tokenizer"])}
    with watched_by(clock):
        pretrain(
            **{name: Path(corpus[name]) for name in ("train", "validation")},
            **start,
            output=output / "bundle",
            checkpoints=output / "checkpoints",
            seed=run["seed"],
            model=EncoderConfig(**settings["model"]),
            masking=MaskingConfig(**settings["masking"]),
            training=TrainConfig(**training, measure_speed=False),
            threads=1,
            progress=False,
            teachers=run.get("teachers", []),
            **objective,
        )


def measured_step(run: dict) -> float:
    """Return the processor seconds of a training step of a run."""
    clock = ProcessorClock()
    steps = SKIPPED + MEASURED
    with tempfile.TemporaryDirectory() as folder:
        train_by(run, clock, steps, steps, Path(folder), validation_examples=1)
    return (clock.ends[-1] - clock.ends[SKIPPED - 1]) / MEASURED


def steps_within(seconds: float, per_step: float, validations: int) -> tuple[int, int]:
    """Return how many steps fit into a time, and how many lie between two validations.

    Example:
        >>> steps_within(1200.0, 0.5, 20)
        (2400, 120)
        >>> steps_within(2.0, 0.5, 20)
        (4, 1)
    """
    fitting = max(1, int(seconds / per_step))
    every = max(1, fitting // validations)
    return fitting // every * every, every


def validation_examples(run: dict) -> PretrainExamples:
    """Return the examples that every arm is scored on, masked as in the paper."""
    corpus = run["corpus"]
    tokenizer = DnaTokenizer.from_file(corpus["tokenizer"])
    store = TokenStore(Path(corpus["validation"]))
    max_tokens = EncoderConfig(**run["settings"]["model"]).max_tokens
    return PretrainExamples(store, tokenizer, max_tokens, PAPER, run["examples_seed"])


def scored(run: dict, task: PretrainingTask, count: int) -> ExampleScores:
    """Score the first `count` of the validation examples, in float32."""
    batch_size = run["settings"]["training"].get("batch_size", 8)
    return score_examples(task, validation_examples(run), count, batch_size=batch_size)


def measure(folder: Path) -> None:
    """Write the steps that fit into the time of a run."""
    run = json.loads((folder / "settings.json").read_text())
    per_step = measured_step(run)
    steps, every = steps_within(60 * run["minutes"], per_step, run["validations"])
    with atomic_path(folder / "steps.json") as path:
        text = {"seconds_per_step": round(per_step, 6), "steps": steps, "validate_every": every}
        path.write_text(json_text(text))


def follow(folder: Path) -> None:
    """Train, and score the model at each validation."""
    train(folder, is_followed=True)


def train(folder: Path, *, is_followed: bool = False) -> None:
    """Train, score the weights of the best step, and write the figures."""
    run = json.loads((folder / "settings.json").read_text())

    def score(task: PretrainingTask) -> dict[str, float]:
        scores = scored(run, task, run["curve_examples"])
        return {
            "bits_per_base_masked": bits_per_base(scores.nll_nats, scores.base_pairs),
            "mlm_accuracy": float(scores.right.sum() / scores.predicted.sum()),
        }

    clock = ProcessorClock(score if is_followed else None)
    sizes = {"validation_examples": run["curve_examples"]}  # of the choice of the best step
    train_by(run, clock, run["steps"], run["validate_every"], folder, **sizes)
    bundle = load_bundle(folder / "bundle")
    task = PretrainingTask(bundle.model, TrainConfig(), bundle.tokenizer.piece_bp)
    scores = scored(run, task, run["examples"])
    with atomic_path(folder / "scores.npz") as path, path.open("wb") as file:
        np.savez(file, nll_nats=scores.nll_nats, base_pairs=scores.base_pairs)
    result = {"run": run, "rows": clock.rows, "tokens": clock.tokens}
    result |= {"processor_s": round(clock.seconds, 1), "best_step": bundle.metrics.step}
    examples = validation_examples(run)
    hidden = HiddenTokens(examples, run["examples"], examples.vocabulary.piece_bp)
    result |= {"metrics": scores.metrics(run["examples_seed"], hidden)}
    with atomic_path(folder / "result.json") as path:
        path.write_text(json_text(result))


def main(argv: list[str]) -> None:
    """Measure or train; end with the process that started this one, whose id is the last argument."""
    child_start.end_with_parent(int(argv[2]), by_signal=False)
    use_threads(1)
    torch.set_num_interop_threads(1)
    {"measure": measure, "train": train, "follow": follow}[argv[0]](Path(argv[1]))


if __name__ == "__main__":
    main(sys.argv[1:])
