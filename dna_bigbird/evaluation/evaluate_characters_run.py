"""Scores of a character model by overlapping windows (specification §8.2)."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from dna_bigbird.baselines.base_mixture import BaseMixtureCausal
from dna_bigbird.baselines.base_ngram import BaseNgramCausal, CharacterNgram
from dna_bigbird.core.progress import progress_bar
from dna_bigbird.corpus.characters import Characters, text_of
from dna_bigbird.models.character_model import CharacterModel
from dna_bigbird.training.character_phases import nats_of

TEXT_ORDERS = (1, 3, 5, 7)
BASE_ORDERS = (1, 4, 8, 12)
DOCUMENT_BP = 20_000
"""Training bases are counted in pieces: a tenth of them chooses the smoothing, or is read as a primer."""

Baseline = Callable[[NDArray[np.uint8]], NDArray[np.float64]]
"""Characters to the nats of each given those before it; NaN where there are none."""


def baselines_of(characters: Characters) -> dict[str, Baseline]:
    """Return the baselines; `order_K` sees K - 1 characters, `mixture` counts scored bases too."""
    train, letters = characters.parts["train"], len(characters.alphabet)

    def documents() -> list[str]:
        return [text_of(train[i : i + DOCUMENT_BP]) for i in range(0, len(train), DOCUMENT_BP)]

    def text_order(order: int, scored: NDArray[np.uint8]) -> NDArray[np.float64]:
        return CharacterNgram(order, letters).fit(train).nll(scored)

    def base_order(order: int, scored: NDArray[np.uint8]) -> NDArray[np.float64]:
        return BaseNgramCausal(order).fit_sequences(documents()).nll(text_of(scored))

    def mixture(scored: NDArray[np.uint8]) -> NDArray[np.float64]:
        return BaseMixtureCausal().fit_sequences(documents()).nll([text_of(scored)])[0]

    if characters.unscored is None:
        orders = [x for x in TEXT_ORDERS if x * np.log2(max(letters, 2)) < 63]
        return {f"order_{order}": partial(text_order, order) for order in orders}
    ngrams = {f"order_{order}": partial(base_order, order) for order in BASE_ORDERS}
    return {**ngrams, "mixture": mixture}


# N characters


class ScoredWindow(NamedTuple):
    """Characters that a model reads, and which of those after them it is scored on."""

    start: int
    """First character read."""
    stop: int
    """One after the last character read, so also the last one that is predicted."""
    first_scored: int
    """The scored characters are first_scored … stop."""


def overlapping_windows(num_characters: int, window: int, stride: int) -> Iterator[ScoredWindow]:
    """Yield windows that together score every character but the first once, each its last ones.

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
    """Return the nats of each character given those before it in its window; NaN first, (N,)."""
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
