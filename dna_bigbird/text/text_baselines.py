"""Trivial baselines of text classification: the commonest class, and weighted word counts."""

import math
import re
from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import hstack
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression

from dna_bigbird.corpus.sentences import sentences

_WORD = re.compile(r"\w+")


def words_of(text: str) -> list[str]:
    """Return the words of a text, lower-case, without punctuation."""
    return _WORD.findall(text.lower())


def most_alike(question: str, texts: Sequence[str], count: int) -> list[int]:
    """Return the numbers of the texts that share most with the question, best first.

    >>> most_alike("Who wrote the red book?", ["the red car", "the red book", "the rest"], 2)
    [1, 0]
    """
    # A shared word counts log(texts / texts that hold it).
    held = [set(words_of(text)) for text in texts]
    frequency = Counter(word for words in held for word in words)
    question_words = sorted(set(words_of(question)))
    shared = [
        sum(math.log(len(texts) / frequency[word]) for word in question_words if word in words)
        for words in held
    ]
    return sorted(range(len(texts)), key=lambda i: -shared[i])[:count]


def most_mentioned(candidates: Sequence[str], texts: Sequence[str]) -> int:
    """Return the number of the candidate mentioned most, of equals the longer, then the earlier.

    >>> most_mentioned(["paris", "rome"], ["Rome, not Romeo.", "Paris is not Rome."])
    1
    """
    spaced = " \n ".join(" ".join(words_of(text)) for text in texts)
    spaced = f" {spaced} ".replace(" ", "  ")  # neighbours would share the space between them
    keys = ["  ".join(words_of(candidate)) for candidate in candidates]
    mentions = [spaced.count(f" {key} ") if key else 0 for key in keys]
    return max(range(len(candidates)), key=lambda i: (mentions[i], len(keys[i].split()), -i))


_NAME = re.compile(r"[A-Z][\w'’-]*(?: [A-Z][\w'’-]*)*")


def most_named(question: str, texts: Sequence[str]) -> str:
    """Return the run of capitalised words that occurs most often in the texts; '' if none.

    >>> most_named("Who wrote Emma?", ["Emma is by Jane Austen.", "Books: is Jane Austen dead?"])
    'Jane Austen'
    """
    # Words that are also written small somewhere mostly begin a sentence; a name in the question
    # cannot be its answer.
    small = {word for text in texts for word in re.findall(r"\b[a-z]\w*", text)}
    asked = set(words_of(question))
    counts: Counter[str] = Counter()
    for text in texts:
        for match in _NAME.finditer(text):
            words = match.group().split(" ")
            while words and words[0].lower() in small:
                words.pop(0)
            if set(words_of(" ".join(words))) - asked:
                counts[" ".join(words)] += 1
    return counts.most_common(1)[0][0] if counts else ""


# Summaries that need no training: the first sentences, and SumBasic.
#
# Both take whole sentences of the document and write one on each line. Published rows with these
# names are in the paper's Tables 4 (SumBasic) and 20 (Lead).

_LEAD_WORD = re.compile(r"[a-z0-9]+")


def words(text: str) -> list[str]:
    """Return the words of a text as ROUGE counts them: lower case, letters a-z and digits."""
    return _LEAD_WORD.findall(text.lower())


def lead(document: str, *, num_sentences: int = 0, num_words: float = 0) -> str:
    """Return the first `num_sentences` sentences, or sentences until `num_words` are reached."""
    return _joined(sentences(document), range(10**9), num_sentences, num_words)


def sum_basic(document: str, *, num_sentences: int = 0, num_words: float = 0) -> str:
    """Return sentences of words that are frequent in the document, in the document's order."""
    # SumBasic (Nenkova and Vanderwende, 2005): a word's weight is its share of the words; take the
    # sentence with the largest mean weight among those that hold the heaviest word; square the
    # weights of its words; repeat. Words of fewer than four letters weigh nothing, in place of
    # function words.
    all_sentences = sentences(document)
    contents = [[word for word in words(sentence) if len(word) > 3] for sentence in all_sentences]
    return _joined(all_sentences, _by_weight(contents), num_sentences, num_words)


def _by_weight(contents: list[list[str]]):
    """Yield places of sentences in the order SumBasic takes them."""
    counts = Counter(word for content in contents for word in content)
    total = sum(counts.values())
    weights = {word: count / total for word, count in counts.items()}
    left = set(range(len(contents)))
    while left:
        held = {word for index in left for word in contents[index]}
        heaviest = max(held, key=lambda word: (weights[word], word), default=None)
        candidates = [p for p in sorted(left) if heaviest is None or heaviest in contents[p]]
        best = max(candidates, key=lambda index: _mean_weight(contents[index], weights))
        yield best
        left.remove(best)
        for word in set(contents[best]):
            weights[word] **= 2


def _mean_weight(content: list[str], weights: dict[str, float]) -> float:
    return sum(weights[word] for word in content) / len(content) if content else 0.0


def _joined(all_sentences: list[str], order, num_sentences: int, num_words: float) -> str:
    """Take sentences in `order` up to the length; write them in the document's order."""
    if (num_sentences > 0) == (num_words > 0):
        raise ValueError("give num_sentences or num_words, one of the two and above 0")
    chosen, length = [], 0
    for index in order:
        if index >= len(all_sentences):
            break
        chosen.append(index)
        length += len(words(all_sentences[index]))
        if len(chosen) >= num_sentences > 0 or length >= num_words > 0:
            break
    return "\n".join(all_sentences[index] for index in sorted(chosen))


MAX_FEATURES = 50_000
"""Words and pairs of words that are counted; the commonest ones of the training texts."""
MAX_ITERATIONS = 1000


def commonest(labels: Sequence[str]) -> str:
    """Return the commonest label, of equally common ones the first in sorted order."""
    counts = Counter(labels)
    return min(counts, key=lambda label: (-counts[label], label))


def _counter() -> TfidfVectorizer:
    # Single letters and signs count too: a set of made words may have nothing else.
    form = {"max_features": MAX_FEATURES, "token_pattern": r"(?u)\w+|[^\w\s]"}
    return TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True, **form)


def tfidf_logistic(
    train_texts: Sequence[tuple[str, ...]],
    train_labels: Sequence[str],
    texts: Sequence[tuple[str, ...]],
) -> tuple[list[str], NDArray[np.float64]]:
    """Predict `texts` by logistic regression on TF-IDF of words and pairs; also return chances."""
    # The two texts of a pair have columns of their own.
    if len(set(train_labels)) == 1:
        return [train_labels[0]] * len(texts), np.ones(len(texts))
    train, features = [], []
    for part in range(len(train_texts[0])):
        counter = _counter()
        train.append(counter.fit_transform([each[part] for each in train_texts]))
        features.append(counter.transform([each[part] for each in texts]))
    model = LogisticRegression(max_iter=MAX_ITERATIONS).fit(hstack(train).tocsr(), train_labels)
    probabilities = model.predict_proba(hstack(features).tocsr())
    labels = model.classes_[probabilities.argmax(axis=1)]
    return list(map(str, labels)), probabilities.max(axis=1)


def tfidf_cosine(
    train_pairs: Sequence[tuple[str, str]], pairs: Sequence[tuple[str, str]]
) -> NDArray[np.float64]:
    """Return the similarity of the texts of each pair, 0 to 1: the cosine of their TF-IDF, (N,)."""
    counter = _counter().fit([text for pair in train_pairs for text in pair])
    first, second = (counter.transform([pair[i] for pair in pairs]) for i in (0, 1))
    return np.asarray(first.multiply(second).sum(axis=1)).ravel()
