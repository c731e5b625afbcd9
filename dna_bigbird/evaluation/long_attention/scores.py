"""Scores of a model on fixed test sequences."""

import math

import numpy as np
import torch

from dna_bigbird.evaluation.long_attention.batches import Source
from dna_bigbird.evaluation.long_attention.pair_sources import WORD_BP
from dna_bigbird.evaluation.long_attention.small_models import SmallModel

TEST_SEED = 20_251_125
Z = 1.959964
"""Of a 95 % interval."""


@torch.no_grad()
def score(model: SmallModel, test: Source, tokens: int, count: int) -> dict:
    """Score a model on the first `count` test sequences, the same for every model.

    Returns:
        Of a task with choices: `score`, the accuracy, with `right` and `n` for each distance. Else `score` in bits
        per base, with the mean of each sequence. n is the number of hidden tokens.
    """
    model.eval()
    rng = np.random.default_rng(TEST_SEED)
    right: dict[int, int] = {}
    asked: dict[int, int] = {}
    bits = []
    for _ in range(count):
        batch = test.draw(1, tokens, rng)
        logits = model(batch.token_ids_BT, batch.positions_P)
        if test.choices is None:
            nats = torch.nn.functional.cross_entropy(logits, batch.answers_P)
            bits.append(float(nats) / math.log(2) / WORD_BP)
            continue
        is_right = (logits[:, test.choices].argmax(1) == batch.answers_P).numpy()
        for distance, success in zip(batch.distances_P.tolist(), is_right.tolist(), strict=True):
            asked[distance] = asked.get(distance, 0) + 1
            right[distance] = right.get(distance, 0) + success
    if test.choices is None:
        return {"score": float(np.mean(bits)), "n": count, "bits_per_base": bits}
    rows = [{"distance": d, "right": right[d], "n": asked[d]} for d in sorted(asked)]
    total = sum(asked.values())
    return {"score": sum(right.values()) / total, "n": total, "by_distance": rows}


def wilson(right: float, n: int) -> tuple[float, float]:
    """Return the 95 % interval of a share (Wilson 1927).

    Example:
        >>> [round(x, 3) for x in wilson(5, 10)]
        [0.237, 0.763]
    """
    centre = (right + Z**2 / 2) / (n + Z**2)
    half = Z * math.sqrt(right * (n - right) / n + Z**2 / 4) / (n + Z**2)
    return centre - half, centre + half
