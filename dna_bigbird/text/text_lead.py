"""Summaries that need no training: the first sentences, and SumBasic.

Both take whole sentences of the document and write one on each line. Published rows with these
names are in the paper's Tables 4 (SumBasic) and 20 (Lead).
"""

import re
from collections import Counter

from dna_bigbird.corpus.sentences import sentences

_WORD = re.compile(r"[a-z0-9]+")


def words(text: str) -> list[str]:
    """Return the words of a text as ROUGE counts them: lower case, letters a-z and digits."""
    return _WORD.findall(text.lower())


def lead(document: str, *, num_sentences: int = 0, num_words: float = 0) -> str:
    """Return the first `num_sentences` sentences, or whole sentences until `num_words` are reached.

    Exactly one of the two is given. At least one sentence is taken.
    """
    if (num_sentences > 0) == (num_words > 0):
        raise ValueError("give num_sentences or num_words, one of the two and above 0")
    return _joined(sentences(document), range(10**9), num_sentences, num_words)


def sum_basic(document: str, *, num_sentences: int = 0, num_words: float = 0) -> str:
    """Return sentences of words that are frequent in the document, in the document's order.

    SumBasic (Nenkova and Vanderwende, 2005, "The impact of frequency on summarization"): a word's
    weight is its share of the document's words; take the sentence with the largest mean weight
    among those that hold the heaviest word; square the weights of its words; go on until the length
    of `lead` is reached. Words of fewer than four letters weigh nothing, in place of a list of
    function words.
    """
    if (num_sentences > 0) == (num_words > 0):
        raise ValueError("give num_sentences or num_words, one of the two and above 0")
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
    chosen, length = [], 0
    for index in order:
        if index >= len(all_sentences):
            break
        chosen.append(index)
        length += len(words(all_sentences[index]))
        if len(chosen) >= num_sentences > 0 or length >= num_words > 0:
            break
    return "\n".join(all_sentences[index] for index in sorted(chosen))
