"""Trivial baselines of text classification: the commonest class, and weighted word counts."""

from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import hstack
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression

MAX_FEATURES = 50_000
"""Words and pairs of words that are counted; the commonest ones of the training texts."""
MAX_ITERATIONS = 1000


def commonest(labels: Sequence[str]) -> str:
    """Return the commonest label, of equally common ones the first in sorted order.

    Example:
        >>> commonest(["b", "a", "b", "a", "c"])
        'a'
    """
    counts = Counter(labels)
    return min(counts, key=lambda label: (-counts[label], label))


def _counter() -> TfidfVectorizer:
    # Single letters and signs count too: a set of made words may have nothing else.
    return TfidfVectorizer(
        ngram_range=(1, 2),
        sublinear_tf=True,
        max_features=MAX_FEATURES,
        token_pattern=r"(?u)\w+|[^\w\s]",
    )


def tfidf_logistic(
    train_texts: Sequence[tuple[str, ...]],
    train_labels: Sequence[str],
    texts: Sequence[tuple[str, ...]],
) -> tuple[list[str], NDArray[np.float64]]:
    """Fit logistic regression (C = 1) on TF-IDF of words and pairs of words; predict `texts`.

    The two texts of a pair have columns of their own.

    Args:
        train_texts, texts: One text or a pair each, all of the same kind.

    Returns:
        The predicted labels and their probabilities, (N,).
    """
    if len(set(train_labels)) == 1:
        return [train_labels[0]] * len(texts), np.ones(len(texts))
    train, features = [], []
    for part in range(len(train_texts[0])):
        counter = _counter()
        train.append(counter.fit_transform([each[part] for each in train_texts]))
        features.append(counter.transform([each[part] for each in texts]))
    model = LogisticRegression(max_iter=MAX_ITERATIONS).fit(hstack(train).tocsr(), train_labels)
    probabilities = model.predict_proba(hstack(features).tocsr())
    return [
        str(label) for label in model.classes_[probabilities.argmax(axis=1)]
    ], probabilities.max(axis=1)


def tfidf_cosine(
    train_pairs: Sequence[tuple[str, str]], pairs: Sequence[tuple[str, str]]
) -> NDArray[np.float64]:
    """Return the similarity of the texts of each pair, 0 to 1: the cosine of their TF-IDF, (N,).

    Args:
        train_pairs: Texts from which words and their weights are learnt; no scores are needed.
    """
    counter = _counter().fit([text for pair in train_pairs for text in pair])
    first, second = (counter.transform([pair[i] for pair in pairs]) for i in (0, 1))
    return np.asarray(first.multiply(second).sum(axis=1)).ravel()
