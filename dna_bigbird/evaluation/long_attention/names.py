"""What `compare-attention` compares, and the names of its jobs; read without torch."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated, Literal

from dna_bigbird.core.choices import check_fields
from dna_bigbird.core.errors import InputError
from dna_bigbird.core.settings import NotNegative, Positive, Range

LEAST_TOKENS = 256
Core = Literal["full", "bigbird", "etc", "longformer", "performer"]
Part = Literal["cost", "dna", "partner", "pretrained", "text"]
CORES: tuple[Core, ...] = ("full", "bigbird", "etc", "longformer", "performer")
PARTS: tuple[Part, ...] = ("cost", "dna", "partner", "pretrained", "text")
COST, BASELINES = "cost", "baselines"
IDENTITY = "identity"
"""In the place of a core, of cost alone: every token reads itself, the least that a layer takes."""


@dataclass(frozen=True)
class AttentionComparison:
    """What is compared, and how long each model is trained."""

    comparisons: list[Part] = field(default_factory=lambda: list(PARTS))
    """What is compared: `cost` of a layer, hidden words of real `dna`, the planted `partner` task,
    the same `pretrained` on sequences of its own, and evidence in `text`."""
    cores: list[Core] = field(default_factory=lambda: list(CORES))
    """Attention cores to compare, in the order of the rows."""
    seeds: Positive = 3
    """Number of trainings: of each core, with seeds 0, 1 and so on."""
    lengths: list[Annotated[int, Range(LEAST_TOKENS)]] = field(
        default_factory=lambda: [512, 1024, 4096, 16384]
    )
    """Lengths of the sequence in tokens: of cost."""
    rounds: Annotated[int, Range(3)] = 7
    """Rounds of the measurement of time: of cost, whose medians are shown."""
    longest_tokens: Annotated[int, Range(2 * LEAST_TOKENS)] = 4608
    """Longest sequence of the trainings in tokens; distances that do not fit are left out."""
    training_steps: Annotated[int, Range(2)] = 1000
    """Optimizer steps after which the cores are compared."""
    seconds: NotNegative = 60.0
    """Processor time after which they are compared again: of the steps, without scoring."""
    test_sequences: Annotated[int, Range(2)] = 150
    """Sequences that each score is computed on."""

    def __post_init__(self) -> None:
        check_fields(self)
        for name in ("comparisons", "cores", "lengths"):
            values = getattr(self, name)
            if not values:
                raise InputError(f"--{name} []: expected at least one")
            for value in values:
                if values.count(value) > 1:
                    raise InputError(f"--{name} {value}: is there twice; name it once")


def training_name(part: str, core: str, seed: int) -> str:
    """Return the name of the job of a training.

    Example:
        >>> training_name("partner", "full", 0)
        'partner-full-seed0'
    """
    return f"{part}-{core}-seed{seed}"


def job_names(parts: Sequence[str], cores: Sequence[str], seeds: int) -> list[str]:
    """Return the names of all jobs: seed after seed, so that a stopped run has whole seeds.

    Example:
        >>> job_names(["cost", "text"], ["full", "etc"], seeds=1)
        ['cost', 'baselines', 'text-full-seed0', 'text-etc-seed0']
    """
    learned = [part for part in parts if part != COST]
    return [
        *([COST] if COST in parts else []),
        *([BASELINES] if learned else []),
        *(
            training_name(part, core, seed)
            for seed in range(seeds)
            for part in learned
            for core in cores
        ),
    ]
