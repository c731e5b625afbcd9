"""BPE-dropout: other tokens each time, so that a model sees many spellings of the same DNA.

Every occurrence of a piece of two bases or more in the text is left out with some chance. The
tokens are then made as always, from the occurrences that remain. SentencePiece samples, too, but
with one generator for the whole process, and in another way for each type of model.
"""

import heapq
import math
from collections.abc import Mapping

import numpy as np

from dna_bigbird.core.errors import InputError
from dna_bigbird.corpus.tokenizer import FIRST_PIECE_ID, DnaTokenizer

Occurrences = tuple[bytes, int]
"""A byte for each start and length from 2 on, 1 if that occurrence is left out; and the lengths."""


class PieceDropout:
    """Draws tokens; an occurrence of a piece is left out with chance `share` (1: single bases)."""

    def __init__(self, tokenizer: object, share: float) -> None:
        if not isinstance(tokenizer, DnaTokenizer):
            raise InputError(
                f"--training.bpe_dropout {share:g} needs a vocabulary of dna-bigbird train-tokenizer "
                "(tokenizer.model); leave it out for other models"
            )
        self.longest = int(tokenizer.piece_bp.max())
        if self.longest < 2:
            raise InputError(
                f"--training.bpe_dropout {share:g} has no effect on a vocabulary of single bases; "
                "leave it out"
            )
        self.share = share
        self._joins_pairs = tokenizer.joins_pairs
        ordinary = tokenizer.pieces[FIRST_PIECE_ID:]
        self._scores = dict(zip(ordinary, tokenizer.scores.tolist(), strict=True))
        self._ids = {piece: FIRST_PIECE_ID + i for i, piece in enumerate(ordinary)}

    def encode(self, sequence: str, rng: np.random.Generator) -> np.ndarray:
        """Return token ids of normalised DNA, shape (T,), int64; no special ids are added."""
        left_out = self.draw(len(sequence), rng)
        segment = join_pairs if self._joins_pairs else best_segmentation
        ends = segment(sequence, self._scores, left_out)
        ids = [self._ids[sequence[start:end]] for start, end in zip([0, *ends], ends, strict=False)]
        return np.array(ids, dtype=np.int64)

    def draw(self, length: int, rng: np.random.Generator) -> Occurrences:
        """Draw which occurrences are left out in a text of so many bases."""
        lengths = self.longest - 1
        return (rng.random((length, lengths)) < self.share).tobytes(), lengths


def join_pairs(text: str, scores: Mapping[str, float], left_out: Occurrences) -> list[int]:
    """Return the ends of the tokens if the neighbours with the highest score are joined first."""
    # Of equal ones the leftmost pair is first. A pair is not joined if that occurrence is left out.
    hidden, lengths = left_out
    count = len(text)
    ends = list(range(1, count + 1))  # of the token at a start; 0 where no token starts any more
    before = list(range(-1, count))  # start of the token before
    queue: list[tuple[float, int, int, int]] = []

    def offer(start: int, middle: int) -> None:
        if start < 0 or middle >= count:
            return
        end = ends[middle]
        score = scores.get(text[start:end])
        if score is not None and not hidden[start * lengths + end - start - 2]:
            heapq.heappush(queue, (-score, start, middle, end))

    for start in range(count - 1):
        offer(start, start + 1)
    while queue:
        _, start, middle, end = heapq.heappop(queue)
        if ends[start] != middle or ends[middle] != end:
            continue  # one of the two was joined to another
        ends[start], ends[middle] = end, 0
        before[end] = start
        offer(before[start], start)
        offer(start, end)
    return [end for end in ends if end]


def best_segmentation(text: str, scores: Mapping[str, float], left_out: Occurrences) -> list[int]:
    """Return the ends of the tokens with the highest sum of scores, without what is left out."""
    # Of equal sums, the one whose last token is longest is taken.
    hidden, lengths = left_out
    count = len(text)
    best = [0.0] + [-math.inf] * count
    begins = [0] * (count + 1)
    for start in range(count):
        total = best[start]
        row = start * lengths - start - 2
        for end in range(start + 1, min(count, start + lengths + 1) + 1):
            score = scores.get(text[start:end])
            if score is None or total + score <= best[end]:
                continue
            if end == start + 1 or not hidden[row + end]:
                best[end], begins[end] = total + score, start
    ends = []
    while count:
        ends.append(count)
        count = begins[count]
    return ends[::-1]
