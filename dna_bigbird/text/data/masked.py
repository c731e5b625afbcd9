"""Examples of text pretraining made on the fly: packed documents with masked words.

Every example is a function of (seed, epoch, index in the epoch), as in `corpus.pretraining_examples`.
"""

from collections.abc import Sequence

import numpy as np

from dna_bigbird.corpus.packing import pack
from dna_bigbird.text.data.store import TextStore
from dna_bigbird.text.whole_words import TextIds, TextMaskingConfig, mask_words


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
