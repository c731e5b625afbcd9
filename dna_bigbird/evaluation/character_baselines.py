"""Baselines of a character model, each on the same characters: counts, and mixtures of counts for DNA."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from dna_bigbird.baselines.base_mixture import BaseMixtureCausal
from dna_bigbird.baselines.base_ngram import BaseNgramCausal
from dna_bigbird.baselines.character_counts import CharacterNgram
from dna_bigbird.corpus.base_characters import text_of
from dna_bigbird.corpus.characters import Characters

TEXT_ORDERS = (1, 3, 5, 7)
BASE_ORDERS = (1, 4, 8, 12)
DOCUMENT_BP = 20_000
"""Training bases are counted in pieces: a tenth of them chooses the smoothing, or is read as a primer."""

Baseline = Callable[[NDArray[np.uint8]], NDArray[np.float64]]
"""Characters to the nats of each given those before it; NaN where there are none."""


def baselines_of(characters: Characters) -> dict[str, Baseline]:
    """Return the baselines by name; each counts the training part when it is called.

    `order_K` predicts from the K - 1 characters before. `mixture` (DNA) is
    `baselines.base_mixture.BaseMixtureCausal`, which counts the scored bases too once they are read.
    """
    if characters.unscored is None:
        return {
            f"order_{order}": _of_text(characters, order)
            for order in TEXT_ORDERS
            if order * np.log2(max(len(characters.alphabet), 2)) < 63
        }
    return {
        **{f"order_{order}": _of_bases(characters, order) for order in BASE_ORDERS},
        "mixture": _mixture(characters),
    }


def _of_text(characters: Characters, order: int) -> Baseline:
    def nats(scored: NDArray[np.uint8]) -> NDArray[np.float64]:
        model = CharacterNgram(order, len(characters.alphabet)).fit(characters.parts["train"])
        return model.nll(scored)

    return nats


def _of_bases(characters: Characters, order: int) -> Baseline:
    def nats(scored: NDArray[np.uint8]) -> NDArray[np.float64]:
        return BaseNgramCausal(order).fit_sequences(_documents(characters)).nll(text_of(scored))

    return nats


def _mixture(characters: Characters) -> Baseline:
    def nats(scored: NDArray[np.uint8]) -> NDArray[np.float64]:
        return BaseMixtureCausal().fit_sequences(_documents(characters)).nll([text_of(scored)])[0]

    return nats


def _documents(characters: Characters) -> list[str]:
    train = characters.parts["train"]
    return [text_of(train[i : i + DOCUMENT_BP]) for i in range(0, len(train), DOCUMENT_BP)]
