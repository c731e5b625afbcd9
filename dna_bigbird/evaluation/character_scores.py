"""Scores of a character model by overlapping windows (specification §8.2)."""

# N characters

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from dna_bigbird.core.progress import progress_bar
from dna_bigbird.models.character_model import CharacterModel
from dna_bigbird.training.characters import nats_of


class ScoredWindow(NamedTuple):
    """Characters that a model reads, and which of those after them it is scored on."""

    start: int
    """First character read."""
    stop: int
    """One after the last character read, so also the last one that is predicted."""
    first_scored: int
    """The scored characters are first_scored … stop."""


def overlapping_windows(num_characters: int, window: int, stride: int) -> Iterator[ScoredWindow]:
    """Yield windows that together score every character but the first once.

    The first window is scored whole, each other one on its last `stride` characters; the last window ends
    with the data and is scored on what is left.

    Raises:
        ValueError: If the stride is below 1 or above the window.

    Example:
        >>> [tuple(each) for each in overlapping_windows(10, window=4, stride=2)]
        [(0, 4, 1), (2, 6, 5), (4, 8, 7), (5, 9, 9)]
    """
    if not 1 <= stride <= window:
        raise ValueError(f"a stride of {stride} for windows of {window}; expected 1 to {window}")
    last = num_characters - 1
    stop = min(window, last)
    yield ScoredWindow(0, stop, 1)
    while stop < last:
        before, stop = stop, min(stop + stride, last)
        yield ScoredWindow(stop - window, stop, before + 1)


@torch.inference_mode()
def score_characters(
    model: CharacterModel,
    characters: NDArray[np.uint8],
    *,
    window: int,
    stride: int,
    batch_size: int = 1,
    device: str = "cpu",
) -> NDArray[np.float64]:
    """Return the nats of each character given those before it in its window, (N,); NaN for the first.

    Args:
        window: Characters that are read at once.
        stride: Step between windows; each is scored on so many characters, its last ones.
        batch_size: Windows computed at once.
    """
    model = model.eval().to(device)
    nats_N = np.full(len(characters), np.nan)
    windows = list(overlapping_windows(len(characters), window, stride))
    batches = [windows[i : i + batch_size] for i in range(0, len(windows), batch_size)]
    for batch in progress_bar(batches, desc="characters", unit="batch"):
        rows = np.stack([characters[each.start : each.stop + 1] for each in batch])
        rows_BT = torch.from_numpy(rows.astype(np.int64)).to(device)
        nats_BT = nats_of(model(rows_BT[:, :-1]), rows_BT[:, 1:]).double().cpu().numpy()
        for each, nats_T in zip(batch, nats_BT, strict=True):
            nats_N[each.first_scored : each.stop + 1] = nats_T[each.first_scored - each.start - 1 :]
    return nats_N
