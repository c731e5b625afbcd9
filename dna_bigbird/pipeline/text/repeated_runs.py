"""`dna-bigbird text runs`."""

from dna_bigbird.choices import checked
from dna_bigbird.paths import InputPath, OutputPath


@checked()
def runs(metrics: list[InputPath], output: OutputPath) -> None:
    """Join the scores of runs that differ in their training seed: mean and standard deviation.

    The paper reports IMDb and Hyperpartisan so, of 5 runs.

    Args:
        metrics: The metrics.json of each run, of `text evaluate` on the same examples.
        output: Folder to write, with one metrics.json: each score is a mean, `<score>_sd` its standard
            deviation (n - 1), `runs` their number.

    Examples:
        dna-bigbird text runs --metrics '[scores/0/metrics.json, scores/1/metrics.json]' --output scores/mean
    """
    from dna_bigbird.evaluation.runs import runs_summary
    from dna_bigbird.writing import atomic_directory, json_text, refuse_other_folder

    refuse_other_folder(output, ("metrics.json",), "summary of runs")
    summary = runs_summary(metrics)
    with atomic_directory(output) as partial:
        (partial / "metrics.json").write_bytes(json_text(summary).encode())
    for key in [key for key in summary if f"{key}_sd" in summary]:
        print(f"{output}: {key} {summary[key]} ± {summary[f'{key}_sd']} ({summary['runs']} runs)")
