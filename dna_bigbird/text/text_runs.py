"""`dna-bigbird text runs`."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from dna_bigbird.core.choices import checked, renamed
from dna_bigbird.core.dataframes import DataFrame, dataframe_of_rows
from dna_bigbird.core.paths import InputPath, OutputPath
from dna_bigbird.core.result_folders import REPEATED_RUNS, atomic_directory
from dna_bigbird.core.results import Rows


@dataclass(frozen=True)
class RepeatedRuns(Rows):
    """Mean scores of runs that differ in their seed."""

    output: Path
    metrics: dict
    """Contents of metrics.json: each score, and `<score>_sd`."""

    def to_dataframe(self) -> DataFrame:
        """Return a row per score: score, mean, sd, runs."""
        runs = self.metrics["runs"]
        return dataframe_of_rows(
            {"score": name, "mean": mean, "sd": self.metrics[f"{name}_sd"], "runs": runs}
            for name, mean in self.metrics.items()
            if f"{name}_sd" in self.metrics
        )

    def summary(self) -> str:
        """Return mean and standard deviation of each score, one per line."""
        number = self.metrics["runs"]
        return "\n".join(
            f"{self.output}: {name} {mean} ± {self.metrics[f'{name}_sd']} ({number} runs)"
            for name, mean in self.metrics.items()
            if f"{name}_sd" in self.metrics
        )


@renamed(metrics="scores")
@checked()
def runs(scores: list[InputPath], output: Annotated[OutputPath, REPEATED_RUNS]) -> RepeatedRuns:
    """Join the scores of runs that differ in their training seed: mean and standard deviation.

    The paper reports IMDb and Hyperpartisan as the mean of 5 runs.

    Args:
        scores: Scores to read: the metrics.json of each run, of `text evaluate` on the same
            examples.
        output: Result to write: a folder with one metrics.json: each score is a mean, `<score>_sd`
            its standard deviation (n - 1), `runs` their number.

    Examples:
        dna-bigbird text runs --scores scores/0/metrics.json scores/1/metrics.json --output scores/mean
    """
    from dna_bigbird.core.writing import json_text
    from dna_bigbird.metrics.seed_means import runs_summary

    output = Path(output)
    joined = runs_summary([Path(each) for each in scores])
    with atomic_directory(output, REPEATED_RUNS) as partial:
        (partial / "metrics.json").write_bytes(json_text(joined).encode())
    return RepeatedRuns(output, joined)
