"""WikiHop's documents cut to the length of a row."""

from numpy.typing import NDArray


def shorten(
    documents: list[list[NDArray]], max_tokens: int, max_sentences: int, *, separators: bool = True
) -> int:
    """Drop the last sentence of the document with most sentences until all of it fits, in place.

    Of documents with equally many sentences the last one gives.

    Args:
        documents: Of each document its sentences, of each sentence its tokens.
        separators: A document that has sentences left costs one token more than they, for the
            separator after it.

    Returns:
        The number of sentences dropped.

    Example:
        >>> import numpy as np
        >>> documents = [[np.zeros(3), np.zeros(4)], [np.zeros(2), np.zeros(1)]]
        >>> shorten(documents, max_tokens=10, max_sentences=9)
        2
        >>> [len(document) for document in documents]
        [1, 1]
    """
    after = int(separators)
    tokens = sum(len(s) for document in documents for s in document)
    tokens += after * sum(map(bool, documents))
    kept = total = sum(map(len, documents))
    while kept and (tokens > max_tokens or kept > max_sentences):
        most = max(reversed(documents), key=len)
        tokens -= len(most.pop()) + after * (not most)
        kept -= 1
    return total - kept
