"""What a run of one benchmark task is given; the same for labels, variants and pairs."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from dna_bigbird.choices import check_fields
from dna_bigbird.models.config import HeadConfig
from dna_bigbird.suites.suite import Suite, Task
from dna_bigbird.tasks.label_config import LabelTrainConfig

Method = Literal["full", "lora", "probe"]
"""Fine-tune all weights; low-rank updates of the encoder; a regression on the encoder as it is."""


@dataclass(frozen=True)
class TaskRun:
    """One task, the model, and how it is trained and scored."""

    suite: Suite
    task: Task
    model: Path
    """Bundle: a pretrained encoder, or a classifier whose encoder is taken."""
    folder: Path
    """Of finished parts of this task, read again when the command is started again."""
    seeds: tuple[int, ...]
    method: Method
    training: LabelTrainConfig
    head: HeadConfig
    threads: int
    replicates: int
    """Bootstrap draws of the test rows."""
    bootstrap_seed: int
    genomes_given: tuple[str, ...] = ()
    """Assemblies of --genome, for settings."""

    def __post_init__(self) -> None:
        check_fields(self)
