"""Scores of ranked variants: average precision by chromosome, over all variants, and AUROC.

The average precision by chromosome is the main metric of TraitGym (Benegas et al. 2025; rules `get_metric_by_block`
and `get_metric_by_block_weighted_average` of its repository): each chromosome weighs as many as it has variants.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dna_bigbird.metrics.binary import RankedLabel
from dna_bigbird.metrics.bootstrap import Draws, draw_units, percentile_interval
from dna_bigbird.metrics.label_areas import with_interval

# V variants, L labels
#
# Who does not know which label to look at takes the largest absolute change over all labels
# (`auroc_break`); who knows it takes its change in the expected direction
# (`auroc_break_own_label`), and a neutral variant counts by the same change of the labels where
# it lies. See docs/reference/metrics.md.

NEUTRAL = "none"
REFERENCE = "kmer"
"""The source that every other one is compared with."""
DIRECTIONS = {"break": -1, "create": 1}
"""Effects that a variant can be known to have, and where its labels then go."""


@dataclass(frozen=True)
class KnownVariants:
    """Variants whose effect is known."""

    effects: NDArray[np.str_]
    """(V,): `break`, `create` or `none`."""
    own_labels: NDArray[np.bool_]
    """(V, L): labels that the variant changes or, for a neutral one, the labels at its position."""
    blocks: NDArray[np.int64]
    """(V,), equal for variants that a bootstrap draws together."""


def questions(
    known: KnownVariants, log_odds_VL: NDArray
) -> Iterator[tuple[str, NDArray[np.bool_], NDArray[np.float64]]]:
    """Yield each question's key, the variants that take part (V,), and their scores (V,)."""
    largest = np.abs(log_odds_VL).max(axis=1)
    has_own = known.own_labels.any(axis=1)
    for effect, direction in DIRECTIONS.items():
        takes_part = np.isin(known.effects, (effect, NEUTRAL))
        yield effect, takes_part, largest
        own = np.where(known.own_labels, direction * log_odds_VL, -np.inf).max(axis=1)
        yield f"{effect}_own_label", takes_part & has_own, own


def rank_variants(
    known: KnownVariants,
    sources: dict[str, NDArray],
    *,
    without_labels: Collection[str] = (),
    seed: int = 0,
    replicates: int = 1000,
) -> dict[str, dict[str, float | int]]:
    """Return the AUROC of every question by source, with intervals, counts and gains over others.

    Args:
        sources: Changes of log odds (V, L) by name, the model's first, scored on the same draws.
            Gains are the model's over each other, and each other's over `REFERENCE`.
        without_labels: Names of sources that know no labels, (V, 1): they have no own label.
    """
    metrics: dict[str, dict[str, float | int]] = {}
    drawn: dict[str, dict[str, NDArray]] = {}
    draws_of: dict[str, Draws] = {}
    for name, log_odds_VL in sources.items():
        metrics[name], drawn[name] = {}, {}
        knows_labels = name not in without_labels
        nothing = np.zeros(log_odds_VL.shape, dtype=bool)
        of_source = known if knows_labels else replace(known, own_labels=nothing)
        for question, here, scores in questions(of_source, log_odds_VL):
            if question.endswith("own_label") and not knows_labels:
                continue
            ranked = RankedLabel((known.effects[here] != NEUTRAL).astype(int), scores[here])
            key = f"auroc_{question}"
            draws = draws_of[key] = draw_units(
                int(here.sum()), replicates=replicates, seed=seed, units=known.blocks[here]
            )
            drawn[name][key] = ranked.areas(draws)[0]
            metrics[name] |= with_interval(key, ranked.areas()[0][0], drawn[name][key], draws)
            metrics[name] |= {f"n_{question}": int(here.sum())}
            metrics[name] |= {f"n_{question}_positive": ranked.n_positive}
    model, *others = sources
    pairs = [(model, other) for other in others]
    if REFERENCE in others:
        pairs += [(other, REFERENCE) for other in others if other != REFERENCE]
    for first, second in pairs:
        for key in [key for key in drawn[second] if key in drawn[first]]:
            gain = metrics[first][key] - metrics[second][key]
            metrics[first] |= with_interval(
                f"{key}_gain_over_{second}",
                gain,
                drawn[first][key] - drawn[second][key],
                draws_of[key],
            )
    return metrics


# N variants, R bootstrap draws

BY_CHROMOSOME, AUPRC, AUROC = "auprc_by_chromosome", "auprc", "auroc"
VARIANT_METRICS = (BY_CHROMOSOME, AUPRC, AUROC)


@dataclass(frozen=True)
class Measured:
    """A score of the variants as they are, and of every draw."""

    value: float
    drawn: NDArray[np.float64]
    """(R,)."""


def chromosome_weighted_auprc(
    labels: ArrayLike, scores: ArrayLike, chromosomes: ArrayLike, draws: Draws | None = None
) -> NDArray[np.float64]:
    """Return the chromosomes' mean average precision, weighted by variants, (R,) or (1,).

    Example:
        >>> float(chromosome_weighted_auprc([1, 0, 0, 1], [3, 2, 1, 0], ["1", "1", "2", "2"])[0])
        0.75
    """
    labels, scores = np.asarray(labels), np.asarray(scores)
    size = 1 if draws is None else len(draws)
    total, weight = np.zeros(size), np.zeros(size)
    for here in rows_by_chromosome(chromosomes).values():
        part = None if draws is None else Draws(draws.units[here], draws.times)
        areas = RankedLabel(labels[here], scores[here]).areas(part)[1]
        times = len(here) if part is None else part.times[part.units].sum(axis=0, dtype=float)
        counted = np.where(np.isfinite(areas), times, 0.0)
        total += counted * np.nan_to_num(areas)
        weight += counted
    return np.divide(total, weight, out=np.full(size, np.nan), where=weight > 0)


def centred_interval(
    value: float, drawn: ArrayLike, *, least: float = -np.inf, most: float = np.inf
) -> tuple[float, float]:
    """Return the 95 % interval of the draws, moved so that their mean is the value itself.

    Example:
        >>> centred_interval(0.5, [0.6, 0.7, 0.8], least=0.0, most=1.0)
        (0.405, 0.595)
    """
    # A positive that is drawn twice scores above itself, which raises the average precision of a
    # draw: at the level of chance the interval as it is covers the expected score in 20 of 30
    # tables, the moved one in 29 (tests/evaluation/test_variant_scores.py).
    drawn = np.asarray(drawn, dtype=np.float64)
    if not np.isfinite(drawn).any():
        return percentile_interval(drawn)
    low, high = percentile_interval(drawn - np.nanmean(drawn) + value)
    return round(float(np.clip(low, least, most)), 12), round(float(np.clip(high, least, most)), 12)


def rows_by_chromosome(chromosomes: ArrayLike) -> dict[str, NDArray[np.int64]]:
    """Return the rows of each chromosome, in the order of their first rows."""
    names, first, of_row = np.unique(
        np.asarray(chromosomes), return_index=True, return_inverse=True
    )
    return {str(names[i]): np.flatnonzero(of_row == i) for i in np.argsort(first)}


def measure_variants(
    labels: ArrayLike, scores: ArrayLike, chromosomes: ArrayLike, draws: Draws
) -> Mapping[str, Measured]:
    """Return every score of `VARIANT_METRICS`; NaN where it is not defined."""
    ranked = RankedLabel(labels, scores)
    areas, drawn = ranked.areas(), ranked.areas(draws)
    return {
        BY_CHROMOSOME: Measured(
            float(chromosome_weighted_auprc(labels, scores, chromosomes)[0]),
            chromosome_weighted_auprc(labels, scores, chromosomes, draws),
        ),
        AUPRC: Measured(float(areas[1][0]), drawn[1]),
        AUROC: Measured(float(areas[0][0]), drawn[0]),
    }


def chance_auprc(labels: ArrayLike, chromosomes: ArrayLike | None = None) -> float:
    """Return the expected average precision of variants in a random order.

    Example:
        >>> round(chance_auprc([1] + [0] * 9), 3)
        0.293
    """
    labels = np.asarray(labels)
    if chromosomes is None:
        count, positives = len(labels), int(labels.sum())
        if not 0 < positives < count:
            return float("nan")
        # n variants, m positive: (H_n + (m - 1) / (n - 1) (n - H_n)) / n, H_n harmonic.
        harmonic = float((1 / np.arange(1, count + 1)).sum())
        return (harmonic + (positives - 1) / (count - 1) * (count - harmonic)) / count
    parts = [labels[here] for here in rows_by_chromosome(chromosomes).values()]
    defined = [part for part in parts if 0 < part.sum() < len(part)]
    if not defined:
        return float("nan")
    return float(np.average([*map(chance_auprc, defined)], weights=[*map(len, defined)]))
