"""Sentences on the models of one labelled set: who is ahead, and what limits the scores."""

from collections.abc import Mapping, Sequence

from dna_bigbird.evaluation.compare.head_runs import HeadRun, baseline_scores, group_key
from dna_bigbird.evaluation.compare.lm_runs import ranking_notes
from dna_bigbird.evaluation.pages.rendering import sentence
from dna_bigbird.metrics.verdicts import Verdict

SMALL_TEST = 1000
"""With fewer test rows the page says that the test is small."""


def set_notes(same: Sequence[HeadRun], ranked: Mapping[str, str], score: str) -> list[str]:
    """Return the ranking, the gains over the baselines and the warnings.

    Args:
        ranked: Names of the scores to rank, with their keys.
        score: Key of the score for which evaluate computed paired differences to the baselines.
    """
    notes = [note for what, key in ranked.items() for note in _rank(same, what, key)]
    notes += [note for run in same for note in _gains(run, score)]
    return [*notes, *set_warnings(same)]


def _rank(same: Sequence[HeadRun], what: str, key: str) -> list[str]:
    group = key.removeprefix("median_auroc_") if key.startswith("median") else None
    predictors = [(run.name, run.metrics) for run in same]
    predictors += [(f"the {x.name}", x.scores) for x in baseline_scores(same)]
    named = [(name, x.score(group_key(x, group) if group else key)) for name, x in predictors]
    return ranking_notes(named, what, higher_is_better=True)


def _gains(run: HeadRun, score: str) -> list[str]:
    """Compare a model with the baselines for which there is a paired difference."""
    notes = []
    for x in baseline_scores([run]):
        gain = run.metrics.gain(x.key)
        if gain.has_interval:
            text = sentence(
                "sentences.verdict",
                Verdict(run.metrics.score(score), x.scores.score(score), gain),
                score.replace("_", " ").replace("auroc", "AUROC"),
                f"the {x.name}",
            )
            notes.append(f"{run.name}, on the same draws of rows. {text}")
    return notes


def set_warnings(same: Sequence[HeadRun]) -> list[str]:
    """Return what limits the scores of some runs: size, planted truth, leaks, seeds."""
    facts, metrics = same[0].facts, same[0].metrics
    n = metrics.number("n") or 0
    notes = []
    if facts.task == "promoter" and n:
        notes.append(sentence("notes.all_positive", (metrics.number("n_positive") or 0) / n))
    if n < SMALL_TEST:
        notes.append(sentence("notes.small_test", n))
    if any(run.result.config.semi_synthetic for run in same):
        notes.append(sentence("notes.semi_synthetic"))
    notes.append(sentence("notes.leakage", facts.leaks))
    if any(run.seeds for run in same):
        notes.append(sentence("notes.seed_means"))
    seeds = {run.metrics.seed for run in same}
    if len(seeds) > 1:
        notes.append(sentence("notes.seeds_differ", sorted(seeds, key=str)))
    return notes
