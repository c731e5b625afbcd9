"""Results of benchmark tasks with plausible numbers, drawn from a seed, and their files."""

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np

from dna_bigbird.metrics.task_results import Published, Score, SourceResult, TaskResult

SOURCES = {
    "model": 0.0,
    "random_weights": -0.06,
    "cnn": -0.03,
    "kmer": -0.045,
    "gc": -0.2,
    "majority": -0.32,
}
"""Mean score below that of the model."""
DESCRIPTIONS = {
    "model": "Encoder of 0.4 M parameters, all weights fine-tuned.",
    "random_weights": "The same encoder with new weights, trained in the same way.",
    "cnn": "Three convolutions, trained on the same rows.",
    "kmer": "Logistic regression on the frequencies of words of 1 to 5 bases.",
    "gc": "Logistic regression on the share of G and C.",
    "majority": "The most frequent class of the training rows.",
}
PAPER = (
    Published("CNN of the authors", 0.846, "Grešová et al. 2023, Table 3"),
    Published("HyenaDNA", 0.966, "Nguyen et al. 2023, Table 4.2"),
)


def score(rng: np.random.Generator, mean: float, half: float, seeds: int) -> Score:
    """A score around a mean, with an interval of twice `half`."""
    values = tuple(round(float(mean + x), 6) for x in rng.normal(0, half / 4, seeds))
    value = round(float(np.mean(values or mean)), 6)
    sd = round(float(np.std(values, ddof=1)), 6) if seeds > 1 else None
    return Score(value, round(value - half, 6), round(value + half, 6), sd, values)


def example_task(
    task: str = "human_nontata_promoters",
    suite: str = "genomic-benchmarks",
    *,
    metric: str = "accuracy",
    level: float = 0.85,
    n: int = 9034,
    leak_free: int = 4612,
    seeds: int = 3,
    seed: int = 0,
    names: Mapping[str, str] = DESCRIPTIONS,
    **changes: object,
) -> TaskResult:
    """One result; `changes` are further fields of it."""
    rng = np.random.default_rng(seed)
    half = {key: 1.0 / max(rows, 4) ** 0.5 for key, rows in (("all", n), ("free", leak_free))}
    sources = []
    for name, description in names.items():
        below = SOURCES.get(name, -0.05)
        scores, minus = {}, {}
        for subset, width, lost in (("published", "all", 0.0), ("leak_free", "free", 0.04)):
            mean = level + below - (lost if name != "gc" else 0.0)
            values = {metric: score(rng, mean, half[width], seeds)}
            values["mcc"] = score(rng, 2 * mean - 1, half[width], seeds)
            scores[subset] = values
            if name != "model":
                value = sources[0].scores[subset][metric].value - values[metric].value
                ends = (round(value + sign * half[width], 6) for sign in (-0.7, 0.7))
                minus[subset] = Score(round(value, 6), *ends)
        strands = {"flip_rate": 0.043, "correlation": 0.971} if name != "majority" else {}
        sources.append(SourceResult(name, description, scores, minus, strands))
    result = TaskResult(
        suite=suite,
        task=task,
        about="Promoters without a TATA box, or other human DNA.",
        metric=metric,
        protocol="labels",
        label_names=["negative", "positive"],
        assembly="GRCh38",
        counts={"rows_read": 36131, "train": 24387, "validation": 2710, "test": n},
        n={"published": n, "leak_free": leak_free},
        leaks={"shares_bases": n - leak_free - 12, "nearly_identical": 12, "read_with_labels": 0}
        | {"read_without_labels": 31},
        sources=sources,
        published=PAPER,
        seeds=list(range(seeds)),
        settings={"method": "full", "model": "demo encoder", "training": {"max_steps": 400}},
        notes=["Intervals are drawn over 214 blocks of 1,000,000 bp."],
    )
    return replace(result, **changes)


def variants_task(task: str = "variants", **changes: object) -> TaskResult:
    """A task of variants: four ways to score one model, a probe and trivial sources."""
    names = {
        "model": "log p(REF) - log p(ALT), the base masked", "absolute_likelihood": "its absolute value",
        "embedding": "Euclidean distance", "embedding_cosine": "cosine distance", "probe": "regression",
        "gc": "GC content", "counting": "by counts", "random": "random numbers",
    }  # fmt: skip
    settings = {"method": "zero-shot and probe", "model": "demo encoder", "window_bp": 512}
    chance = {"auprc_by_chromosome": 0.125, "auprc": 0.101, "auroc": 0.5}
    return example_task(
        task,
        **{
            "suite": "traitgym", "metric": "auprc_by_chromosome", "level": 0.21, "n": 3380, "leak_free": 3100,
            "protocol": "variants", "label_names": ("label",), "about": "Which variant is causal?",
            "leaks": {"read_with_labels": 280, "read_without_labels": 0}, "published": [], "notes": [],
            "settings": {**settings, "chance": chance}, "names": names,
        } | changes,
    )  # fmt: skip


def pairs_task(task: str = "pairs", **changes: object) -> TaskResult:
    """A task of pairs: the model, counts and GC content, without seeds."""
    names = {"model": "log odds", "counting": "n-grams", "gc": "share of G and C"}
    return example_task(
        task,
        **{
            "suite": "tata-displacement", "level": 0.9, "n": 1248, "leak_free": 400, "protocol": "pairs",
            "label_names": (), "assembly": "", "about": "Does moving the box lower the prediction?",
            "leaks": {"read_with_labels": 848}, "published": [], "notes": [],
            "settings": {"model": "demo encoder", "chance": {"accuracy": 0.5}}, "names": names,
            "seeds": 0,
        } | changes,
    )  # fmt: skip


def with_difference(result: TaskResult, source: str, **ends: tuple) -> TaskResult:
    """Return a result with another difference of a source: value, low and high by subset."""
    sources = [
        replace(x, minus={**x.minus, **{subset: Score(*end) for subset, end in ends.items()}})
        if x.name == source
        else x
        for x in result.sources
    ]
    return replace(result, sources=sources)


def write_task(folder: Path, result: TaskResult) -> Path:
    """Write a result as `dna-bigbird bench` does, and return the file."""
    path = folder / result.task.replace("/", "_") / "task.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(result.to_json()))
    return path
