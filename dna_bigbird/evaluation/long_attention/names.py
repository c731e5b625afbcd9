"""The names of cores, comparisons and jobs."""

from collections.abc import Sequence
from typing import Literal

Core = Literal["full", "bigbird", "etc", "longformer", "performer"]
Part = Literal["cost", "dna", "partner", "pretrained", "text"]
CORES: tuple[Core, ...] = ("full", "bigbird", "etc", "longformer", "performer")
PARTS: tuple[Part, ...] = ("cost", "dna", "partner", "pretrained", "text")
COST, BASELINES = "cost", "baselines"


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
