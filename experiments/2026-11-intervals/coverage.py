"""How often 95 % intervals contain the score of all rows there are: simulated labels and scores.

Scores are normal, those of positives `distance` standard deviations higher. Rows are independent, or
in blocks of `block` rows whose label and score have a correlation of 0.3 within a block. Compared are
the intervals of `metrics.bootstrap` and the plain quantiles of the same draws.
"""

import argparse
import itertools
from pathlib import Path

import numpy as np
from scipy.stats import norm

from dna_bigbird.core.tables import Table
from dna_bigbird.metrics.binary import RankedLabel, confusion
from dna_bigbird.metrics.bootstrap import (
    Draws,
    bootstrap_intervals,
    draw_units,
    percentile_interval,
)

# N rows, R bootstrap draws

WITHIN = 0.3
"""Correlation of two rows of a block."""
SCORES = ("auprc", "auroc", "f1", "mcc")


def shared(rng: np.random.Generator, rows: int, block: int) -> np.ndarray:
    """Return standard normal values, (N,): correlated within blocks of more than one row."""
    own = rng.normal(size=rows)
    if block == 1:
        return own
    return (
        WITHIN**0.5 * np.repeat(rng.normal(size=rows // block), block) + (1 - WITHIN) ** 0.5 * own
    )


def sample(rng: np.random.Generator, rows: int, block: int, share: float, distance: float):
    """Return labels and scores of some rows."""
    labels = (shared(rng, rows, block) < norm.ppf(share)).astype(int)
    return labels, shared(rng, rows, block) + distance * labels


def measure(labels, scores, threshold: float, draws: Draws | None = None) -> dict[str, np.ndarray]:
    """Return every score of the rows, or under every draw, (R,)."""
    auroc, auprc = RankedLabel(labels, scores).areas(draws)
    at = confusion(labels, scores, threshold, draws)
    return {"auprc": auprc, "auroc": auroc, "f1": at.f1(), "mcc": at.mcc()}


def coverage(rows: int, block: int, share: float, distance: float, samples: int, seed: int):
    """Yield a row per score: how often both intervals contain it, and lie above or below it."""
    rng = np.random.default_rng(seed)
    threshold = distance / 2 + (0.5 if share < 0.3 else 0)
    true = measure(*sample(rng, 2_000_000, 1, share, distance), threshold)
    draws = draw_units(rows, replicates=1000, seed=0, units=np.arange(rows) // block)
    ends: dict[tuple[str, str], list] = {(x, y): [] for x in SCORES for y in ("bca", "quantiles")}
    for _ in range(samples):
        table = sample(rng, rows, block, share, distance)
        values, drawn = (measure(*table, threshold, x) for x in (None, draws))
        for name in SCORES:
            ends[name, "bca"].append(bootstrap_intervals(values[name], drawn[name], draws)[0])
            ends[name, "quantiles"].append(percentile_interval(drawn[name]))
    for name in SCORES:
        cells = {"n": rows, "block": block, "positives": share, "distance": distance}
        cells |= {"score": name, "true": float(true[name][0])}
        for kind in ("quantiles", "bca"):
            low, high = np.array(ends[name, kind]).T
            above, below = (low > true[name]).mean(), (high < true[name]).mean()
            cells |= {kind: 1 - above - below, f"{kind}_above": above, f"{kind}_below": below}
        yield {key: round(x, 4) if isinstance(x, float) else x for key, x in cells.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, required=True, help="table to write (TSV)")
    parser.add_argument("--samples", type=int, default=1000, help="simulated tables of each row")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    cells = itertools.product((200, 1000), (1, 5, 10), (0.1, 0.5), (0.5, 1.5, 3.0))
    found: list[dict] = []
    for rows, block, share, distance in cells:
        found += coverage(rows, block, share, distance, args.samples, args.seed)
        args.output.write_text(Table(found).to_tsv())


if __name__ == "__main__":
    main()
