"""YAML metadata at the top of README.md of a folder for the Hugging Face library, as its hub reads them."""

import re
from math import isfinite
from typing import Any

import yaml

from dna_bigbird.bundles.card_scores import headline_names
from dna_bigbird.bundles.config import BundleConfig
from dna_bigbird.bundles.metrics import Metrics
from dna_bigbird.core.errors import InputError

UNKNOWN = "unknown"
"""Identifier of the hub for a licence that nobody has stated."""
PIPELINES = {
    "ForPreTraining": "fill-mask",
    "ForMaskedLM": "fill-mask",
    "ForSequenceClassification": "text-classification",
    "ForQuestionAnswering": "question-answering",
    "ForConditionalGeneration": "summarization",
}
"""Task of the hub by the end of the library's class; without a head it is FEATURES."""
FEATURES = "feature-extraction"
TAGS = {"dna": ("dna", "genomics", "biology"), "text": ("long-documents",)}
_LICENSE = re.compile(r"[a-z0-9][a-z0-9.+-]*")


def checked_license(identifier: str) -> str:
    """Return an identifier of a licence.

    Raises:
        InputError: If it does not have the form of the hub's identifiers.
    """
    if not _LICENSE.fullmatch(identifier):
        raise InputError(
            f"--license: found {identifier!r}; expected an identifier of the hub in lower case, such as "
            "apache-2.0, mit, cc-by-4.0 or other"
        )
    return identifier


def front_matter(
    config: BundleConfig, metrics: Metrics, written: dict[str, Any], license: str, is_same: bool
) -> str:
    """Return the block between `---` lines.

    Args:
        metrics: Scores of the bundle; they are listed as `model-index` if they hold in the library.
        written: The library's config.json.
        is_same: Whether the library computes what the bundle computes.
    """
    values: dict[str, Any] = {
        "license": checked_license(license),
        "library_name": "transformers",
        "pipeline_tag": pipeline_of(written["architectures"][0]),
        "tags": [*TAGS.get(config.reads, ()), written["model_type"], "dna-bigbird"],
    }
    scores = _scores(config, metrics)
    if scores and is_same and not config.lengthened and metrics.n and metrics.split:
        name = f"dna-bigbird-{config.task}"
        result = {
            "task": {"type": values["pipeline_tag"]},
            "dataset": {"type": _set_of(config), "name": _rows(config, metrics)},
            "metrics": scores,
        }
        values["model-index"] = [{"name": name, "results": [result]}]
    text = yaml.safe_dump(values, sort_keys=False, allow_unicode=True, width=1000)
    return f"---\n{text}---\n\n"


def pipeline_of(architecture: str) -> str:
    """Return the hub's task of a class of the library.

    Example:
        >>> pipeline_of("BigBirdForMaskedLM"), pipeline_of("BigBirdModel")
        ('fill-mask', 'feature-extraction')
    """
    return next((task for end, task in PIPELINES.items() if architecture.endswith(end)), FEATURES)


def _scores(config: BundleConfig, metrics: Metrics) -> list[dict[str, Any]]:
    """Return the measured scores with their intervals."""
    scores = []
    for name in headline_names(config, metrics):
        value, low, high = metrics.score(name)
        if not isinstance(value, int | float) or not isfinite(value):
            continue
        is_interval = low is not None and high is not None
        shown = f"{name}, 95 % interval {low} to {high}" if is_interval else name
        scores.append({"type": name, "name": shown, "value": value})
    return scores


def _set_of(config: BundleConfig) -> str:
    return config.set_name or config.assembly or config.reads


def _rows(config: BundleConfig, metrics: Metrics) -> str:
    """Return what was scored, in words."""
    parts = [_set_of(config), f"{metrics.split} split", f"n = {metrics.n}"]
    parts += [f"seed {metrics.seed}"] if metrics.seed is not None else []
    return ", ".join(parts + ["semi-synthetic"] * config.semi_synthetic)
