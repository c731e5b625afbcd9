"""WikiHop's questions as tokens (specification §3.4)."""

from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dna_bigbird.corpus.text_tokenizer import TextTokenizer
from dna_bigbird.datasets.text.rows import TextRow, TextSet
from dna_bigbird.datasets.text.wikihop import WikiHopExample
from dna_bigbird.datasets.text.wikihop_options import WikiHopOptions
from dna_bigbird.sentences import sentences

NO_TARGET = -1
"""Target of a row whose answer is unknown or no candidate."""


def wikihop_rows(
    examples: Sequence[WikiHopExample],
    tokenizer: TextTokenizer,
    options: WikiHopOptions,
    *,
    training: bool,
) -> TextSet:
    """Make one row an example.

    A row is `[CLS] [q] query [/q] [ans] A1 [/ans] … [ans] AN [/ans]`, then every document followed by
    `[SEP]`. Its arrays: `candidates` (N,), the place of each `[ans]`; `target` (1,), the number of
    the answer among them or `NO_TARGET`.

    Args:
        training: Leave out examples without a target. Examples whose candidates alone are too
            long have no row at all.
    """
    counts: Counter[str] = Counter()
    rows = []
    for number, example in enumerate(examples):
        if training and example.target is None:
            counts["without an answer among the candidates, not trained on"] += 1
            continue
        front, places = _front(example, tokenizer)
        if len(front) > options.max_tokens:
            counts["candidates alone longer than max_tokens, no row"] += 1
            continue
        documents = [
            [_encode(tokenizer, sentence) for sentence in sentences(document)]
            for document in example.documents
        ]
        dropped = shorten(documents, options.max_tokens - len(front), options.max_sentences)
        counts["sentences left out"] += dropped
        counts["questions with sentences left out"] += dropped > 0
        separator = [np.array([tokenizer.sep_id])]
        context = [part for document in documents if document for part in document + separator]
        target = NO_TARGET if example.target is None else example.target
        rows.append(
            TextRow(
                token_ids=np.concatenate([front, *context]).astype(np.int32),
                example=number,
                arrays={"candidates": places, "target": np.array([target], dtype=np.int64)},
            )
        )
    return TextSet(list(examples), rows, {reason: n for reason, n in counts.items() if n})


def _front(
    example: WikiHopExample, tokenizer: TextTokenizer
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Return the tokens before the documents and the places of `[ans]` among them."""
    query = _encode(tokenizer, example.query).tolist()
    ids = [tokenizer.cls_id, tokenizer.marker_id("[q]"), *query, tokenizer.marker_id("[/q]")]
    places = []
    for candidate in example.candidates:
        places.append(len(ids))
        ids += [tokenizer.marker_id("[ans]"), *_encode(tokenizer, candidate).tolist()]
        ids.append(tokenizer.marker_id("[/ans]"))
    return np.array(ids, dtype=np.int64), np.array(places, dtype=np.int32)


def _encode(tokenizer: TextTokenizer, text: str) -> NDArray[np.int64]:
    # Some vocabularies know no white space but the space.
    return tokenizer.encode(" ".join(text.split()))


def shorten(documents: list[list[NDArray]], max_tokens: int, max_sentences: int) -> int:
    """Drop the last sentence of the document with most sentences until all of it fits, in place.

    Of documents with equally many sentences the last one gives. A document that has sentences left
    costs one token more than they, for what stands behind it.

    Args:
        documents: Of each document its sentences, of each sentence its tokens.

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
    tokens = sum(len(s) for document in documents for s in document) + sum(map(bool, documents))
    kept = total = sum(map(len, documents))
    while kept and (tokens > max_tokens or kept > max_sentences):
        most = max(reversed(documents), key=len)
        tokens -= len(most.pop()) + (not most)
        kept -= 1
    return total - kept
