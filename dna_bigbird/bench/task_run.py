"""What a run of one benchmark task is given; the same for labels, variants and pairs."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from dna_bigbird import __version__
from dna_bigbird.bench.suites.suite import Suite, Task
from dna_bigbird.core.choices import check_fields
from dna_bigbird.prediction.partial_results import checksums_of
from dna_bigbird.training.label_config import LabelHeadConfig, LabelTrainConfig

Method = Literal["full", "lora", "probe"]
"""Fine-tune all weights; low-rank updates of the encoder; a regression on the encoder as it is."""


@dataclass(frozen=True)
class TrainingChoice:
    """How every task of a suite is trained and scored."""

    method: Method
    seeds: tuple[int, ...]
    training: LabelTrainConfig
    head: LabelHeadConfig
    threads: int
    bootstrap_seed: int
    replicates: int
    """Bootstrap draws of the test rows."""

    def __post_init__(self) -> None:
        check_fields(self)


@dataclass(frozen=True)
class TaskRun:
    """One task, the model, and how it is trained and scored."""

    suite: Suite
    task: Task
    model: Path
    """Bundle: a pretrained encoder, or a classifier whose encoder is taken."""
    folder: Path
    """Of finished parts of this task, read again when the command is started again."""
    choice: TrainingChoice

    @cached_property
    def checksums(self) -> dict[str, Any]:
        """Checksums of the model's weights and of its config.json, which has those of the vocabulary."""
        return checksums_of([self.model], None)

    def settings(self) -> dict[str, Any]:
        """Return what task.json has of every protocol."""
        return {
            "model": self.model.resolve().name,
            "model_sha256": self.checksums["model"][0],
            "version": __version__,
            "replicates": self.choice.replicates,
            "bootstrap_seed": self.choice.bootstrap_seed,
        }
