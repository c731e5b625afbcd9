"""Which jobs there are, and the settings that the result of each depends on."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from dna_bigbird.core.errors import InputError
from dna_bigbird.evaluation.long_attention.baselines import baselines_job
from dna_bigbird.evaluation.long_attention.cost import cost_job
from dna_bigbird.evaluation.long_attention.jobs import Job
from dna_bigbird.evaluation.long_attention.names import BASELINES, COST, training_name
from dna_bigbird.evaluation.long_attention.training import train

Work = dict[str, tuple[Job, dict[str, Any]]]
"""Function and settings of each job by name, in the order in which they start."""
LONGEST = {"dna": 3072, "partner": 3072, "pretrained": 3072, "text": 4608}
"""Tokens of the longest sequences of each learning comparison: the largest distance, and room for the sites."""


@dataclass(frozen=True)
class Plan:
    """What is compared."""

    parts: Sequence[str]
    cores: Sequence[str]
    seeds: int
    lengths: Sequence[int]
    rounds: int
    tokens: int
    steps: int
    seconds: float
    test_sequences: int

    def work(self) -> Work:
        """Return all jobs: seed after seed, so that a stopped run has whole seeds."""
        work: Work = {}
        if COST in self.parts:
            settings = {"cores": list(self.cores), "lengths": list(self.lengths)}
            work[COST] = (cost_job, {**settings, "rounds": self.rounds})
        learned = [part for part in self.parts if part != COST]
        if learned:
            of_parts = {part: self._tokens(part) for part in learned}
            settings = {"tokens": of_parts, "test_sequences": self.test_sequences}
            work[BASELINES] = (baselines_job, settings)
        for seed in range(self.seeds):
            for part in learned:
                for core in self.cores:
                    work[training_name(part, core, seed)] = (
                        train,
                        self._training(part, core, seed),
                    )
        return work

    def _tokens(self, part: str) -> int:
        return min(self.tokens, LONGEST[part])

    def _training(self, part: str, core: str, seed: int) -> dict[str, Any]:
        return {
            "part": part,
            "core": core,
            "seed": seed,
            "tokens": self._tokens(part),
            "steps": self.steps,
            "seconds": self.seconds,
            "test_sequences": self.test_sequences,
        }


def check_names(only: Sequence[str], work: Collection[str]) -> None:
    """Raise InputError if `--only` names a job that there is not."""
    for name in only:
        if name not in work:
            raise InputError(f"--only {name}: no such job; expected some of {', '.join(work)}")
