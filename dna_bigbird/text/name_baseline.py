"""An answer without a model: the name that occurs most often in the documents."""

import re
from collections import Counter
from collections.abc import Sequence

from dna_bigbird.text.question_baselines import words_of

_NAME = re.compile(r"[A-Z][\w'’-]*(?: [A-Z][\w'’-]*)*")


def most_named(question: str, texts: Sequence[str]) -> str:
    """Return the run of capitalised words that occurs most often in the texts; '' if there is none.

    Words that begin a run and are also written small somewhere (mostly: begin a sentence) do not
    count, nor do runs whose every word is in the question. Of equals the first one is taken.

    Example:
        >>> most_named("Who wrote Emma?", ["Emma is by Jane Austen.", "Books: is Jane Austen dead? by J."])
        'Jane Austen'
    """
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
