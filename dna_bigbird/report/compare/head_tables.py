"""Tables 6 and 7 of the paper for our models: a block for what may be compared, rows, sentences.

Scores are comparable only on the same rows. So our own rows are ranked within one labelled set, and
published ones stand beside them, in the block of their negatives, without a rank.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from dna_bigbird.report.compare.head_runs import (
    BASELINES,
    HeadRun,
    baseline_scores,
    by_set,
    group_key,
    groups_of,
)
from dna_bigbird.report.compare.lm_runs import cells, ranking
from dna_bigbird.report.compare.published import CHROMATIN, PROMOTERS, Published
from dna_bigbird.report.markup import is_number, shown
from dna_bigbird.report.model_results import ModelResult
from dna_bigbird.report.negatives import NEGATIVES
from dna_bigbird.report.words import Score, score_of, verdict

SMALL_TEST = 1000
"""With fewer test rows the page says that the test is small."""
PROMOTER_SCORES = ("f1", "f1_at_half", "precision", "recall", "mcc", "auroc", "auprc")


@dataclass(frozen=True)
class Block:
    """What may stand in one table: rows of equal negatives, in groups of equal rows scored."""

    title: str
    text: str
    groups: tuple[tuple[str, tuple[dict, ...]], ...]
    """(heading, rows); the first values of a row are predictor and source."""
    notes: dict[str, list[str]]
    """Sentences by the heading of the group that they are about."""

    @property
    def rows(self) -> list[dict]:
        """All rows with the block and group that they stand in."""
        return [
            {"block": self.title, "set": heading, **row}
            for heading, rows in self.groups
            for row in rows
        ]


@dataclass(frozen=True)
class HeadComparison:
    """A table of the paper with our rows."""

    title: str
    scores: tuple[str, ...]
    """Names of the score columns, each with `_low` and `_high`."""
    shown: tuple[str, ...]
    """Of them those that are drawn."""
    blocks: tuple[Block, ...]


def table6(runs: Sequence[HeadRun]) -> HeadComparison:
    """Promoters (paper, Table 6): one block for each way of making negatives."""
    blocks = []
    for negatives in dict.fromkeys(run.facts.negatives for run in runs):
        here = [run for run in runs if run.facts.negatives == negatives]
        published = [x for x in PROMOTERS if x.negatives == negatives]
        groups = [("published, on other data: not ranked", published_rows(published))]
        notes = {}
        for same in by_set(here).values():
            heading = set_heading(same)
            groups.append((heading, set_rows(same, dict.fromkeys(PROMOTER_SCORES))))
            notes[heading] = set_notes(same, {"F1": "f1"}, "auroc")
        blocks.append(
            Block(
                f"Negatives: {negatives}",
                NEGATIVES.get(negatives, ""),
                tuple((heading, rows) for heading, rows in groups if rows),
                notes,
            )
        )
    return HeadComparison(
        "Table 6: promoters", PROMOTER_SCORES, ("f1", "mcc", "auroc"), tuple(blocks)
    )


def table7(runs: Sequence[HeadRun]) -> HeadComparison:
    """Chromatin labels (paper, Table 7): medians of the AUROC by group, a block for each set."""
    groups = groups_of(runs)
    scores = tuple(f"median_auroc_{group}" for group in groups)
    blocks, published = [], published_rows(CHROMATIN, scores)
    for same in by_set(runs).values():
        keys = {f"median_auroc_{g}": g for g in groups}
        ranked = {f"median AUROC of {g}": name for name, g in keys.items()}
        beside = [("published, not ranked", published)] if same[0].facts.is_published else []
        blocks.append(
            Block(
                set_heading(same),
                "",
                (*beside, (set_heading(same), set_rows(same, keys))),
                {set_heading(same): set_notes(same, ranked, "macro_auroc")},
            )
        )
    if not any(run.facts.is_published for run in runs):
        text = "Other labels on other test regions than any of ours here: to read, not to compare."
        blocks.insert(
            0, Block("Published, on the 919 labels", text, (("published", published),), {})
        )
    return HeadComparison("Table 7: chromatin labels", scores, scores, tuple(blocks))


TABLES = {"table6": table6, "table7": table7}


def set_heading(same: Sequence[HeadRun]) -> str:
    """Describe the labelled set of some runs in one line."""
    facts, n = same[0].facts, same[0].metrics.get("n", "?")
    labels = len(same[0].result.labels)
    parts = [f"{labels} labels" if facts.task == "chromatin" else "", f"{facts.window_bp:,} bp"]
    parts += [f"test {facts.split}: {shown(n)} rows", str(same[0].result.config.get("assembly"))]
    return "; ".join(part for part in parts if part)


def set_rows(same: Sequence[HeadRun], keys: dict[str, str | None]) -> tuple[dict, ...]:
    """Return the rows of one labelled set: models, then baselines on the same test rows.

    Args:
        keys: Score columns; the value is a group of labels, or None for a score of its own.
    """
    rows = [
        _row(run.name, "this run", run, run.metrics, run.result, keys, run.described)
        for run in same
    ]
    rows += [
        _row(title, "baseline", run, entry, run.result, keys, _described(entry))
        for title, entry, run in baseline_scores(same)
    ]
    return tuple(rows)


def _described(entry: dict) -> str:
    told = str(entry.get("description", "")).rstrip(".")
    return f"{told}; same training rows" if told else "same training rows"


def _row(
    predictor: str,
    source: str,
    run: HeadRun,
    metrics: dict,
    result: ModelResult,
    keys: dict[str, str | None],
    protocol: str,
) -> dict:
    row: dict = {"predictor": predictor, "source": source, "window_bp": run.facts.window_bp}
    for name, group in keys.items():
        row |= cells(name, score_of(metrics, group_key(metrics, group) if group else name))
    return row | {
        "kmer_there": _trivial(run.baselines.get("kmer", {}), keys),
        "parameters": f"{result.parameters:,}"
        if source == "this run" and result.parameters
        else "",
        "labels_undefined": _undefined(run) if run.facts.task == "chromatin" else "",
        "n": run.metrics.get("n"),
        "n_positive": run.metrics.get("n_positive"),
        "split": run.facts.split,
        "seed": run.metrics.get("seed"),
        "protocol": protocol,
    }


def _trivial(kmer: dict, keys: dict[str, str | None]) -> str:
    """Return the k-mer baseline's first score, or those of all groups."""
    found = [group_key(kmer, group) if group else name for name, group in keys.items()]
    chosen = found[:1] if None in keys.values() else found
    return " / ".join(shown(kmer[key]) for key in chosen if key in kmer) or "–"


def _undefined(run: HeadRun) -> str:
    """Count labels without a defined AUROC by group."""
    found: dict[str, list[bool]] = {}
    for label in run.result.labels:
        found.setdefault(label.group, []).append(not is_number(label.auroc))
    return ", ".join(f"{group} {sum(x)} of {len(x)}" for group, x in found.items())


def published_rows(
    published: Sequence[Published], keys: Sequence[str] = PROMOTER_SCORES
) -> tuple[dict, ...]:
    """Return published rows; they have no interval, seed or baseline."""
    rows = []
    for x in published:
        row: dict = {"predictor": x.model, "source": "published", "window_bp": x.window_bp}
        for key in keys:
            row |= cells(key, Score(x.scores.get(key)))
        row |= {"kmer_there": "not published", "parameters": x.parameters, "labels_undefined": ""}
        row |= {"n": None, "n_positive": None, "split": "its own", "seed": None}
        rows.append(row | {"protocol": x.protocol})
    return tuple(rows)


def set_notes(same: Sequence[HeadRun], ranked: dict[str, str], gain: str) -> list[str]:
    """Say who is ahead on the rows of one set, and what to hold against the scores.

    Args:
        ranked: Names of scores to rank, with their keys.
        gain: Key of the score of which evaluate drew paired differences to the baselines.
    """
    notes = []
    for what, key in ranked.items():
        group = key.removeprefix("median_auroc_") if key.startswith("median") else None
        pairs = [(run.name, run.metrics) for run in same]
        pairs += [(f"the {title}", entry) for title, entry, _ in baseline_scores(same)]
        scores = [(name, score_of(m, group_key(m, group) if group else key)) for name, m in pairs]
        notes += ranking(scores, what, higher_is_better=True)
    for run in same:
        for kind, entry in run.baselines.items():
            paired = score_of(run.metrics, f"auroc_gain_over_{kind}")
            if paired.has_interval:
                text = verdict(
                    score_of(run.metrics, gain),
                    score_of(entry, gain),
                    what=gain.replace("_", " ").replace("auroc", "AUROC"),
                    baseline_name=f"the {BASELINES.get(kind, kind)}",
                    gain=paired,
                )
                notes.append(f"{run.name}, on the same draws of rows. {text}")
    return [*notes, *set_warnings(same)]


def set_warnings(same: Sequence[HeadRun]) -> list[str]:
    """Say what to hold against the scores of some runs: size, planted truth, leaks, seeds."""
    facts, n = same[0].facts, same[0].metrics.get("n", 0)
    found = []
    if facts.task == "promoter" and n:
        share = same[0].metrics.get("n_positive", 0) / n
        found.append(
            f"Calling every row positive gives F1 {2 * share / (1 + share):.3f} here, and MCC 0. Our "
            "thresholds are those with the best F1 on validation; publications mostly take 0.5."
        )
    if n < SMALL_TEST:
        found.append(
            f"Small test: {shown(n)} rows. Intervals are over rows of this test, not over trainings."
        )
    if any(run.result.config.get("semi_synthetic") for run in same):
        found.append("Semi-synthetic: real background with planted truth.")
    if facts.leaks is None:
        found.append("Whether sequences are shared between the splits was not looked for.")
    else:
        leaks = f"{facts.leaks:,}" if facts.leaks else "no"
        found.append(f"Leakage report: {leaks} pairs of rows share sequence between splits.")
    seeds = {run.metrics.get("seed") for run in same}
    if len(seeds) > 1:
        found.append(f"Not equal for all: seed ({', '.join(map(str, sorted(seeds)))}).")
    return found
