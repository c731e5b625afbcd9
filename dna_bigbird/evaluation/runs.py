"""Several runs that differ in their seed: mean and standard deviation of their scores."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from dna_bigbird.errors import InputError
from dna_bigbird.files import read_json


def mean_and_sd(values: Sequence[float]) -> tuple[float, float]:
    """Return the mean and the standard deviation of a sample (n - 1).

    Raises:
        ValueError: If there are fewer than two values.

    Example:
        >>> mean_and_sd([0.95, 0.96, 0.94])
        (0.95, 0.01)
    """
    if len(values) < 2:
        raise ValueError(f"a standard deviation needs two runs or more, got {len(values)}")
    return round(float(np.mean(values)), 6), round(float(np.std(values, ddof=1)), 6)


def runs_summary(files: Sequence[Path]) -> dict[str, float | int | str]:
    """Join the `metrics.json` of runs on the same examples: `<metric>_mean` and `<metric>_sd`.

    A metric is any fraction that all files have, intervals and baselines aside; `n` and `split` must
    be equal, the seeds must differ.

    Raises:
        InputError: If there are fewer than two files, or one is no set of scores of the same examples.
    """
    if len(files) < 2:
        raise InputError(f"{len(files)} run(s) given; a standard deviation needs two or more")
    read = [_scores(Path(file)) for file in files]
    for key in ("n", "split"):
        found = [scores.get(key) for scores in read]
        if len(set(found)) > 1:
            raise InputError(
                f"{key} is {found[0]} in {files[0]} and another in the rest ({found}); expected runs "
                "on the same examples"
            )
    seeds = [scores.get("seed") for scores in read]
    if len(set(seeds)) < len(seeds):
        raise InputError(f"the seeds of the runs are {seeds}; expected another in each")
    summary: dict[str, float | int | str] = {
        "runs": len(files),
        "n": read[0].get("n"),
        "split": read[0].get("split"),
    }
    for key in read[0]:
        values = [scores.get(key) for scores in read]
        if not key.endswith(("_low", "_high")) and all(isinstance(v, float) for v in values):
            summary[f"{key}_mean"], summary[f"{key}_sd"] = mean_and_sd(values)
    return summary


def _scores(file: Path) -> dict:
    scores = read_json(file)
    if "n" not in scores:
        raise InputError(f"{file}: no 'n' in it; expected a metrics.json")
    return scores
