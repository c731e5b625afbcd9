"""Short answers as text: SQuAD's normalisation, exact match and word F1 (SQuAD v1.1, HotpotQA).

TriviaQA's official script normalises otherwise; it passes its own function to `overlap`.
"""

import re
import string
from collections import Counter
from collections.abc import Callable
from typing import NamedTuple

_PUNCTUATION = str.maketrans("", "", string.punctuation)
_ARTICLES = re.compile(r"\b(a|an|the)\b")


class Overlap(NamedTuple):
    """How far two answers agree, each from 0 to 1."""

    exact: float
    f1: float
    precision: float
    recall: float


def normalise_answer(text: str) -> str:
    """Lower-case, delete ASCII punctuation and the words a, an, the, make white space single.

    Example:
        >>> normalise_answer("The  U.S.-based band, 'an' A")
        'usbased band'
    """
    words = _ARTICLES.sub(" ", text.lower().translate(_PUNCTUATION))
    return " ".join(words.split())


def overlap(
    predicted: str, gold: str, normalise: Callable[[str], str] = normalise_answer
) -> Overlap:
    """Compare two answers as multisets of words.

    Two answers that are both empty after normalisation are an exact match with an F1 of 0, as
    in the official scripts.

    Example:
        >>> overlap("the Eiffel Tower in Paris", "Eiffel Tower")
        Overlap(exact=0.0, f1=0.6666666666666666, precision=0.5, recall=1.0)
    """
    answer, expected = normalise(predicted), normalise(gold)
    exact = float(answer == expected)
    answer_words, expected_words = answer.split(), expected.split()
    shared = sum((Counter(answer_words) & Counter(expected_words)).values())
    if not shared:
        return Overlap(exact, 0.0, 0.0, 0.0)
    precision, recall = shared / len(answer_words), shared / len(expected_words)
    return Overlap(exact, 2 * precision * recall / (precision + recall), precision, recall)
