"""Do variants with a known effect rank above neutral ones? See docs/metrics.md.

Two questions, each an AUROC. A user who does not know which label to look at takes the largest
absolute change over all labels (`auroc_break`, `auroc_create`). Who knows the label takes its
change in the expected direction, down for a broken site and up for a created one
(`auroc_break_own_label`, `auroc_create_own_label`); a neutral variant that lies where labels are
then counts by the same change of those labels.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dna_bigbird.metrics.bootstrap import draw_units, percentile_interval
from dna_bigbird.metrics.ranking import RankedLabel

# V variants, L labels

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
    """Return for each source of scores the AUROC of every question.

    Args:
        sources: Changes of log odds (V, L) by name, the model's first. All are scored on the same
            draws, and the model's gain over each of the others is given with its interval; also that
            of each other source over `REFERENCE`, if that is one of them.
        without_labels: Names of sources that know no labels, (V, 1): they have no own label.

    Returns:
        By source the keys `auroc_<question>`, with `_low` and `_high` of a 95 % bootstrap interval
        over blocks, `n_<question>` and `n_<question>_positive`; the model also has
        `auroc_<question>_gain_over_<source>`, the others that over REFERENCE. NaN where a question has no positive or no neutral.
    """
    metrics: dict[str, dict[str, float | int]] = {}
    drawn: dict[str, dict[str, NDArray]] = {}
    for name, log_odds_VL in sources.items():
        metrics[name], drawn[name] = {}, {}
        knows_labels = name not in without_labels
        for question, here, scores in questions(
            known if knows_labels else _without_labels(known, log_odds_VL), log_odds_VL
        ):
            if question.endswith("own_label") and not knows_labels:
                continue
            ranked = RankedLabel((known.effects[here] != NEUTRAL).astype(int), scores[here])
            draws = draw_units(
                int(here.sum()), replicates=replicates, seed=seed, units=known.blocks[here]
            )
            key = f"auroc_{question}"
            drawn[name][key] = ranked.areas(draws)[0]
            metrics[name] |= _with_interval(key, float(ranked.areas()[0][0]), drawn[name][key])
            metrics[name] |= {
                f"n_{question}": int(here.sum()),
                f"n_{question}_positive": ranked.n_positive,
            }
    model, *others = sources
    pairs = [(model, other) for other in others]
    if REFERENCE in others:
        pairs += [(other, REFERENCE) for other in others if other != REFERENCE]
    for first, second in pairs:
        for key in [key for key in drawn[second] if key in drawn[first]]:
            gain = metrics[first][key] - metrics[second][key]
            metrics[first] |= _with_interval(
                f"{key}_gain_over_{second}", gain, drawn[first][key] - drawn[second][key]
            )
    return metrics


def _without_labels(known: KnownVariants, log_odds_VL: NDArray) -> KnownVariants:
    return KnownVariants(known.effects, np.zeros(log_odds_VL.shape, dtype=bool), known.blocks)


def _with_interval(key: str, value: float, drawn: NDArray) -> dict[str, float]:
    low, high = percentile_interval(drawn)
    return {key: value, f"{key}_low": low, f"{key}_high": high}
