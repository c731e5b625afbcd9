"""The scores of the GLUE tasks; the first one of each is what Table 16 of the paper prints."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dna_bigbird.evaluation.classes import accuracy, f1, matthews, pearson, spearman

SCORES = {
    "accuracy": accuracy,
    "f1": f1,
    "matthews": matthews,
    "spearman": spearman,
    "pearson": pearson,
}
METRICS: dict[str, tuple[str, ...]] = {
    "cola": ("matthews",),
    "mnli": ("accuracy_matched", "accuracy_mismatched"),
    "mrpc": ("f1", "accuracy"),
    "qnli": ("accuracy",),
    "qqp": ("accuracy", "f1"),
    "rte": ("accuracy",),
    "sst2": ("accuracy",),
    "stsb": ("spearman", "pearson"),
}
PARTS = ("matched", "mismatched")
"""The two halves of MNLI's evaluation sets; other tasks have the first alone."""


def glue_statistics(
    gold: Sequence[float], predicted: Sequence[float], parts: Sequence[str]
) -> NDArray[np.float64]:
    """Return (N, 3): gold and predicted class number (or score), and the number of the part.

    Args:
        parts: "matched" or "mismatched" (MNLI), "" for any other task.
    """
    numbers = [PARTS.index(part) if part else 0 for part in parts]
    return np.array([gold, predicted, numbers], dtype=np.float64).T.reshape(-1, 3)


def glue_scores(task: str, statistics_N3: NDArray[np.float64]) -> dict[str, float]:
    """Return the scores of a task, as shares and correlations (not times 100).

    A part of MNLI that has no example has no key.

    Example:
        >>> glue_scores("mrpc", glue_statistics([1, 1, 0, 1], [1, 0, 0, 1], [""] * 4))
        {'f1': 0.8, 'accuracy': 0.75}
    """
    scores = {}
    for metric in METRICS[task]:
        name, _, part = metric.partition("_")
        here = statistics_N3
        if part:
            here = here[here[:, 2] == PARTS.index(part)]
        if len(here) or not part:
            scores[metric] = SCORES[name](here[:, 0], here[:, 1])
    return scores
