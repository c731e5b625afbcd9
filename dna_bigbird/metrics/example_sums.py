"""Sums of each test example of a masked model, as the file of `evaluate-lm --example_scores` has them."""

from collections.abc import Mapping
from typing import Protocol

import numpy as np

COLUMNS = ("example", "tokens", "bp", "nats", "right", "nats_all_masked", "right_all_masked")


class Sums(Protocol):
    """What `evaluation.language_scores.ExampleScores` has, each of shape (N,)."""

    nll_nats: np.ndarray
    base_pairs: np.ndarray
    predicted: np.ndarray
    right: np.ndarray


def example_rows(masked: Sums, all_masked: Sums) -> list[Mapping[str, float | int]]:
    """Return one row per example: hidden tokens, their bases, and the scores of both ways to hide them."""
    columns = zip(
        range(len(masked.nll_nats)),
        masked.predicted.astype(int).tolist(),
        masked.base_pairs.astype(int).tolist(),
        masked.nll_nats.round(6).tolist(),
        masked.right.astype(int).tolist(),
        all_masked.nll_nats.round(6).tolist(),
        all_masked.right.astype(int).tolist(),
        strict=True,
    )
    return [dict(zip(COLUMNS, row, strict=True)) for row in columns]
