"""Settings of the staged training of a character model; read without torch."""

from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from dna_bigbird.core.choices import check_fields
from dna_bigbird.core.settings import Positive, ShareBelowOne
from dna_bigbird.models.train_config import TrainConfig


class Phase(NamedTuple):
    """One phase of a staged training."""

    number: int
    """From 0."""
    factor: int
    """Of the windows of the first phase."""
    max_tokens: int
    """Characters of an example."""


@dataclass(frozen=True)
class StagedTraining:
    """Phases, each with twice the windows and the length and half the learning rate of the one before.

    The defaults are those of Longformer's small model (Beltagy et al. 2020, Table 12).
    """

    phase_steps: list[Positive] = field(
        default_factory=lambda: [430_000, 50_000, 50_000, 35_000, 5_000]
    )
    """Optimizer steps of each phase; there are as many phases."""
    examples_per_step: list[Positive] = field(default_factory=lambda: [32, 32, 16, 16, 16])
    """Examples of an optimizer step, phase by phase; multiples of `batch_size`."""
    batch_size: Positive = 4
    """Examples computed at once: the others of a step are added up."""
    max_tokens: Positive = 2048
    """Longest sequence in tokens: characters of an example, in the first phase."""
    longest: Positive = 23_040
    """Characters of an example at most, in any phase: the doubling ends there."""
    learning_rate: float = 2.5e-4
    """Largest learning rate, reached at the end of the warm-up: of the first phase; constant after it."""
    warmup_share: ShareBelowOne = 0.1
    """Share of the steps of a phase over which its learning rate rises from 0."""
    most_warmup_steps: int = 10_000
    """Steps of the warm-up of a phase at most."""
    weight_decay: float = 0.01
    """Decoupled weight decay; not of vectors: biases, LayerNorms, u and v of the attention."""
    beta2: float = 0.999
    """Decay of Adam's second moments: the default of PyTorch."""
    gradient_clip: float = 0.25
    """Largest norm of the whole gradient; 0: any."""
    precision: Literal["auto", "32-true", "bf16-mixed"] = "auto"
    """Arithmetic: float32, or bfloat16 where the processor or GPU has bfloat16 products."""
    both_strands: bool = True
    """Both strands: an example of DNA is its reverse complement every second time, by chance; unused for text."""
    validations: Positive = 10
    """Validations in each phase, the last one at its end; divides the steps of every phase."""
    validation_examples: int = 0
    """Examples of one validation, the same ones every time; 0 takes the whole validation part."""
    checkpoint_every_steps: int = 0
    """Steps between two extra checkpoints: 0 for those after each validation alone."""
    log_every: int = 20
    """Steps whose mean makes one row of training figures in history.tsv: of each phase."""
    workers: int = 0
    """Worker processes: they prepare data for the training; the examples do not depend on it."""

    def __post_init__(self) -> None:
        check_fields(self, "training")
        if not self.phase_steps or len(self.phase_steps) != len(self.examples_per_step):
            raise ValueError(
                f"--training.phase_steps has {len(self.phase_steps)} phases, --training.examples_per_step "
                f"{len(self.examples_per_step)}; expected as many, at least one"
            )
        if self.longest < self.max_tokens:
            raise ValueError(
                f"--training.longest {self.longest} is below --training.max_tokens {self.max_tokens}"
            )
        for steps, examples in zip(self.phase_steps, self.examples_per_step, strict=True):
            if steps % self.validations:
                raise ValueError(
                    f"--training.phase_steps {steps} is not a multiple of --training.validations "
                    f"{self.validations}"
                )
            if examples % self.batch_size:
                raise ValueError(
                    f"--training.examples_per_step {examples} is not a multiple of "
                    f"--training.batch_size {self.batch_size}"
                )
        self.train_config(0)

    @property
    def phases(self) -> list[Phase]:
        """The phases in their order.

        Example:
            >>> [(phase.factor, phase.max_tokens) for phase in StagedTraining().phases]
            [(1, 2048), (2, 4096), (4, 8192), (8, 16384), (16, 23040)]
        """
        return [
            Phase(number, 2**number, min(self.max_tokens * 2**number, self.longest))
            for number in range(len(self.phase_steps))
        ]

    def train_config(self, phase: int) -> TrainConfig:
        """Return the settings of one phase as a training of its own."""
        steps = self.phase_steps[phase]
        return TrainConfig(
            max_steps=steps,
            batch_size=self.batch_size,
            accumulate=self.examples_per_step[phase] // self.batch_size,
            learning_rate=self.learning_rate / 2**phase,
            warmup_steps=min(int(self.warmup_share * steps), self.most_warmup_steps),
            schedule="constant",
            weight_decay=self.weight_decay,
            beta2=self.beta2,
            gradient_clip=self.gradient_clip,
            precision=self.precision,
            validate_every=steps // self.validations,
            validation_examples=self.validation_examples,
            checkpoint_every_steps=self.checkpoint_every_steps,
            log_every=self.log_every,
            workers=self.workers,
            measure_speed=False,
        )
