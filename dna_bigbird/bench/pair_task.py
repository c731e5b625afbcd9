"""One benchmark task of pairs: a real sequence, a changed form, and perhaps a control; nothing is trained.

A classifier scores a sequence by the log odds of its first label, a pretrained bundle by its mean masked
log-likelihood per base. Baselines score the same pairs: GC content, which such changes keep (a tie is one
half), and n-grams.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dna_bigbird.baselines.base_ngram import BaseNgramCausal
from dna_bigbird.bench.leak_free import LeakFree, leak_free_pairs
from dna_bigbird.bench.parts import ArrayParts
from dna_bigbird.bench.suites.suite import PairRow, PairRows
from dna_bigbird.bench.task_scores import (
    ACCURACY,
    MEAN_DIFFERENCE,
    PairScores,
    TaskRun,
    drawn_means,
    interval_score,
    mean_of_defined,
    mean_score,
)
from dna_bigbird.bench.variant_model import DESCRIPTION, with_fresh_weights
from dna_bigbird.bundles.bundle import Bundle, load_bundle
from dna_bigbird.core.errors import InputError
from dna_bigbird.genome.alphabet import reverse_complement
from dna_bigbird.metrics.task_results import (
    MODEL,
    RANDOM_WEIGHTS,
    SUBSETS,
    Score,
    SourceResult,
    TaskResult,
)
from dna_bigbird.prediction.compute import Compute, exact
from dna_bigbird.prediction.predictor import Predictor
from dna_bigbird.prediction.variants.scorers import STRIDE, SequenceLikelihood

# What scores the sequences of a pair task: the bundle, GC content, and counts of short words.

# n sequences, N pairs

GC, COUNTING = "gc", "counting"
ORDER = 6
"""Bases of the longest n-gram of `counting`."""
DIGITS = 6
"""Decimals of every score; the rounding of float32 does not decide a pair."""


@dataclass(frozen=True)
class ModelScorer:
    """Scores sequences with a bundle: labels if it has some, else how probable it finds them."""

    bundle: Bundle
    threads: int

    @property
    def is_classifier(self) -> bool:
        """Whether the bundle predicts labels."""
        return not self.bundle.config.is_pretrained_only

    @property
    def description(self) -> str:
        """What a score is, in one sentence."""
        if not self.is_classifier:
            return (
                f"mean log-likelihood per base, every {STRIDE}th token hidden in turn, given strand"
            )
        label = self.bundle.config.label_names[0]
        joined = "the higher strand" if self.bundle.config.directional else "mean of both strands"
        return f"log odds of {label}, {joined}"

    def score(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """Return scores of normalised sequences, (n, 2): of the given and the other strand."""
        compute = exact(Compute(threads=self.threads))
        if not self.is_classifier:
            nats = SequenceLikelihood(self.bundle, compute).nats_per_base(texts)
            return np.round(np.stack([nats, np.full(len(texts), np.nan)], axis=1), DIGITS)
        predictor = Predictor([self.bundle], compute=compute, labels=[0])
        groups = [(text, reverse_complement(text)) for text in texts]
        logits = [each[:, 0] for each in predictor.logits(groups)]
        return np.round(np.array(logits).reshape(-1, 2), DIGITS)

    def join(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return one score per sequence, (n,), from those of its strands, (n, 2)."""
        if not self.is_classifier:
            return scores[:, 0]
        return scores.max(axis=1) if self.bundle.config.directional else scores.mean(axis=1)


def gc_shares(texts: Sequence[str]) -> NDArray[np.float64]:
    """Return the share of G and C of each sequence, N left out, (n,)."""
    counts = [(text.count("G") + text.count("C"), len(text) - text.count("N")) for text in texts]
    return np.array([gc / known if known else np.nan for gc, known in counts])


def counting_scores(rows: Sequence[PairRow], forms: Sequence[str]) -> list[NDArray[np.float64]]:
    """Return the mean log-likelihood per base of each form of pairs in nats, (N,) each."""
    # The n-grams are those of the unchanged sequences of the other half of the pairs, every other
    # group or name: so a motif is scored by counts that have not seen it.
    keys = [row.group for row in rows]
    if len(set(keys)) == 1:
        keys = [row.name for row in rows]
    half = np.unique(keys, return_inverse=True)[1].reshape(-1) % 2
    scores = [np.full(len(rows), np.nan) for _ in forms]
    for number in (0, 1):
        fitted = BaseNgramCausal(ORDER).fit_sequences(_distinct(rows, half != number))
        if not fitted.counted_bp:
            continue
        for values, form in zip(scores, forms, strict=True):
            for i in np.flatnonzero(half == number).tolist():
                values[i] = -np.nanmean(fitted.nll(getattr(rows[i], form)))
    return [np.round(values, DIGITS) for values in scores]


def _distinct(rows: Sequence[PairRow], chosen: NDArray[np.bool_]) -> Iterator[str]:
    yield from dict.fromkeys(rows[i].sequence for i in np.flatnonzero(chosen).tolist())


# N pairs, R bootstrap draws

CHANCE = {ACCURACY: 0.5, MEAN_DIFFERENCE: 0.0}
"""Scores of a source that does not distinguish the forms of a pair."""


@dataclass(frozen=True)
class PairSource:
    """What one source gives to the pairs."""

    description: str
    scores: PairScores
    is_trained: bool = True
    strands: tuple[PairScores, PairScores] | None = None
    """The scores of the given and of the other strand; None: it reads one strand, or takes the higher."""


def run_pairs(run: TaskRun, rows: PairRows) -> TaskResult:
    """Score every form of every pair with the model and the baselines, and compare them."""
    if not rows.rows:
        raise InputError(f"{run.suite.name} {run.task.name}: no pair is left; {rows.counts}")
    bundle = load_bundle(run.model)
    bundle.check_reads_dna()
    scorer = ModelScorer(bundle, run.choice.threads)
    forms = _forms(rows)
    texts = [getattr(row, form) for form in forms for row in rows.rows]
    parts = ArrayParts(run.folder, run.checksums | {"description": scorer.description})
    stored = parts.scored(MODEL, texts, lambda some: {"scores": scorer.score(some)})["scores"]
    strands = None
    if scorer.is_classifier and not bundle.config.directional:
        strands = (_pairs(stored[:, 0], forms), _pairs(stored[:, 1], forms))
    sources = {
        MODEL: PairSource(scorer.description, _pairs(scorer.join(stored), forms), True, strands)
    }
    if not scorer.is_classifier:
        untrained = ModelScorer(with_fresh_weights(bundle), run.choice.threads)
        scores = parts.scored(RANDOM_WEIGHTS, texts, lambda some: {"scores": untrained.score(some)})
        sources[RANDOM_WEIGHTS] = PairSource(
            f"{untrained.description}; {DESCRIPTION}",
            _pairs(untrained.join(scores["scores"]), forms),
            is_trained=False,
        )
    sources |= {
        COUNTING: PairSource(
            f"n-grams of up to {ORDER} bases of the unchanged sequences of the other half of the pairs",
            _pairs(np.concatenate(counting_scores(rows.rows, forms)), forms),
        ),
        GC: PairSource("share of G and C", _pairs(gc_shares(texts), forms), is_trained=False),
    }
    return compare(run, rows, sources, leak_free_pairs(bundle, rows))


def compare(
    run: TaskRun, rows: PairRows, sources: Mapping[str, PairSource], tests: LeakFree
) -> TaskResult:
    """Return the result of a task from the scores of its sources; the model's are among them."""
    subsets = {name: tests.rows(name) for name in SUBSETS}
    sizes = {name: len(positions) for name, positions in subsets.items()}
    subsets = {name: positions for name, positions in subsets.items() if len(positions)}
    means = {name: _Means(run, rows, subset) for name, subset in subsets.items()}
    return run.result(
        label_names=(),
        assembly=rows.assembly,
        counts=rows.counts,
        n=sizes,
        leaks=tests.counts,
        sources=[_source(name, sources, means, run.task.metric) for name in sources],
        settings={"chance": CHANCE},
        notes=tests.notes,
        groups=_groups(rows, sources[MODEL].scores, means, run.task.metric),
    )


class _Means:
    """Means over the pairs at `positions`, (n,), with intervals."""

    def __init__(self, run: TaskRun, rows: PairRows, positions: NDArray[np.int64]) -> None:
        self._run, self._rows, self._positions = run, rows, positions
        chosen = [rows.rows[i] for i in positions.tolist()]
        self._groups = np.array([row.group for row in chosen])
        self._draws = run.draw([row.name for row in chosen])

    def scores(self, pairs: PairScores) -> dict[str, Score]:
        """Return every score of a source."""
        values = pairs.keep(self._positions).values()
        return {name: mean_score(value, self._draws) for name, value in values.items()}

    def difference(self, first: PairScores, second: PairScores, metric: str) -> Score:
        """Return a score of one source minus another's, on the same draws."""
        own, others = (pairs.keep(self._positions).values()[metric] for pairs in (first, second))
        value = mean_of_defined(own) - mean_of_defined(others)
        drawn = drawn_means(own, self._draws) - drawn_means(others, self._draws)
        return interval_score(value, drawn)

    def of_group(self, group: str) -> "_Means | None":
        """Return the means over the pairs of a group; None if there are none."""
        inside = self._positions[self._groups == group]
        return _Means(self._run, self._rows, inside) if len(inside) else None


def _forms(rows: PairRows) -> tuple[str, ...]:
    """Return which sequences every pair has."""
    with_control = sum(bool(row.control) for row in rows.rows)
    if with_control not in (0, len(rows.rows)):
        raise ValueError(f"{with_control} of {len(rows.rows)} pairs have a control")
    return ("sequence", "changed", "control") if with_control else ("sequence", "changed")


def _pairs(scores: NDArray[np.float64], forms: tuple[str, ...]) -> PairScores:
    """Return the scores of pairs, from those of all first forms, then all second forms, and so on."""
    return PairScores(*np.split(scores, len(forms)))


def _source(
    name: str, sources: Mapping[str, PairSource], means: Mapping[str, _Means], metric: str
) -> SourceResult:
    source = sources[name]
    minus = {}
    if name != MODEL:
        minus = {
            subset: each.difference(sources[MODEL].scores, source.scores, metric)
            for subset, each in means.items()
        }
    return SourceResult(
        name,
        source.description,
        {subset: each.scores(source.scores) for subset, each in means.items()},
        minus,
        {} if source.strands is None else strand_agreement(*source.strands),
        is_trained=source.is_trained,
    )


def strand_agreement(forward: PairScores, reverse: PairScores) -> dict[str, float | None]:
    """Return the share of pairs that the strands rank differently, and the correlation."""
    first, second = (pairs.values()[MEAN_DIFFERENCE] for pairs in (forward, reverse))
    defined = np.isfinite(first) & np.isfinite(second)
    first, second = first[defined], second[defined]
    if len(first) < 2:
        return {"flip_rate": None, "correlation": None}
    varies = first.std() > 0 and second.std() > 0
    return {
        "flip_rate": round(float((np.sign(first) != np.sign(second)).mean()), 6),
        "correlation": round(float(np.corrcoef(first, second)[0, 1]), 6) if varies else None,
    }


def _groups(
    rows: PairRows, model: PairScores, means: Mapping[str, _Means], metric: str
) -> dict[str, dict[str, Score]]:
    groups: dict[str, dict[str, Score]] = {}
    for group in sorted({row.group for row in rows.rows} - {""}):
        inside = {subset: each.of_group(group) for subset, each in means.items()}
        groups[group] = {
            subset: each.scores(model)[metric] for subset, each in inside.items() if each
        }
    return groups
