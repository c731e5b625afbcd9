"""Which jobs there are, and the settings that the result of each depends on."""

from collections.abc import Collection, Sequence
from typing import Any

from dna_bigbird.errors import InputError
from dna_bigbird.pipeline.long_attention.cost_job import cost_job
from dna_bigbird.pipeline.long_attention.jobs import Job
from dna_bigbird.pipeline.long_attention.names import COST

Work = dict[str, tuple[Job, dict[str, Any]]]
"""Function and settings of each job by name, in the order in which they start."""


def work_of(
    parts: Sequence[str], cores: Sequence[str], lengths: Sequence[int], rounds: int
) -> Work:
    """Return all jobs."""
    work: Work = {}
    if COST in parts:
        settings = {"cores": list(cores), "lengths": list(lengths), "rounds": rounds}
        work[COST] = (cost_job, settings)
    return work


def check_names(only: Sequence[str], work: Collection[str]) -> None:
    """Raise InputError if `--only` names a job that there is not."""
    for name in only:
        if name not in work:
            raise InputError(f"--only {name}: no such job; expected some of {', '.join(work)}")
