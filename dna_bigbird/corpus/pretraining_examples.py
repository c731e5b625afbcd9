"""Pretraining examples made on the fly: sentence pairs with masked tokens (paper, appendix F.1).

Every example is a function of (seed, epoch, index in the epoch), which its number in the stream
stands for; so any process may make any of them, in any order.
"""

import math
from dataclasses import dataclass

import numpy as np

from dna_bigbird.core.errors import InputError
from dna_bigbird.corpus.masking import MaskingConfig, PieceLengths, mask_tokens
from dna_bigbird.corpus.site_windows import Pair, Part, SiteWindows, count_starts, fill, two_parts
from dna_bigbird.corpus.token_store import TokenStore

_TRIES = 8
"""How often a random second part is drawn again because it overlaps the first on the genome."""


@dataclass(frozen=True, eq=False)
class Unmasked:
    """An example before masking: ids and segments (T,) int64, `maskable` (T,) bool."""

    token_ids: np.ndarray
    segment_ids: np.ndarray
    maskable: np.ndarray
    pair: Pair
    rng: np.random.Generator


class PretrainExamples:
    """Example number `index` of an endless, reproducible stream: `[CLS] A [SEP] B [SEP]`.

    An epoch has `examples_per_epoch` examples, about as many as the store fills. All sentence pairs
    of the store, document after document, are cut into as many equal strata; each example of an
    epoch draws its place in another one, in an order drawn for the epoch. So every part of the
    corpus comes once an epoch, each time elsewhere and with other masks.

    The place names a document, and how far into it: A starts at that share of the sentences after
    which the document still fills the example (its first sentence if it is too short for that).
    Thus a document comes in proportion to its pairs, and all those starts are equally likely. A
    takes whole sentences up to half the room; B takes the sentences that follow, or with chance 1/2
    sentences of another document of the whole store, up to the same length. A sentence longer than
    its room is cut at the end that is far from the seam between A and B. A random B that overlaps A
    or its true continuation on the genome (documents of different passes do) is drawn again, at
    most 8 times. In a store of a single document every B is the true one; so it is without
    `random_second`: an example then is one contiguous stretch of DNA, and its A is the same.

    Attributes:
        examples_per_epoch: Tokens of the store over `max_tokens`, rounded up; example `index` is
            number `index % examples_per_epoch` of epoch `index // examples_per_epoch`.

    Args:
        vocabulary: A `DnaTokenizer`, or anything with its special ids, `vocab_size` and `piece_bp`.
        max_tokens: Longest example, special tokens included.
        random_second: Draw a random B for half of the examples.
        sites: Sites that a share of the examples is drawn around, in place of those that their numbers
            would give.
        num_examples: Examples of the whole training, over which the masking changes if it has a `last_fraction`.

    Raises:
        InputError: If no document of the store has two sentences, or the store was made with
            another vocabulary size.
    """

    def __init__(
        self,
        store: TokenStore,
        vocabulary: PieceLengths,
        max_tokens: int,
        masking: MaskingConfig,
        seed: int,
        *,
        random_second: bool = True,
        sites: SiteWindows | None = None,
        num_examples: int = 1,
    ) -> None:
        if max_tokens < 8:
            raise ValueError(
                f"max_tokens {max_tokens} leaves no room for two sentences; at least 8"
            )
        if store.vocab_size != vocabulary.vocab_size:
            raise InputError(
                f"{store.path}: made with a vocabulary of {store.vocab_size} entries, the "
                f"tokenizer has {vocabulary.vocab_size}; tokenize again with this tokenizer"
            )
        self.store = store
        self.vocabulary = vocabulary
        self.max_tokens = max_tokens
        self.masking = masking
        self.num_examples = num_examples
        self.seed = seed
        self.random_second = random_second and store.num_documents > 1
        sentences = np.diff(store.document_sentence_offsets)
        self.sites = sites
        self._pairs = np.maximum(sentences - 1, 0)
        self._pair_ends = np.cumsum(self._pairs)
        self.examples_per_epoch = math.ceil(store.num_tokens / max_tokens)
        self._strata: tuple[int, np.ndarray] | None = None
        if not len(sentences) or self._pair_ends[-1] == 0:
            raise InputError(f"{store.path}: no document has two sentences, so there are no pairs")

    def __getitem__(self, index: int) -> dict[str, np.ndarray | int]:
        """Return one example.

        Returns:
            `token_ids` (T,), `segment_ids` (T,) (0 for [CLS] A [SEP], 1 for B [SEP]), `positions`
            (M,) of the tokens to predict, ascending, `labels` (M,) their true ids, all int64, and
            `is_next`, 0 for the true continuation, 1 for a random one. T <= max_tokens. The base
            pairs predicted are `tokenizer.piece_bp[labels].sum()`.
        """
        drawn = self.unmasked(index)
        seen, positions, labels = mask_tokens(
            drawn.token_ids, drawn.maskable, drawn.rng, self.masking_of(index), self.vocabulary
        )
        return {
            "token_ids": seen,
            "segment_ids": drawn.segment_ids,
            "positions": positions,
            "labels": labels,
            "is_next": drawn.pair.is_next,
        }

    def masking_of(self, index: int) -> MaskingConfig:
        """Return the masking of example `index`."""
        return self.masking.at(min(1.0, index / max(1, self.num_examples - 1)))

    def unmasked(self, index: int) -> "Unmasked":
        """Return one example before tokens are masked."""
        pair, rng = self._draw(index)
        ids = self.vocabulary
        a = self.store.tokens(pair.a.start, pair.a.end)
        b = self.store.tokens(pair.b.start, pair.b.end)
        token_ids = np.concatenate(([ids.cls_id], a, [ids.sep_id], b, [ids.sep_id]))
        segment_ids = np.zeros(len(token_ids), dtype=np.int64)
        segment_ids[len(a) + 2 :] = 1
        maskable = np.ones(len(token_ids), dtype=bool)
        maskable[[0, len(a) + 1, -1]] = False
        return Unmasked(token_ids.astype(np.int64), segment_ids, maskable, pair, rng)

    def mean_tokens(self) -> float:
        """Return the tokens of an example on average, special ones included, over the first 1,024."""
        pairs = map(self.pair, range(min(1024, self.examples_per_epoch)))
        return round(float(np.mean([pair.a.length + pair.b.length + 3 for pair in pairs])), 1)

    def predicted_spans(
        self, index: int, piece_bp: np.ndarray, positions: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return where the predicted tokens of an example lie on the genome.

        Args:
            piece_bp: Base pairs of every token id, as the tokenizer's.
            positions: Those of the example, if they are known: it is not made again then.

        Returns:
            In the order of the example's `labels`: numbers into `store.chromosomes`, shape (M,),
            int64, and start and end, shape (M, 2), int64, 0-based half-open on the chromosome,
            on whichever strand the token was read.
        """
        pair = self.pair(index)
        if positions is None:
            positions = self[index]["positions"]
        bounds_a, bounds_b = (self._bounds(part, piece_bp) for part in (pair.a, pair.b))
        is_b = positions > len(bounds_a)
        # [CLS] is before A, [SEP] between A and B.
        bounds = np.where(
            is_b[:, None],
            bounds_b[np.where(is_b, positions - len(bounds_a) - 2, 0)],
            bounds_a[np.where(is_b, 0, positions - 1)],
        )
        chroms = [self.store.chromosome_number(part.document) for part in (pair.a, pair.b)]
        return np.where(is_b, chroms[1], chroms[0]), bounds

    def _bounds(self, part: Part, piece_bp: np.ndarray) -> np.ndarray:
        """Return where the tokens of a part lie; a part may begin or end within a sentence."""
        bounds = self.store.token_bounds(part.document, piece_bp, part.first, part.last)
        begin = int(self.store.token_offsets(part.document)[part.first])
        return bounds[part.start - begin : part.end - begin]

    def pair(self, index: int) -> Pair:
        """Return which sentences example `index` is made of."""
        return self._draw(index)[0]

    def _draw(self, index: int) -> tuple[Pair, np.random.Generator]:
        epoch, number = divmod(index, self.examples_per_epoch)
        rng = np.random.default_rng([self.seed, epoch, number])
        is_random = bool(rng.random() < 0.5) and self.random_second
        document, share = self._place(self._stratum(epoch, number) + rng.random())
        offsets = self.store.token_offsets(document)
        budget = self.max_tokens - 3
        first = int(share * count_starts(offsets[:-1], int(offsets[-1]), budget))
        if self.sites is not None:
            # From numbers of its own: the other examples are those without sites.
            own_rng = np.random.default_rng([self.seed, epoch, number, 1])
            drawn = self.sites.draw(own_rng, budget, in_first=is_random)
            if drawn is not None:
                document, first = drawn
                offsets = self.store.token_offsets(document)
        a, b = two_parts(document, offsets, first, budget)
        if is_random:
            room = min(budget, int(offsets[-1] - offsets[first])) - a.length
            b = self._random_part(a, b, room, rng)
        return Pair(a, b, int(is_random)), rng

    def _stratum(self, epoch: int, number: int) -> int:
        if self._strata is None or self._strata[0] != epoch:
            rng = np.random.default_rng([self.seed, epoch])
            self._strata = (epoch, rng.permutation(self.examples_per_epoch))
        return int(self._strata[1][number])

    def _place(self, stratum: float) -> tuple[int, float]:
        """Return the document, and the share of its pairs, of a place counted in strata."""
        pairs = int(self._pair_ends[-1])
        pair = min(stratum * pairs / self.examples_per_epoch, math.nextafter(pairs, 0))
        document = int(np.searchsorted(self._pair_ends, pair, side="right"))
        before_end = float(self._pair_ends[document]) - pair
        return document, 1 - before_end / float(self._pairs[document])

    def _random_part(self, a: Part, following: Part, room: int, rng: np.random.Generator) -> Part:
        true_interval = self.store.sentence_interval(a.document, a.first, following.last)
        ends = self.store.document_sentence_offsets
        own_first, own_last = ends[a.document : a.document + 2].tolist()
        for _ in range(_TRIES):
            # Uniform over the sentences of all other documents.
            number = int(rng.integers(ends[-1] - (own_last - own_first)))
            number += (own_last - own_first) if number >= own_first else 0
            document = int(np.searchsorted(ends, number, side="right")) - 1
            offsets = self.store.token_offsets(document)
            first = int(rng.integers(count_starts(offsets, int(offsets[-1]), room)))
            part = fill(document, offsets, first, room)
            drawn = self.store.sentence_interval(document, part.first, part.last)
            if not true_interval.overlap(drawn):
                break
        return part
