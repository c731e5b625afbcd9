"""Table, page and picture over the results of all jobs."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from dna_bigbird.core.figures.style import save
from dna_bigbird.core.tables import to_tsv
from dna_bigbird.core.writing import atomic_path, json_text
from dna_bigbird.evaluation.compare.attention_figure import comparison_figure
from dna_bigbird.evaluation.compare.attention_page import attention_page
from dna_bigbird.evaluation.long_attention.names import BASELINES, COST
from dna_bigbird.evaluation.long_attention.scores import Z, wilson

BUDGETS = ("equal_steps", "equal_seconds")
BASELINE = "baseline"
Results = Mapping[str, Mapping]


def write_tables(folder: Path, results: Results) -> dict[str, list[dict]]:
    """Write results.json, cost.tsv, learning.tsv, curves.tsv, page.md and comparison.png; return the tables.

    Args:
        results: Of each job by name, in the order of the rows.
    """
    tables = tables_of(results)
    files: dict[str, bytes] = {"results.json": json_text(results).encode()}
    files |= {f"{name}.tsv": to_tsv(rows).encode() for name, rows in tables.items()}
    files["page.md"] = attention_page(tables).encode()
    files["comparison.png"] = save(comparison_figure(tables), "png")
    for name, content in files.items():
        with atomic_path(folder / name) as out:
            out.write_bytes(content)
    return tables


def tables_of(results: Results) -> dict[str, list[dict]]:
    """Return the rows of each table by its name; a table without rows is left out."""
    trainings: dict[tuple[str, str], list[Mapping]] = {}
    for result in results.values():
        settings = result["settings"]
        if "core" in settings:
            trainings.setdefault((settings["part"], settings["core"]), []).append(result)
    learning = [row for key, group in trainings.items() for row in _learned(*key, group)]
    if BASELINES in results:
        learning += [row for x in results[BASELINES]["rows"] for row in _baseline(x)]
    curves = [row for group in trainings.values() for result in group for row in _curve(result)]
    cost = results[COST]["rows"] if COST in results else []
    tables = {"cost": cost, "learning": learning, "curves": curves}
    return {name: list(rows) for name, rows in tables.items() if rows}


def _learned(part: str, core: str, group: Sequence[Mapping]) -> list[dict]:
    rows = []
    for budget in BUDGETS:
        reached = [result[budget] for result in group]
        shared = {
            "part": part, "core": core, "budget": budget, "seeds": len(group),
            "steps": float(np.mean([x["step"] for x in reached])),
            "seconds": float(np.mean([x["seconds"] for x in reached])),
        }  # fmt: skip
        if part == "dna":
            rows.append(shared | _of_bits([x["bits_per_base"] for x in reached]))
        else:
            rows += [shared | row for row in _of_distances([x["by_distance"] for x in reached])]
    return rows


def _baseline(row: Mapping) -> list[dict]:
    shared = {
        "part": row["part"], "core": row["predictor"], "budget": BASELINE, "seeds": 0,
        "steps": None, "seconds": None,
    }  # fmt: skip
    if "bits_per_base" in row:
        return [shared | _of_bits([row["bits_per_base"]])]
    return [shared | x for x in _of_distances([row["by_distance"]])]


def _of_bits(bits: Sequence[Sequence[float]]) -> dict:
    """Return mean bits per base; the interval is of the mean over sequences (normal), for the mean of the seeds."""
    per_sequence = np.mean(bits, axis=0)
    n = len(per_sequence)
    half = Z * float(per_sequence.std(ddof=1)) / n**0.5 if n > 1 else float("nan")
    seeds = np.mean(bits, axis=1)
    mean = float(per_sequence.mean())
    return _score(None, "bits_per_base", (mean, mean - half, mean + half), seeds, n)


def _of_distances(groups: Sequence[Sequence[Mapping]]) -> list[dict]:
    """Return accuracy by distance; the interval is Wilson's, of the mean of the seeds on one test set."""
    rows = []
    for of_seeds in zip(*groups, strict=True):
        n = of_seeds[0]["n"]
        right = float(np.mean([x["right"] for x in of_seeds]))
        seeds = np.array([x["right"] / n for x in of_seeds])
        score = (right / n, *wilson(right, n))
        rows.append(_score(of_seeds[0]["distance"], "accuracy", score, seeds, n))
    return rows


def _score(
    distance: int | None, metric: str, score: tuple[float, float, float], seeds: np.ndarray, n: int
) -> dict:
    return {
        "distance": distance, "metric": metric, "score": score[0], "score_low": score[1],
        "score_high": score[2], "lowest_seed": float(seeds.min()), "highest_seed": float(seeds.max()),
        "n": n,
    }  # fmt: skip


def _curve(result: Mapping) -> list[dict]:
    settings = result["settings"]
    names = {name: settings[name] for name in ("part", "core", "seed")}
    return [names | dict(point) for point in result["curve"]]
