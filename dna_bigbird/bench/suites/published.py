"""Published scores of the suites' tasks, from `data/published.yaml`. None was run here."""

from functools import cache
from importlib.resources import files

import yaml

from dna_bigbird.metrics.task_results import Published


@cache
def _table() -> dict[str, dict]:
    text = (
        files("dna_bigbird.bench.suites")
        .joinpath("data/published.yaml")
        .read_text(encoding="utf-8")
    )
    return yaml.safe_load(text) or {}


def published_scores(suite: str, task: str) -> tuple[Published, ...]:
    """Return what was published for a task, in the task's metric unless it names another; nothing if none is recorded."""
    entry = _table().get(suite, {})
    return tuple(
        Published(model, float(row["scores"][task]), row["source"], row.get("metric", ""))
        for model, row in entry.items()
        if task in row["scores"]
    )
