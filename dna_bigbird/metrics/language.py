"""Bits per base: how well a language model of DNA predicts, in a unit that tokenizers share.

Definition (genomics-facts §4): the summed negative log-likelihood of the predicted tokens divided
by ln 2 times the base pairs those tokens cover. Masked and causal scores are different questions:
a masked model sees both sides. 2 bits is a uniform guess over A C G T.
"""

import functools
import math
from collections.abc import Sequence

import numpy as np

CLASSES = ("unseen", "unique", "repeat", "unknown", "seen")
"""Rows of `by_class`: the last has the bases of 32-mers of the training text, the first all others."""
BLOCK_BP = 10_000
"""Bases in a block of the genome whose hidden tokens the bootstrap draws together."""
COLUMNS = ("block", "tokens", "bp", "nats", "right", "nats_all_masked", "right_all_masked")


# U units that are drawn (blocks of the genome, documents), S strata (parts of the genome)

DRAWS = 1000


def bits_per_base(nll_nats: float | np.ndarray, base_pairs: float | np.ndarray) -> float:
    """Return the bits per base of nats, or sums, and the base pairs that the tokens cover.

    Example:
        >>> bits_per_base(np.log([4.0, 16.0]), np.array([1, 2]))
        2.0
    """
    covered = float(np.sum(base_pairs))
    if covered <= 0:
        raise ValueError("the predicted tokens cover no base, so bits per base has no meaning")
    return float(np.sum(nll_nats)) / (math.log(2) * covered)


def interval(
    name: str, numerators: np.ndarray, denominators: np.ndarray, seed: int
) -> dict[str, float | None]:
    """Return a ratio of sums (U,) and its 95 % bootstrap interval; None if not defined."""
    top, bottom = np.asarray(numerators, dtype=float), np.asarray(denominators, dtype=float)
    if top.shape != bottom.shape or top.ndim != 1 or not len(top):
        raise ValueError(f"one sum per unit is needed, got shapes {top.shape}, {bottom.shape}")
    # Whole units are drawn: tokens of one are not independent.
    weights = _weights(len(top), seed)
    tops, bottoms = weights @ top, weights @ bottom
    drawn = tops[bottoms > 0] / bottoms[bottoms > 0]
    low = high = None
    if 2 * len(drawn) > DRAWS and np.count_nonzero(bottom) > 1:  # one unit alone has no scatter
        low, high = (round(float(q), 6) for q in np.quantile(drawn, [0.025, 0.975]))
    value = round(float(top.sum() / bottom.sum()), 6) if bottom.sum() > 0 else None
    return {name: value, f"{name}_low": low, f"{name}_high": high}


def by_stratum(
    names: Sequence[str],
    nats_US: np.ndarray,
    base_pairs_US: np.ndarray,
    seed: int,
    shown: str = "masked",
    model_nats_US: np.ndarray | None = None,
) -> dict[str, dict[str, float | int | None]]:
    """Return bits per base with intervals and `n_bp` for each part of the genome, from sums (U, S).

    Of a baseline also the paired difference to the model, if `model_nats_US` are given.
    """
    tables = {}
    for s, name in enumerate(names):
        bits, bases = nats_US[:, s] / np.log(2), base_pairs_US[:, s]
        table = interval(f"bits_per_base_{shown}", bits, bases, seed)
        if model_nats_US is not None:
            gain = model_nats_US[:, s] / np.log(2) - bits
            table |= interval(f"model_minus_baseline_{shown}", gain, bases, seed)
        tables[name] = table | {"n_bp": round(float(bases.sum()))}
    return tables


@functools.lru_cache(maxsize=1)
def _weights(count: int, seed: int) -> np.ndarray:
    """How often each unit is drawn, shape (DRAWS, U); the same for all ratios of a run."""
    rng = np.random.default_rng([seed, count])
    return rng.multinomial(count, np.full(count, 1 / count), size=DRAWS).astype(np.float64)
