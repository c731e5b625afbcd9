"""Answers without a model: shared words and counted mentions."""

import math
import re
from collections import Counter
from collections.abc import Sequence

_WORD = re.compile(r"\w+")


def words_of(text: str) -> list[str]:
    """Return the words of a text, lower-case, without punctuation."""
    return _WORD.findall(text.lower())


def most_alike(question: str, texts: Sequence[str], count: int) -> list[int]:
    """Return the numbers of the texts that share most with the question, best first.

    A shared word counts log(texts / texts that hold it), so one that all texts hold counts nothing.
    Of equals the earlier text comes first.

    Example:
        >>> most_alike("Who wrote the red book?", ["the red car", "the red book", "the rest"], 2)
        [1, 0]
    """
    held = [set(words_of(text)) for text in texts]
    frequency = Counter(word for words in held for word in words)
    question_words = sorted(set(words_of(question)))
    shared = [
        sum(math.log(len(texts) / frequency[word]) for word in question_words if word in words)
        for words in held
    ]
    return sorted(range(len(texts)), key=lambda i: -shared[i])[:count]


def most_mentioned(candidates: Sequence[str], texts: Sequence[str]) -> int:
    """Return the number of the candidate that occurs most often in the texts, as whole words.

    Case does not count. Of equals the longer one, in words, is taken, then the earlier one.

    Example:
        >>> most_mentioned(["paris", "rome"], ["Rome, not Romeo.", "Paris is not Rome."])
        1
    """
    spaced = " \n ".join(" ".join(words_of(text)) for text in texts)
    spaced = f" {spaced} ".replace(" ", "  ")  # neighbours would share the space between them
    keys = ["  ".join(words_of(candidate)) for candidate in candidates]
    mentions = [spaced.count(f" {key} ") if key else 0 for key in keys]
    return max(range(len(candidates)), key=lambda i: (mentions[i], len(keys[i].split()), -i))
