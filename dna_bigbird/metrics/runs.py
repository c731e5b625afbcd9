"""Several runs that differ in their seed: mean and standard deviation of their scores."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from dna_bigbird.core.errors import InputError
from dna_bigbird.core.files import read_json


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


def runs_summary(files: Sequence[Path]) -> dict:
    """Join the `metrics.json` of runs on the same examples: every `<metric>` as mean, `<metric>_sd`.

    A metric is any fraction that all files have; intervals and gains over baselines are left out.
    `n`, `split` and `seed` (of the bootstrap) must be equal, as the baselines then are; the seeds of
    the training must differ.

    Raises:
        InputError: If there are fewer than two files, or they are no such runs.
    """
    if len(files) < 2:
        raise InputError(f"{len(files)} run(s) given; a standard deviation needs two or more")
    read = [_scores(Path(file)) for file in files]
    for key in ("n", "split", "seed", "baselines"):
        odd = next(
            (i for i, scores in enumerate(read) if scores.get(key) != read[0].get(key)), None
        )
        if odd is not None:
            raise InputError(
                f"{files[odd]}: {key!r} is not that of {files[0]}; expected runs scored on the same "
                "examples"
            )
    seeds = [scores.get("training_seed") for scores in read]
    if len(set(seeds)) < len(seeds):
        raise InputError(
            f"the training seeds of the runs are {', '.join(map(str, seeds))}; expected another in each"
        )
    summary: dict = {}
    for key in read[0]:
        values = [scores.get(key) for scores in read]
        if key.endswith(("_low", "_high")) or "_gain_over_" in key:
            continue
        if all(isinstance(value, float) for value in values):
            summary[key], summary[f"{key}_sd"] = mean_and_sd(values)
    kept = {key: read[0][key] for key in ("n", "seed", "split", "baselines") if key in read[0]}
    return {**summary, "runs": len(files), **kept}


def _scores(file: Path) -> dict:
    scores = read_json(file)
    if "n" not in scores:
        raise InputError(f"{file}: no 'n' in it; expected a metrics.json")
    return scores
