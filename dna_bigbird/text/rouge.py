"""ROUGE of summaries, as the paper's Tables 4 and 20 report it."""

import functools
import importlib.util
import logging
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

ROUGE_TYPES = ("rouge1", "rouge2", "rougeLsum")
"""Shared words, shared pairs of words, and the union of longest common subsequences of sentences."""

if (
    importlib.util.find_spec("rouge_score") is None
):  # now, not at the first score of a long training
    raise ModuleNotFoundError("No module named 'rouge_score'", name="rouge_score")


def rouge_scores(references: Sequence[str], predictions: Sequence[str]) -> NDArray[np.float64]:
    """Return the F-measures of `ROUGE_TYPES`, one row per summary, times 100: shape (n, 3).

    Scored by the `rouge_score` package: lower case, letters a-z and digits only, Porter's stemmer
    for words of four letters and more. `rougeLsum` (the tables' "R-L") takes each line of a text as
    a sentence, so the sentences of both texts must be on separate lines. A text without
    words scores 0. The score of a set is the mean of its rows (spec §5; google-research/bigbird,
    summarization/run_summarization.py).

    Raises:
        ValueError: If there are not as many references as predictions.
    """
    rows = [
        [score[name].fmeasure for name in ROUGE_TYPES]
        for score in (
            _scorer().score(reference, prediction)
            for reference, prediction in zip(references, predictions, strict=True)
        )
    ]
    return 100.0 * np.array(rows, dtype=np.float64).reshape(-1, len(ROUGE_TYPES))


@functools.cache
def _scorer():
    # Imported late: nltk, which it brings, takes half a second, and only scoring needs it.
    from rouge_score import rouge_scorer

    logging.getLogger("absl").setLevel(logging.WARNING)  # it announces its tokenizer each time
    return rouge_scorer.RougeScorer(list(ROUGE_TYPES), use_stemmer=True)
