"""Differences between pretrained models, every pair of them: rows, and what they show."""

import itertools
from collections.abc import Sequence

from dna_bigbird.evaluation.compare.lm_runs import Run
from dna_bigbird.evaluation.compare.lm_seeds import sums_of
from dna_bigbird.evaluation.pages.rendering import sentence
from dna_bigbird.metrics.seed_means import difference, holm

NAMES = {
    "bits_per_base_masked": "bits per base",
    "bits_per_base_all_masked": "bits per base, all [MASK]",
    "mlm_accuracy": "MLM accuracy",
}
LEVEL = 0.05


def pair_rows(runs: Sequence[Run]) -> list[dict]:
    """Return one row per score and pair of runs; none if a training lacks the scores of each example."""
    if not all(training.examples for run in runs for training in run.trainings):
        return []
    rows = []
    for score in NAMES:
        of_score = [_row(score, *pair) for pair in itertools.combinations(runs, 2)]
        for row, corrected in zip(of_score, holm([row["p"] for row in of_score]), strict=True):
            rows.append(row | {"p": _short(row["p"]), "p_holm": _short(corrected)})
            rows[-1]["clear"] = "yes" if corrected < LEVEL else "no"
    return rows


def _row(score: str, first: Run, second: Run) -> dict:
    examples = [run.trainings[0].examples for run in (first, second)]
    same_tokens = examples[0].has_tokens_of(examples[1])
    sums = sums_of(first, score), sums_of(second, score)
    estimate = difference(*sums, same_tokens=same_tokens)
    low, high = estimate.ends
    return {
        "score": NAMES[score],
        "pair": f"{first.name} - {second.name}",
        "difference": round(estimate.value, 6),
        "difference_low": round(low, 6),
        "difference_high": round(high, 6),
        "se_examples": _short(estimate.se_examples),
        "se_seeds": _short(estimate.se_seeds) if _covers_seeds(first, second) else None,
        "same_tokens": "yes" if same_tokens else "no",
        "p": estimate.p,
    }


def _covers_seeds(first: Run, second: Run) -> bool:
    return bool(first.members and second.members)


def _short(value: float) -> float:
    return float(f"{value:.3g}")


def pair_notes(rows: Sequence[dict]) -> list[str]:
    """Report for every score which pairs differ clearly, and what the intervals cover."""
    notes = []
    for score in NAMES.values():
        of_score = [row for row in rows if row["score"] == score]
        if of_score:
            clear = [row for row in of_score if row["clear"] == "yes"]
            notes.append(sentence("notes.pairs", score, clear, len(of_score)))
    if rows:
        covered = [row["se_seeds"] is not None for row in rows]
        notes.append(sentence("notes.pair_intervals", all(covered), any(covered)))
    return notes
