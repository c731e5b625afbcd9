"""Fine-tunings of several arms for equal processor time, scored on the same rows: what benchmarks of heads share."""

import argparse
import functools
import json
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from learning_run import ProcessorClock

from dna_bigbird.core.writing import atomic_path, json_text
from dna_bigbird.evaluation.evaluate import evaluate
from dna_bigbird.training import label_training
from dna_bigbird.training.finetune import finetune
from dna_bigbird.training.label_config import LabelTrainConfig

MEASURED, SKIPPED, ROUNDS = 10, 3, 2
"""Steps of a measurement of speed, those before it, and how often it is done; the fastest counts."""


@dataclass(frozen=True)
class TimedHeads:
    """Arms on one labelled set, on one thread.

    Args:
        options: genome, data, kmer (scores of the word counts), folder, and minutes of processor time.
        arms: Further arguments of `finetune` by the name of the arm; differences are to the first.
        training: Settings of the training without its length.
    """

    options: argparse.Namespace
    seed: int
    arms: Mapping[str, Mapping[str, Any]]
    training: Mapping[str, Any]

    def train(self, arm: str, steps: int, output: Path) -> ProcessorClock:
        """Fine-tune an arm for some steps, with a clock."""
        clock = ProcessorClock()
        usual = label_training.fit
        label_training.fit = functools.partial(usual, callbacks=(clock,))
        try:
            finetune(
                genome=self.options.genome,
                data=self.options.data,
                output=output / "bundle",
                checkpoints=output / "checkpoints",
                seed=self.seed,
                dropout=0.0,
                training=LabelTrainConfig(
                    **self.training,
                    max_steps=steps,
                    validate_every=steps,
                    warmup_steps=steps // 10,
                    measure_speed=False,
                ),
                threads=1,
                progress=False,
                **self.arms[arm],
            )
        finally:
            label_training.fit = usual
        return clock

    def speeds(self) -> dict[str, float]:
        """Return the processor seconds of a step of each arm; measure them if they are not in the folder."""
        path = self.options.folder / "speeds.json"
        if not path.exists():
            seconds = {arm: [] for arm in self.arms}
            for _ in range(ROUNDS):
                for arm, of_arm in seconds.items():
                    with tempfile.TemporaryDirectory() as scratch:
                        ends = self.train(arm, SKIPPED + MEASURED, Path(scratch)).ends
                    of_arm.append((ends[-1] - ends[SKIPPED - 1]) / MEASURED)
            path.parent.mkdir(parents=True, exist_ok=True)
            with atomic_path(path) as temporary:
                temporary.write_text(json_text(seconds))
        return {arm: min(of_arm) for arm, of_arm in json.loads(path.read_text()).items()}

    def scores(self, arm: str) -> Path:
        """Return the file of an arm's scores of the test rows."""
        return self._folder(arm) / "report/scores.h5"

    def result(self, arm: str) -> dict:
        """Return the figures of an arm; train and score it if they are not in the folder."""
        folder = self._folder(arm)
        path = folder / "result.json"
        if path.exists():
            return json.loads(path.read_text())
        steps = max(1, int(60 * self.options.minutes / self.speeds()[arm]))
        clock = self.train(arm, steps, folder)
        first = next(iter(self.arms))
        others = {} if arm == first else {"first": self.scores(first)}
        scored = evaluate(
            genome=self.options.genome,
            model=folder / "bundle",
            data=self.options.data,
            output=folder / "scored",
            report=folder / "report",
            baselines={"kmer": self.options.kmer, **others},
            strand="forward",
            seed=self.seed,
            threads=1,
            progress=False,
        )
        figures = {
            "steps": steps,
            "processor_s": round(clock.ends[-1], 1),
            "metrics": json.loads((scored.output / "metrics.json").read_text()),
        }
        with atomic_path(path) as temporary:
            temporary.write_text(json_text(figures))
        return figures

    def _folder(self, arm: str) -> Path:
        return self.options.folder / f"{arm}-seed{self.seed}"


def parse(
    description: str, own: tuple[str, ...], minutes: float, arguments: list[str] | None
) -> argparse.Namespace:
    """Return the options of a benchmark of heads.

    Args:
        own: Names of its further files.
        minutes: Default of --minutes.
    """
    parser = argparse.ArgumentParser(description=description)
    for name in (*own, "genome", "data", "kmer", "folder"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    parser.add_argument("--minutes", type=float, default=minutes)
    parser.add_argument("--seeds", type=int, default=1)
    return parser.parse_args(arguments)


def with_interval(metrics: dict, name: str) -> str:
    """Return a figure with its interval.

    Example:
        >>> with_interval({"a": 0.5, "a_low": 0.41, "a_high": 0.6}, "a")
        '0.500 [0.410, 0.600]'
    """
    if name not in metrics:
        return "-"
    return f"{metrics[name]:.3f} [{metrics[f'{name}_low']:.3f}, {metrics[f'{name}_high']:.3f}]"
