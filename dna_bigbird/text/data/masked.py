"""Examples of text pretraining made on the fly: packed documents with masked words.

Every example is a function of (seed, epoch, index in the epoch), as in `corpus.pretraining_examples`.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from dna_bigbird.text.data.store import TextStore
from dna_bigbird.text.whole_words import TextIds, TextMaskingConfig, mask_words

# Documents joined into examples of a fixed length: `[CLS] doc [SEP] doc [SEP] …` (paper, §E.1).
#
# The paper splits documents longer than 4,096 tokens and joins much shorter ones; its exact rule is
# not published. Here: greedy in the order of the corpus, every token exactly once.

SMALLEST = 4
"""[CLS], two tokens and [SEP]."""


@dataclass(frozen=True)
class Packs:
    """n examples made of parts of documents.

    Attributes:
        bounds: (parts, 2), int64: 0-based half-open token offsets of each part into the corpus.
        offsets: (n + 1,), int64: example i has the parts `offsets[i]` to before `offsets[i + 1]`.
    """

    bounds: np.ndarray
    offsets: np.ndarray

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def parts(self, number: int) -> list[tuple[int, int]]:
        """Return the token offsets of the parts of one example."""
        first, last = self.offsets[number : number + 2].tolist()
        return [(int(start), int(end)) for start, end in self.bounds[first:last]]


def pack(document_offsets: Sequence[int] | np.ndarray, max_tokens: int) -> Packs:
    """Fill examples with documents, one after the other.

    A part of n tokens takes n + 1 places, its [SEP] included, and [CLS] takes the first. If the
    next document does not fit, an example that is at least half full is closed and the document
    begins the next one; else as much of it as fits is taken, and its rest is the next document.

    Args:
        document_offsets: (documents + 1,) token offsets; a document without tokens adds nothing.
        max_tokens: Places of an example, special tokens included.

    Raises:
        ValueError: If `max_tokens` is below 4.

    Example:
        >>> packs = pack([0, 3, 5, 20], max_tokens=8)
        >>> [packs.parts(i) for i in range(len(packs))]
        [[(0, 3), (3, 5)], [(5, 11)], [(11, 17)], [(17, 20)]]
    """
    if max_tokens < SMALLEST:
        raise ValueError(f"max_tokens {max_tokens} must be at least {SMALLEST}")
    bounds: list[tuple[int, int]] = []
    offsets = [0]
    used = 1
    for start, end in _spans(document_offsets):
        while start < end:
            room = max_tokens - used - 1
            if end - start > room and 2 * used >= max_tokens:
                offsets.append(len(bounds))
                used = 1
                continue
            length = min(end - start, room)
            bounds.append((start, start + length))
            used += length + 1
            start += length
    if offsets[-1] < len(bounds):
        offsets.append(len(bounds))
    return Packs(np.array(bounds, dtype=np.int64).reshape(-1, 2), np.array(offsets, dtype=np.int64))


def _spans(document_offsets: Sequence[int] | np.ndarray) -> Iterator[tuple[int, int]]:
    offsets = np.asarray(document_offsets, dtype=np.int64)
    yield from zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True)


class MaskedTextExamples:
    """Example number `index` of an endless, reproducible stream.

    An epoch holds every pack of the store once, in an order drawn for it, with masks of its own.
    So every token of the corpus is read exactly once an epoch.

    Args:
        max_tokens: Longest example, special tokens included.
        in_order: Leave the packs in the order of the corpus: for validation, whose first examples
            are then the first documents.
    """

    def __init__(
        self,
        store: TextStore,
        vocabulary: TextIds,
        max_tokens: int,
        masking: TextMaskingConfig,
        seed: int,
        *,
        in_order: bool = False,
    ) -> None:
        self.store = store
        self.vocabulary = vocabulary
        self.masking = masking
        self.seed = seed
        self.in_order = in_order
        self.packs = pack(store.document_offsets, max_tokens)
        self.budget = masking.budget(max_tokens)
        self._order: tuple[int, Sequence[int] | np.ndarray] | None = None

    @property
    def examples_per_epoch(self) -> int:
        """Packs of the store."""
        return len(self.packs)

    def __getitem__(self, index: int) -> dict[str, np.ndarray]:
        """Return one example.

        Returns:
            `token_ids` (T,), `positions` (M,) of the pieces to predict, ascending, and `labels`
            (M,), their true ids; all int64, T <= max_tokens.
        """
        ids, is_text = self.unmasked(index)
        return self.masked(index, ids, is_text)

    def masked(self, index: int, ids: np.ndarray, may_hide: np.ndarray) -> dict[str, np.ndarray]:
        """Return an example with masked words.

        Args:
            ids: Tokens of the example, shape (T,).
            may_hide: Which of them may be masked, shape (T,); special and unknown pieces may not, unless
                there is nothing else.
        """
        known = may_hide & (ids >= self.vocabulary.first_piece_id)
        seen, positions, labels = mask_words(
            ids,
            known if known.any() else may_hide,
            np.random.default_rng([self.seed, *divmod(index, len(self.packs))]),
            self.masking,
            self.vocabulary,
            self.budget,
        )
        return {"token_ids": seen, "positions": positions, "labels": labels}

    def _pack(self, epoch: int, number: int) -> int:
        if self.in_order:
            return number
        if self._order is None or self._order[0] != epoch:
            rng = np.random.default_rng([self.seed, epoch])
            self._order = (epoch, rng.permutation(len(self.packs)))
        return int(self._order[1][number])

    def unmasked(self, index: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the ids of an example before words are masked, and which of them are text, (T,) twice."""
        number = self._pack(*divmod(index, len(self.packs)))
        separator = [self.vocabulary.sep_id]
        parts, is_text = [[self.vocabulary.cls_id]], [[False]]
        for start, end in self.packs.parts(number):
            parts += [self.store.tokens(start, end), separator]
            is_text += [np.ones(end - start, dtype=bool), [False]]
        ids = np.concatenate(parts).astype(np.int64)
        return ids, np.concatenate(is_text).astype(bool)
