"""Bits per base: how well a language model of DNA predicts, in a unit that tokenizers share.

Definition (genomics-facts §4): the summed negative log-likelihood of the predicted tokens divided
by ln 2 times the base pairs those tokens cover. Masked and causal scores are different questions:
a masked model sees both sides. 2 bits is a uniform guess over A C G T.
"""

import math
from collections.abc import Sequence

import numpy as np


def bits_per_base(nll_nats: float | np.ndarray, base_pairs: float | np.ndarray) -> float:
    """Return the bits per base of all predictions together.

    Args:
        nll_nats: Negative log-likelihoods in nats: of every predicted token, or sums of them.
        base_pairs: Base pairs the same tokens cover (`tokenizer.piece_bp[labels]`), or sums.

    Raises:
        ValueError: If the tokens cover no base.

    Example:
        >>> bits_per_base(np.log([4.0, 16.0]), np.array([1, 2]))
        2.0
    """
    covered = float(np.sum(base_pairs))
    if covered <= 0:
        raise ValueError("the predicted tokens cover no base, so bits per base has no meaning")
    return float(np.sum(nll_nats)) / (math.log(2) * covered)


def bits_per_base_interval(
    nll_nats: Sequence[float],
    base_pairs: Sequence[float],
    *,
    seed: int,
    draws: int = 1000,
    level: float = 0.95,
) -> tuple[float, float]:
    """Return a bootstrap interval of `bits_per_base`, drawing whole examples with replacement.

    Args:
        nll_nats, base_pairs: Sums of each example (a window of text), shape (n,). Tokens of one
            example are not independent, so they are drawn together.

    Raises:
        ValueError: If the two differ in length, or there is no example.
    """
    nll, covered = np.asarray(nll_nats, dtype=float), np.asarray(base_pairs, dtype=float)
    if nll.shape != covered.shape or nll.ndim != 1 or not len(nll):
        raise ValueError(f"one sum an example is needed, got shapes {nll.shape}, {covered.shape}")
    rng = np.random.default_rng([seed, len(nll)])
    weights = rng.multinomial(len(nll), np.full(len(nll), 1 / len(nll)), size=draws)
    values = (weights @ nll) / (math.log(2) * (weights @ covered))
    low, high = np.quantile(values, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)
