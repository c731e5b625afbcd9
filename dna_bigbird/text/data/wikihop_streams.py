"""A question of WikiHop as the two streams of BigBird-ETC (ETC, models/wikihop/data_utils.py)."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dna_bigbird.corpus.sentences import sentences
from dna_bigbird.models.attention_config import CANDIDATE, PARAGRAPH, QUESTION, SENTENCE
from dna_bigbird.text.data.rows import find_text, tokens_of
from dna_bigbird.text.data.two_streams import (
    CANDIDATE_SEGMENT,
    QUESTION_SEGMENT,
    SENTENCE_SEGMENT,
    TwoStreams,
)

# WikiHop's documents cut to the length of a row.


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


if TYPE_CHECKING:
    from dna_bigbird.corpus.text_tokenizer import TextTokenizer

# T tokens

NO_CANDIDATE = -1


def streams_of(
    candidates: tuple[str, ...],
    query: str,
    documents: tuple[str, ...],
    tokenizer: "TextTokenizer",
    *,
    max_tokens: int,
    max_global_tokens: int,
    max_sentences: int,
) -> tuple[TwoStreams, int] | None:
    """Return the streams and the number of sentences left out; None if nothing fits.

    Long: the candidates, the query, the documents, without marks; each candidate, the query and each
    document are parts of their own. Global: one token for each candidate, each token of the query,
    and for each document one and one for each of its sentences. Those of candidates and query read
    everything. A token that is part of a candidate's text, in any case of letters and between
    whole words, belongs to that candidate too; of several the last one counts.
    """
    answers = [encode_words(tokenizer, text) for text in candidates]
    question = encode_words(tokenizer, query)
    texts = [
        [" ".join(sentence.split()) for sentence in sentences(document)] for document in documents
    ]
    encoded = [[tokenizer.encode_with_offsets(text) for text in document] for document in texts]
    num_front = sum(map(len, answers)) + len(question)
    kept = [[ids for ids, *_ in document] for document in encoded]
    room = max_tokens - num_front
    most = max_global_tokens - len(answers) - len(question) - len(kept)
    if room < 0 or most < 0:
        return None
    dropped = shorten(kept, room, min(max_sentences, most), separators=False)

    streams = TwoStreams()
    for ids in answers:
        streams.add_tokens(ids, CANDIDATE_SEGMENT, [streams.add_global(CANDIDATE, free=True)])
        streams.cut()
    streams.add_each(question, QUESTION_SEGMENT, QUESTION, free=True)
    for document, parts, left in zip(texts, encoded, kept, strict=True):
        if not left:
            continue
        streams.cut()
        whole = streams.add_global(PARAGRAPH)
        for text, (ids, starts, ends), _ in zip(document, parts, left, strict=False):
            own = streams.add_global(SENTENCE)
            first = streams.add_tokens(ids, SENTENCE_SEGMENT, [own, whole])
            mentioned = mentions(text, starts, ends, candidates)
            for position in np.flatnonzero(mentioned != NO_CANDIDATE):
                streams.link(first + int(position), int(mentioned[position]))
    return streams, dropped


def mentions(
    text: str,
    starts_T: NDArray[np.int64],
    ends_T: NDArray[np.int64],
    candidates: tuple[str, ...],
) -> NDArray[np.int64]:
    """Return the number of the candidate that each token of a text is part of (T,), or `NO_CANDIDATE`.

    Args:
        starts_T, ends_T: Half-open character offsets of the tokens.
        candidates: In lower case.

    Example:
        >>> import numpy as np
        >>> mentions("A Red river.", np.array([0, 2, 6, 11]), np.array([1, 5, 11, 12]), ("lake", "red river"))
        array([-1,  1,  1, -1])
    """
    found_T = np.full(len(starts_T), NO_CANDIDATE)
    lowered = text.lower()
    for number, candidate in enumerate(candidates):
        if candidate not in lowered:
            continue
        for start, end in find_text(text, candidate, ignore_case=True, whole_words=True):
            first_last = tokens_of(starts_T, ends_T, start, end)
            if first_last:
                found_T[first_last[0] : first_last[1] + 1] = number
    return found_T


def encode_words(tokenizer: "TextTokenizer", text: str) -> NDArray[np.int64]:
    """Return the tokens of a text with single spaces; some vocabularies know no other white space."""
    return tokenizer.encode(" ".join(text.split()))
