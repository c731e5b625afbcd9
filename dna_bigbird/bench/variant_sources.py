"""Every source of scores of a task of variants, each from its finished parts or computed."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dna_bigbird.bench.array_parts import ArrayParts, Arrays
from dna_bigbird.bench.fresh_weights import DESCRIPTION
from dna_bigbird.bench.suites.suite import VariantRow, VariantRows
from dna_bigbird.bench.variant_model import VariantModel, has_likelihood
from dna_bigbird.bench.variant_probe import ONE_CHROMOSOME, probe_folds, probe_scores
from dna_bigbird.bench.variant_trivial import (
    counting_ratios,
    gc_content,
    random_scores,
)
from dna_bigbird.bundles.bundle import Bundle
from dna_bigbird.genome import Genome
from dna_bigbird.metrics.task_results import MODEL, RANDOM_WEIGHTS

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
    """Return the model's score, all others, and notes.

    Args:
        untrained: The network of the model with random weights.

    The model's is that of the suite; the Euclidean distance for a bundle that predicts no masked tokens.
    """
    states = parts.scored("states", data.rows, model.states)
    ratios = None
    notes: list[str] = []
    if has_likelihood(bundle):
        ratios = parts.scored("likelihood", data.rows, model.log_ratios)["log_ratio"]
    sources = zero_shot_sources(states, ratios)
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


def zero_shot_sources(states: Arrays, ratios_NS: NDArray | None) -> list[VariantSource]:
    """Return every score that needs no training; means over strands, for likelihoods of the ratios."""
    likelihoods = [] if ratios_NS is None else _likelihoods(ratios_NS)
    return [*likelihoods, *_distances(states)]


def _likelihoods(ratios_NS: NDArray) -> list[VariantSource]:
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
        "probe",
        rows,
        lambda _: {"score": probe_scores(features, labels, folds)},
        at_once=len(rows),
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
