"""`dna-bigbird plan`."""

from dataclasses import dataclass

from dna_bigbird.core.choices import checked
from dna_bigbird.core.paths import InputPath
from dna_bigbird.core.results import Result
from dna_bigbird.core.shared_options import ProcessThreads
from dna_bigbird.workflow.planned_step import PlannedStep, minutes

COLUMNS = ("step", "what", "minutes", "memory", "how")


@dataclass(frozen=True)
class RunPlan(Result):
    """What a run would make, and what it would cost on this machine."""

    name: str
    steps: tuple[PlannedStep, ...]
    device: str

    @property
    def seconds(self) -> float:
        """Sum over the steps that could be estimated."""
        return sum(step.seconds or 0 for step in self.steps)

    def summary(self) -> str:
        """Return the table, the total and what the numbers are."""
        rows = [COLUMNS, *(step.cells() for step in self.steps)]
        rows.append(("total", "one step after the other", minutes(self.seconds), "", ""))
        widths = [max(len(row[i]) for row in rows) for i in range(len(COLUMNS))]
        lines = [
            f"{a:{widths[0]}}  {b:{widths[1]}}  {c:>{widths[2]}}  {d:>{widths[3]}}  {e}".rstrip()
            for a, b, c, d, e in rows
        ]
        return "\n".join([f"{self.name}, on {self.device}", "", *lines, "", NOTE])


NOTE = (
    "Minutes are estimates for this machine if nothing else runs on it. measured: a few training steps of\n"
    "this model with random weights, times the steps; predictions as a third of that. rule of thumb: from\n"
    "the demo. Not in it: downloads, experiments and text. ?: known only when the step runs."
)


@checked()
def plan(configfile: list[InputPath] | InputPath, threads: ProcessThreads = 0) -> RunPlan:
    """Print what a run of the workflow would make: rows, expected minutes and memory of each step.

    Nothing is made and nothing is downloaded. Rows come from the files that are there; speed is measured
    for a few seconds with random weights. The config is checked as the workflow does it.

    Args:
        configfile: Config of the workflow; several are merged, later ones over earlier ones.

    Examples:
        dna-bigbird plan --configfile config/config.yaml
    """
    from pathlib import Path

    from dna_bigbird.core.limits import use_threads
    from dna_bigbird.workflow.config.config_files import read_config_files
    from dna_bigbird.workflow.config.run_config import check_config
    from dna_bigbird.workflow.plan_steps import device_name, planned_steps

    paths = [configfile] if isinstance(configfile, Path | str) else list(configfile)
    files = read_config_files(paths)
    run = files.values()
    check_config(run, files)
    use_threads(threads)
    return RunPlan(run["name"], tuple(planned_steps(run)), device_name())
