"""Every source of scores of a task of variants, each from its finished parts or computed."""

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from dna_bigbird.baselines.base_two_sided import BaseMixtureTwoSided
from dna_bigbird.bench.parts import ArrayParts, Arrays
from dna_bigbird.bench.suites.suite import VariantRow, VariantRows
from dna_bigbird.bench.variant_model import DESCRIPTION, VariantModel, has_likelihood
from dna_bigbird.bundles.bundle import Bundle
from dna_bigbird.evaluation.rank_variants_baselines import counted_ratios
from dna_bigbird.genome import Genome, Interval
from dna_bigbird.genome.coverage import merge_spans
from dna_bigbird.genome.variants import Variant
from dna_bigbird.metrics.task_results import MODEL, RANDOM_WEIGHTS

# Logistic regression on features of variants, each chromosome scored by a fit on the others.
#
# The protocol of TraitGym (`run_classifier` and `train_logistic_regression` in workflow/rules of its repository): standardised
# features, classes of equal weight, the strength of the penalty chosen by average precision on folds of
# chromosomes within the training rows.

# N variants, D features

STRENGTHS = np.logspace(-8, 0, 10)
"""Values of C that are tried."""
INNER_FOLDS = 5
STRETCHES = 4
"""Parts of a single chromosome: the authors' `pos_quarter`."""
ONE_CHROMOSOME = (
    "the probe scores quarters of the only chromosome, each by a fit on the other three: neighbouring "
    "variants may be in both"
)


def probe_folds(variants: Sequence[VariantRow]) -> NDArray[np.int64]:
    """Return the fold of each variant, (N,): its chromosome, or a quarter of a single one."""
    names = [variant.chromosome or variant.chrom for variant in variants]
    folds = np.unique(names, return_inverse=True)[1]
    if folds.max() > 0:
        return folds
    positions = np.unique([variant.pos for variant in variants])
    quarters = np.array_split(positions, min(STRETCHES, len(positions)))
    firsts = [quarter[0] for quarter in quarters]
    return np.searchsorted(firsts, [variant.pos for variant in variants], side="right") - 1


def probe_scores(
    features_ND: NDArray, labels_N: NDArray[np.bool_], folds_N: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return the probability of each variant by a fit on the other folds, (N,), or 0.5."""
    scores = np.full(len(labels_N), 0.5)
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # inner folds without a positive; fits at the last step
        for fold in np.unique(folds_N):
            test = folds_N == fold
            train = ~test
            if 0 < labels_N[train].sum() < train.sum():
                model = _fit(features_ND[train], labels_N[train], folds_N[train])
                scores[test] = model.predict_proba(features_ND[test])[:, 1]
    return scores


def _fit(features_ND: NDArray, labels_N: NDArray, folds_N: NDArray):
    """Return the regression with the best strength; the median strength if the rows are of one fold."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import GridSearchCV, GroupKFold
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    pipeline = make_pipeline(
        StandardScaler(), LogisticRegression(class_weight="balanced", random_state=42)
    )
    number = len(np.unique(folds_N))
    if number < 2:
        middle = float(STRENGTHS[len(STRENGTHS) // 2])
        return pipeline.set_params(logisticregression__C=middle).fit(features_ND, labels_N)
    search = GridSearchCV(
        pipeline,
        {"logisticregression__C": STRENGTHS},
        scoring="average_precision",
        cv=GroupKFold(min(INNER_FOLDS, number)),
    )
    return search.fit(features_ND, labels_N, groups=folds_N)


COUNTED_BP = 4_000_000
"""Bases of the genome that are counted at most."""
PIECE_BP = 20_000
"""Length of the pieces that are counted, evenly spaced over a longer genome."""
CUT_BP = 32
"""Bases on each side of a variant that are not counted, as a context of it would be."""
LEAST_COUNTED_BP = 2000
"""Counts of less are not a baseline."""


def gc_content(
    variants: Sequence[VariantRow], genome: Genome, window_bp: int
) -> NDArray[np.float64]:
    """Return the share of G and C among the known bases of the reference window, (N,)."""
    shares = []
    for variant in variants:
        start = variant.pos - 1 - window_bp // 2
        bases = genome.fetch(Interval(variant.chrom, start, start + window_bp))
        known = len(bases) - bases.count("N")
        shares.append((bases.count("G") + bases.count("C")) / known)
    return np.array(shares)


def counted_intervals(variants: Sequence[VariantRow], genome: Genome) -> list[Interval]:
    """Return what is counted: pieces of all chromosomes."""
    # No context of a variant has its own base, or the counts would know REF.
    total = sum(genome.lengths.values())
    share = min(1.0, COUNTED_BP / total)
    intervals = []
    for chrom, length in genome.lengths.items():
        number = max(1, math.ceil(length * share / PIECE_BP))
        size = length if share == 1 else min(PIECE_BP, length)
        starts = [round(i * length / number) for i in range(1 if share == 1 else number)]
        positions = np.array([v.pos - 1 for v in variants if v.chrom == chrom], dtype=np.int64)
        cut = merge_spans(positions - CUT_BP, positions + CUT_BP + 1)
        for start in starts:
            intervals += _without(chrom, start, min(length, start + size), *cut)
    return intervals


def _without(
    chrom: str, start: int, end: int, cut_starts: NDArray, cut_ends: NDArray
) -> list[Interval]:
    """Return what is left of a piece without sorted spans."""
    left = []
    for cut_start, cut_end in zip(cut_starts.tolist(), cut_ends.tolist(), strict=True):
        if cut_end <= start or cut_start >= end:
            continue
        if cut_start > start:
            left.append(Interval(chrom, start, cut_start))
        start = cut_end
    return [*left, Interval(chrom, start, end)] if start < end else left


def counting_ratios(variants: Sequence[VariantRow], genome: Genome) -> NDArray[np.float64] | None:
    """Return log p(ALT) - log p(REF) by counts, (N,); None if there is too little sequence."""
    intervals = counted_intervals(variants, genome)
    if sum(interval.length for interval in intervals) < LEAST_COUNTED_BP:
        return None
    mixture = BaseMixtureTwoSided().fit_sequences([genome.fetch(each) for each in intervals])
    records = [Variant(v.chrom, v.pos, ".", v.ref, (v.alt,), 0) for v in variants]
    return counted_ratios(records, genome, mixture)[:, 0]


def random_scores(number: int, seeds: Sequence[int]) -> NDArray[np.float64]:
    """Return scores that know nothing, (seeds, N)."""
    return np.stack([np.random.default_rng([seed, number]).random(number) for seed in seeds])


# N variants, S strands

LIKELIHOOD, ABSOLUTE = "likelihood", "absolute_likelihood"
DESCRIPTIONS = {
    LIKELIHOOD: "log p(REF) - log p(ALT), the base masked",
    ABSOLUTE: "|log p(REF) - log p(ALT)|, the base masked",
    "embedding": "Euclidean distance of the states of all bases, REF and ALT",
    "embedding_cosine": "cosine distance of the states of the variant's base, REF and ALT",
    "probe": "logistic regression on log-ratios and products of states, other chromosomes",
    "gc": "GC content of the window",
    "counting": "log p(REF) - log p(ALT) by counts of bases around it in the genome",
    "random": "random numbers",
}
MOST_PROBED = 50_000
"""Variants up to which the regression is fitted."""


@dataclass(frozen=True)
class VariantSource:
    """One source of scores."""

    name: str
    description: str
    scores: NDArray[np.float64]
    """(seeds, N); one row if there is no seed."""
    strands: NDArray[np.float64] | None = None
    """(N, S) before the mean over strands; None for a source without strands."""
    is_trained: bool = False


def variant_sources(
    data: VariantRows,
    bundle: Bundle,
    model: VariantModel,
    untrained: VariantModel,
    parts: ArrayParts,
    *,
    window_bp: int,
    seeds: Sequence[int],
) -> tuple[list[VariantSource], list[str]]:
    """Return the model's score, which is that of the suite if it has it, all others, and notes."""
    states = parts.scored("states", data.rows, model.states)
    ratios = None
    notes: list[str] = []
    if has_likelihood(bundle):
        ratios = parts.scored("likelihood", data.rows, model.log_ratios)["log_ratio"]
    sources = [*([] if ratios is None else _likelihoods(ratios)), *_distances(states)]
    chosen: str = data.zero_shot
    if ratios is None and chosen in (LIKELIHOOD, ABSOLUTE):
        chosen = "embedding"
        notes.append(
            f"the bundle predicts no masked tokens: the model's score is not {data.zero_shot} but the distance "
            "of the states"
        )
    first = next(source for source in sources if source.name == chosen)
    ordered = [VariantSource(MODEL, first.description, first.scores, first.strands)]
    ordered += [source for source in sources if source.name != chosen]
    ordered.append(_random_weights(data.rows, untrained, chosen, parts))
    probe, probe_notes = _probe(data.rows, states["products"], ratios, parts)
    trivial, trivial_notes = _trivial(data, parts, window_bp, seeds)
    return [*ordered, *probe, *trivial], notes + probe_notes + trivial_notes


def _likelihoods(ratios_NS: NDArray) -> list[VariantSource]:
    """Return the likelihoods of the ratios' means over strands."""
    mean = ratios_NS.mean(axis=1)
    return [
        _source(LIKELIHOOD, -mean, -ratios_NS),
        _source(ABSOLUTE, np.abs(mean), np.abs(ratios_NS)),
    ]


def _distances(states: Arrays) -> list[VariantSource]:
    return [
        _source(name, states[key].mean(axis=1), states[key])
        for name, key in (("embedding", "euclidean"), ("embedding_cosine", "cosine"))
    ]


def _random_weights(
    rows: Sequence[VariantRow], model: VariantModel, chosen: str, parts: ArrayParts
) -> VariantSource:
    """Return the score named `chosen` of a network that was not trained."""
    if chosen in (LIKELIHOOD, ABSOLUTE):
        scored = parts.scored(f"{RANDOM_WEIGHTS}-likelihood", rows, model.log_ratios)
        sources = _likelihoods(scored["log_ratio"])
    else:
        sources = _distances(parts.scored(f"{RANDOM_WEIGHTS}-states", rows, model.states))
    source = next(source for source in sources if source.name == chosen)
    return replace(source, name=RANDOM_WEIGHTS, description=f"{source.description}; {DESCRIPTION}")


def _source(name: str, scores: NDArray, strands: NDArray | None = None) -> VariantSource:
    return VariantSource(name, DESCRIPTIONS[name], np.atleast_2d(scores), strands)


def _probe(
    rows: Sequence[VariantRow], products_NE: NDArray, ratios_NS: NDArray | None, parts: ArrayParts
) -> tuple[list[VariantSource], list[str]]:
    if len(rows) > MOST_PROBED:
        return [], [f"no probe: more than {MOST_PROBED:,} variants"]
    folds = probe_folds(rows)
    features = products_NE
    if ratios_NS is not None:
        ratio_N1 = ratios_NS.mean(axis=1, keepdims=True)
        features = np.hstack([ratio_N1, np.abs(ratio_N1), products_NE])
    labels = np.array([row.label for row in rows])
    scored = parts.scored(
        "probe", rows, lambda _: {"score": probe_scores(features, labels, folds)}, at_once=len(rows)
    )
    names = {row.chromosome or row.chrom for row in rows}
    source = VariantSource("probe", DESCRIPTIONS["probe"], scored["score"][None], is_trained=True)
    return [source], [ONE_CHROMOSOME] * (len(names) == 1)


def _trivial(
    data: VariantRows, parts: ArrayParts, window_bp: int, seeds: Sequence[int]
) -> tuple[list[VariantSource], list[str]]:
    rows, genome, notes = data.rows, Genome(data.genome), []
    sources = [_source("gc", gc_content(rows, genome, window_bp))]

    def count(_: Sequence[VariantRow]) -> Arrays:
        log_ratios = counting_ratios(rows, genome)
        return {} if log_ratios is None else {"log_ratio": log_ratios}

    ratios = parts.scored("counting", rows, count, at_once=len(rows)).get("log_ratio")
    if ratios is None:
        notes.append("no counts: the genome has too little sequence apart from the variants")
    else:
        is_absolute = data.zero_shot == ABSOLUTE
        sources.append(_source("counting", np.abs(ratios) if is_absolute else -ratios))
    sources.append(_source("random", random_scores(len(rows), seeds)))
    return sources, notes
