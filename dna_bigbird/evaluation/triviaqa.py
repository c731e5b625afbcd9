"""The official metric of TriviaQA (triviaqa_evaluation.py), and answers from several documents."""

import re
import string
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from dna_bigbird.evaluation.answers import overlap
from dna_bigbird.evaluation.spans import Span, best_span

# T tokens

_TO_SPACE = str.maketrans(dict.fromkeys(string.punctuation + "‘’´`", " "))
_ARTICLES = re.compile(r"\b(a|an|the)\b")


def normalise_trivia(text: str) -> str:
    """Lower-case, put spaces for punctuation (‘ ’ ´ ` too), drop a, an, the, make white space single.

    SQuAD's and HotpotQA's way deletes punctuation instead: 'U.S.' is 'us' there.

    Example:
        >>> normalise_trivia("The  U.S.-based_band, 'an' A")
        'u s based band'
    """
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_TO_SPACE)).split())


def best_overlap(predicted: str, answers: Sequence[str]) -> tuple[float, float]:
    """Return exact match and F1, each its best over all answers that count (aliases, humans' answers).

    Example:
        >>> best_overlap("Sunset Blvd", ["sunset boulevard", "sunset blvd"])
        (1.0, 1.0)
    """
    overlaps = [overlap(predicted, answer, normalise_trivia) for answer in answers]
    return max((score.exact for score in overlaps), default=0.0), max(
        (score.f1 for score in overlaps), default=0.0
    )


class DocumentSpan(NamedTuple):
    """The best span of one document."""

    document: int
    start: int
    """First token."""
    end: int
    """Last token."""
    log_probability: float


def best_document_span(
    documents: Sequence[tuple[ArrayLike, ArrayLike, ArrayLike]],
    *,
    max_words: int = 16,
    top: int = 50,
    norm: str = "per_question",
) -> DocumentSpan | None:
    """Return the best answer among the best ones of every document.

    Args:
        documents: Of each its start logits, end logits and the word of every token (T,): -1 where no
            answer may begin or end. Logits of -inf are no tokens.
        max_words: Longest answer.
        top: Best starts and ends that are paired.
        norm: Probabilities over all tokens of all documents ('per_question'), by which the highest
            sum of two logits wins, or over those of each document ('per_document').

    Returns:
        None if no document allows an answer.
    """
    totals = [_log_total(document[:1]) + _log_total(document[1:2]) for document in documents]
    if norm == "per_question":
        over_all = sum(_log_total([document[side] for document in documents]) for side in (0, 1))
        totals = [over_all] * len(documents)
    spans = []
    for number, (start, end, word) in enumerate(documents):
        span = _best(start, end, np.asarray(word), max_words, top)
        if span is not None:
            spans.append(
                DocumentSpan(number, span.start, span.end, float(span.score - totals[number]))
            )
    return max(spans, key=lambda span: span.log_probability, default=None)


def _log_total(logits: Sequence[ArrayLike]) -> float:
    """Return log(sum(exp)) of several rows together."""
    return float(np.logaddexp.reduce(np.concatenate(logits))) if len(logits) else -np.inf


def _best(start: ArrayLike, end: ArrayLike, word, max_words: int, top: int) -> Span | None:
    return best_span(
        start, end, is_allowed_T=word >= 0, places_T=word, max_length=max_words, top=top
    )
