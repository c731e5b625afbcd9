"""Tables 6 and 7 of the paper for our models.

Scores are comparable only on the same rows. So our own rows are ranked within one labelled set.
Published rows are in the block of their negatives, without a rank.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from dna_bigbird.evaluation.compare.head_runs import (
    HeadRun,
    baseline_scores,
    by_set,
    group_key,
    groups_of,
)
from dna_bigbird.evaluation.compare.lm_runs import cells, ranking_notes
from dna_bigbird.evaluation.rendering import sentence
from dna_bigbird.metrics.names import window_baseline
from dna_bigbird.metrics.scores import PredictorScores, Score, is_number, shown
from dna_bigbird.metrics.verdicts import compared

SMALL_TEST = 1000
"""With fewer test rows the page says that the test is small."""


def set_notes(same: Sequence[HeadRun], ranked: Mapping[str, str], score: str) -> list[str]:
    """Return the ranking by the keys of `ranked`, the gains in `score`, and the warnings."""
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
    """Compare a model with its baselines, the best one first."""
    name = score.replace("_", " ").replace("auroc", "AUROC")
    return [
        f"{run.name}, on the same draws of rows. "
        + sentence("sentences.verdict", verdict, name, f"the {window_baseline(baseline)}")
        for baseline, verdict in compared(run.metrics, score)
        if verdict.gain.has_interval
    ]


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


@dataclass(frozen=True)
class Published:
    """One published row. It was not computed or repeated here."""

    model: str
    window_bp: int
    scores: dict[str, float]
    """By the key of metrics.json, as a share of 1."""
    protocol: str
    """The test data, as far as the publication says."""
    negatives: str = ""
    """How artificial negatives were generated; empty for chromatin labels."""
    parameters: str = ""
    groups: dict[str, int] = field(default_factory=dict)
    """Labels in each group."""


PROMOTERS = (
    Published("CNNProm", 300, {"f1": 0.697}, "as in Table 6 of the BigBird paper", "random_base"),
    Published(
        "DeePromoter", 300, {"f1": 0.956}, "as in Table 6 of the BigBird paper", "random_base"
    ),
    Published(
        "BigBird",
        8000,
        {"f1": 0.999},
        "Table 6 of the paper: 29,597 EPDnew promoters on GRCh37; it warns that the negatives "
        "resemble masking",
        "random_base",
        "110 M",
    ),
    Published("GENA-LM", 300, {"f1": 0.7644}, "EPDnew, own split", "permuted"),
    Published("GENA-LM", 2000, {"f1": 0.9370}, "EPDnew, own split", "permuted"),
)
"""Table 6 of the paper, and what others published since (each on its own data and split)."""

_919 = {"TF": 690, "DHS": 125, "HM": 104}
_CHROMS = "the published bundle, test chr8 and chr9"


def _chromatin(model: str, bp: int, parameters: str, protocol: str, **scores: float) -> Published:
    medians = {f"median_auroc_{group}": value for group, value in scores.items()}
    return Published(model, bp, medians, protocol, parameters=parameters, groups=_919)


CHROMATIN = (
    _chromatin("gkm-SVM", 1000, "", f"Table 7 of the BigBird paper; {_CHROMS}", TF=0.896),
    _chromatin(
        "DeepSEA",
        1000,
        "40 M",
        f"Table 7 of the BigBird paper; {_CHROMS}; mean of both strands",
        TF=0.958,
        DHS=0.923,
        HM=0.856,
    ),
    _chromatin(
        "BigBird",
        8000,
        "110 M",
        f"Table 7 of the paper; {_CHROMS}; mean of two models",
        TF=0.961,
        DHS=0.921,
        HM=0.887,
    ),
    _chromatin("HyenaDNA", 1000, "7 M", _CHROMS, TF=0.964, DHS=0.930, HM=0.863),
    _chromatin("HyenaDNA", 8000, "3.5 M", _CHROMS, TF=0.955, DHS=0.917, HM=0.893),
)
"""Table 7 of the paper and the best since: medians of the AUROC over the labels of a group, which is assumed for BigBird."""


PROMOTER_SCORES = ("f1", "f1_at_half", "precision", "recall", "mcc", "auroc", "auprc")


@dataclass(frozen=True)
class Block:
    """One table: rows of equal negatives, in groups that were scored on the same rows."""

    title: str
    text: str
    groups: tuple[tuple[str, tuple[dict, ...]], ...]
    """(heading, rows); the first values of a row are predictor and source."""
    notes: dict[str, list[str]]
    """Sentences by the heading of their group."""

    @property
    def rows(self) -> list[dict]:
        """All rows with their block and group."""
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
    """Those of them that are drawn."""
    blocks: tuple[Block, ...]

    @property
    def has_published(self) -> bool:
        """Whether any row is published."""
        return any(row["source"] == "published" for block in self.blocks for row in block.rows)


def table6(runs: Sequence[HeadRun]) -> HeadComparison:
    """Promoters (paper, Table 6): one block per way to generate negatives."""
    negatives = dict.fromkeys(run.facts.negatives for run in runs)
    return HeadComparison(
        "Table 6: promoters",
        PROMOTER_SCORES,
        ("f1", "mcc", "auroc"),
        tuple(_promoter_block(name, runs) for name in negatives),
    )


def _promoter_block(negatives: str, runs: Sequence[HeadRun]) -> Block:
    published = [x for x in PROMOTERS if x.negatives == negatives]
    groups = [("published, on other data: not ranked", published_rows(published))]
    notes = {}
    for same in by_set([run for run in runs if run.facts.negatives == negatives]).values():
        heading = set_heading(same)
        groups.append((heading, set_rows(same, dict.fromkeys(PROMOTER_SCORES))))
        notes[heading] = set_notes(same, {"F1": "f1"}, "auroc")
    return Block(
        f"Negatives: {negatives}",
        sentence("sentences.negatives", negatives),
        _with_all_columns([(heading, rows) for heading, rows in groups if rows]),
        notes,
    )


def table7(runs: Sequence[HeadRun]) -> HeadComparison:
    """Chromatin labels (paper, Table 7): medians of the AUROC by group, one block per set."""
    groups = {f"median_auroc_{group}": group for group in groups_of(runs)}
    published = published_rows(CHROMATIN, tuple(groups))
    blocks = [_chromatin_block(same, groups, published) for same in by_set(runs).values()]
    if not any(run.facts.is_published for run in runs):
        text = sentence("notes.other_labels")
        blocks.insert(
            0, Block("Published, on the 919 labels", text, (("published", published),), {})
        )
    return HeadComparison("Table 7: chromatin labels", tuple(groups), tuple(groups), tuple(blocks))


def _chromatin_block(
    same: Sequence[HeadRun], groups: dict[str, str], published: tuple[dict, ...]
) -> Block:
    heading = set_heading(same)
    ranked = {f"median AUROC of {group}": key for key, group in groups.items()}
    own = (heading, set_rows(same, groups))
    others = [("published, not ranked", published)] if same[0].facts.is_published else []
    return Block(
        heading,
        "",
        _with_all_columns([*others, own]),
        {heading: set_notes(same, ranked, "macro_auroc")},
    )


def _with_all_columns(groups: Sequence[tuple[str, tuple[dict, ...]]]) -> tuple:
    """Give every row the columns that any row of the block has; None where it has no value."""
    columns = dict.fromkeys(key for _, rows in groups for row in rows for key in row)
    return tuple((heading, tuple(columns | row for row in rows)) for heading, rows in groups)


TABLES = {"table6": table6, "table7": table7}


def set_heading(same: Sequence[HeadRun]) -> str:
    """Describe the labelled set of some runs in one line."""
    facts, n = same[0].facts, same[0].metrics.number("n")
    labels = len(same[0].result.labels)
    parts = [
        f"{labels} label{'s' * (labels != 1)}" if facts.task == "chromatin" else "",
        f"{facts.window_bp:,} bp",
    ]
    rows = "?" if n is None else shown(n)
    parts += [f"test {facts.split}: {rows} rows", str(same[0].result.config.assembly)]
    return "; ".join(part for part in parts if part)


def set_rows(same: Sequence[HeadRun], keys: dict[str, str | None]) -> tuple[dict, ...]:
    """Return the models, then the baselines on the same rows; `keys`: score to group or None."""
    sources = [(run.name, "this run", run, run.metrics, run.described) for run in same]
    for x in baseline_scores(same):
        sources.append((x.name, "baseline", x.run, x.scores, _described(x.scores)))
    has_seeds = any(run.seeds for run in same)
    return tuple(
        _row(*source, keys) | (_seed_cells(source[3], keys) if has_seeds else {})
        for source in sources
    )


def _seed_cells(
    scores: PredictorScores, keys: dict[str, str | None]
) -> dict[str, float | int | None]:
    """Return the number of seeds and the standard deviations over them."""
    names = {name: group_key(scores, group) if group else name for name, group in keys.items()}
    sds = {f"{name}_sd": scores.number(f"{key}_sd") for name, key in names.items()}
    return {"seeds": scores.number("n_seeds") or 1, **sds}


def _described(scores: PredictorScores) -> str:
    description = scores.description.rstrip(".")
    return f"{description}; same training rows" if description else "same training rows"


def _row(
    predictor: str,
    source: str,
    run: HeadRun,
    scores: PredictorScores,
    protocol: str,
    keys: dict[str, str | None],
) -> dict:
    row: dict = {"predictor": predictor, "source": source, "window_bp": run.facts.window_bp}
    for name, group in keys.items():
        row |= cells(name, scores.score(group_key(scores, group) if group else name))
    parameters = run.result.parameters if source == "this run" else None
    return row | {
        "kmer_there": _kmer_cell(run.metrics.kmer, keys),
        "parameters": f"{parameters:,}" if parameters else "",
        "labels_undefined": _undefined(run) if run.facts.task == "chromatin" else "",
        "n": run.metrics.number("n"),
        "n_positive": run.metrics.number("n_positive"),
        "split": run.facts.split,
        "seed": ", ".join(map(str, run.seeds)) or run.metrics.seed,
        "protocol": protocol,
    }


def _kmer_cell(kmer: PredictorScores, keys: dict[str, str | None]) -> str:
    """Return the k-mer baseline's first score, or those of all groups."""
    names = [group_key(kmer, group) if group else name for name, group in keys.items()]
    chosen = names[:1] if None in keys.values() else names
    return " / ".join(shown(kmer.number(key)) for key in chosen if key in kmer) or "–"


def _undefined(run: HeadRun) -> str:
    """Count labels without a defined AUROC by group."""
    groups: dict[str, list[bool]] = {}
    for label in run.result.labels:
        groups.setdefault(label.group, []).append(not is_number(label.auroc))
    return ", ".join(f"{group} {sum(x)} of {len(x)}" for group, x in groups.items())


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
