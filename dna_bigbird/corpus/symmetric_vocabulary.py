"""A vocabulary that cuts both strands of DNA at the same places.

Byte-pair encoding proposes the pieces. Every piece comes with its reverse complement, and both have
the same score: the logarithm of how often they are used, together. SentencePiece's unigram model
takes the segmentation with the highest sum of scores, so that of the other strand is its mirror
image, but for two segmentations with exactly equal sums (the same pieces in another order, in
tandem repeats).
"""

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np
import sentencepiece

from dna_bigbird.genome.alphabet import BASES, reverse_complement

# A SentencePiece file from a list of pieces, for vocabularies that SentencePiece does not learn.

PAD_ID, UNK_ID, CLS_ID, SEP_ID, MASK_ID = range(5)
SPECIAL_PIECES = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
FIRST_PIECE_ID = len(SPECIAL_PIECES)


def vocabulary_file(scores: Mapping[str, float], *, is_unigram: bool = False) -> bytes:
    """Return a SentencePiece model of the special entries and these pieces, by id."""
    from sentencepiece import sentencepiece_model_pb2 as protocol

    model = protocol.ModelProto()
    types = protocol.ModelProto.SentencePiece
    for i, piece in enumerate(SPECIAL_PIECES):
        piece_type = types.UNKNOWN if i == UNK_ID else types.CONTROL
        model.pieces.add(piece=piece, score=0, type=piece_type)
    for piece, score in scores.items():
        model.pieces.add(piece=piece, score=score)
    trainer = model.trainer_spec
    trainer.model_type = trainer.UNIGRAM if is_unigram else trainer.BPE
    trainer.vocab_size = len(model.pieces)
    trainer.pad_id, trainer.unk_id, trainer.bos_id, trainer.eos_id = PAD_ID, UNK_ID, -1, -1
    trainer.pad_piece, trainer.unk_piece = SPECIAL_PIECES[PAD_ID], SPECIAL_PIECES[UNK_ID]
    trainer.control_symbols.extend(SPECIAL_PIECES[CLS_ID:])
    trainer.split_by_whitespace = False
    normalizer = model.normalizer_spec
    normalizer.name = "identity"
    normalizer.add_dummy_prefix = False
    normalizer.remove_extra_whitespaces = False
    return model.SerializeToString(deterministic=True)


ROUNDS = 4
"""How often the scores are counted again with the segmentations they give."""
SCORE_STEPS = 1024
"""Scores are multiples of 1 / this: SentencePiece adds them in float32, without rounding up to about 12 kb."""
_SMOOTHING = 0.5
_AT_ONCE = 1000


def alternate_strands(sequences: Iterable[str]) -> Iterator[str]:
    """Yield every second sequence as its reverse complement: both strands in the same memory."""
    for number, sequence in enumerate(sequences):
        yield reverse_complement(sequence) if number % 2 else sequence


def closed_pieces(proposed: Sequence[str], count: int, max_piece_bp: int) -> list[str]:
    """Return at most `count` pieces of two bases or more that are closed under reverse complement.

    Example:
        >>> closed_pieces(["AA", "TG", "CA", "TA"], 5, 2)
        ['AA', 'TT', 'TG', 'CA', 'TA']
        >>> closed_pieces(["AA", "TG"], 3, 4)
        ['AA', 'TT', 'AT']
    """
    chosen: dict[str, None] = {}
    palindromes = (
        piece + reverse_complement(piece)
        for piece in itertools.chain(BASES.replace("N", ""), proposed)
        if 2 * len(piece) <= max_piece_bp
    )
    for piece in itertools.chain(proposed, palindromes):
        pair = dict.fromkeys((piece, reverse_complement(piece)))
        if len(piece) > 1 and piece not in chosen and len(chosen) + len(pair) <= count:
            chosen.update(pair)
    return list(chosen)


def symmetric_vocabulary(sequences: Sequence[str], pieces: Sequence[str]) -> bytes:
    """Return the SentencePiece model of the bases and these pieces, with scores from sequences."""
    # The first segmentation has the fewest tokens; then each round counts how often a piece or its
    # reverse complement is used, and takes the logarithm of their share as the score of both.
    every = [*pieces, *BASES]
    numbers = {piece: number for number, piece in enumerate(every)}
    partner = np.array([numbers[reverse_complement(piece)] for piece in every])
    model = vocabulary_file(dict.fromkeys(every, -1.0), is_unigram=True)
    for _ in range(ROUNDS):
        counts = _count(model, sequences, len(every))
        both = counts + counts[partner] + _SMOOTHING
        shares = (both / both.sum()).tolist()
        scores = [round(math.log(share) * SCORE_STEPS) / SCORE_STEPS for share in shares]
        model = vocabulary_file(dict(zip(every, scores, strict=True)), is_unigram=True)
    return model


def _count(model: bytes, sequences: Sequence[str], size: int) -> np.ndarray:
    """Count how often each ordinary piece is used, shape (size,)."""
    processor = sentencepiece.SentencePieceProcessor()
    processor.load_from_serialized_proto(model)
    counts = np.zeros(size, dtype=np.int64)
    for start in range(0, len(sequences), _AT_ONCE):
        encoded = processor.encode(list(sequences[start : start + _AT_ONCE]), num_threads=1)
        ids = np.fromiter(itertools.chain.from_iterable(encoded), dtype=np.int64)
        counts += np.bincount(ids - FIRST_PIECE_ID, minlength=size)
    return counts
