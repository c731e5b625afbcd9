"""Lets Snakemake leave an earlier result in place while, and after, a job makes it again."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from snakemake.jobs import Job


def keep_results(rules: Path) -> None:
    """Keep the outputs of the rules in a folder until a command replaces them."""
    # Snakemake removes the outputs of a job before it starts, and again if it fails. The commands write a
    # whole result under a temporary name and exchange it, so what is there is a whole one. After a failure
    # it stays marked as incomplete: the next run makes it again. Snakemake's `update()` (9.27.1) takes the
    # earlier result for that of the new settings after a failure, and its copy fills a full disk further.
    from snakemake.jobs import Job

    remove, clean_up = Job.remove_existing_output, Job.cleanup

    def is_ours(job: "Job") -> bool:
        return Path(str(job.rule.snakefile)).is_relative_to(rules)

    async def remove_logs(job: "Job") -> None:
        if not is_ours(job):
            await remove(job)
            return
        for log in job.log:
            await log.remove()

    async def mark_incomplete(job: "Job", *skipped: Any) -> None:
        if not is_ours(job):
            await clean_up(job, *skipped)
        elif [path async for path in job.existing_output()]:
            job.dag.workflow.persistence.started(job)

    Job.remove_existing_output = remove_logs
    Job.cleanup = mark_incomplete
