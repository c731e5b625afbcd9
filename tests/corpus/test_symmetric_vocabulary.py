"""The strand-symmetric vocabulary: closed, and both strands are cut at the same places."""

import gzip

import numpy as np
import pytest
import sentencepiece
from hypothesis import given, settings
from hypothesis import strategies as st

from dna_bigbird.core.errors import InputError
from dna_bigbird.corpus.symmetric_vocabulary import SCORE_STEPS, closed_pieces
from dna_bigbird.corpus.tokenizer import DnaTokenizer, TokenizerConfig, train_tokenizer
from dna_bigbird.genome import normalise, reverse_complement

RNG = np.random.default_rng(0)
TEXTS = ["".join(RNG.choice(list("ACGT"), 400, p=[0.3, 0.2, 0.2, 0.3])) for _ in range(40)]


def trained(vocab_size, texts=TEXTS, max_piece_bp=16, algorithm="symmetric_bpe"):
    config = TokenizerConfig(algorithm=algorithm, vocab_size=vocab_size, max_piece_bp=max_piece_bp)
    return DnaTokenizer.from_bytes(train_tokenizer(texts, config))


SMALL = trained(40, max_piece_bp=4)


def segmentations(text, pieces):
    """Every way to cut a text into pieces."""
    if not text:
        yield ()
    for length in range(1, len(text) + 1):
        if text[:length] in pieces:
            yield from ((text[:length], *rest) for rest in segmentations(text[length:], pieces))


@pytest.mark.parametrize("vocab_size", [10, 11, 12, 13, 40, 101, 300])
def test_size_closure_and_scores(vocab_size):
    tokenizer = trained(vocab_size)
    assert tokenizer.vocab_size == vocab_size
    ordinary = tokenizer.pieces[5:]
    scores = dict(zip(ordinary, tokenizer.scores.tolist(), strict=True))
    assert len(scores) == vocab_size - 5
    assert max(map(len, ordinary)) <= 16
    for piece, score in scores.items():
        assert scores[reverse_complement(piece)] == score
        assert (score * SCORE_STEPS).is_integer()
    assert not tokenizer.joins_pairs
    assert trained(vocab_size).model_bytes == tokenizer.model_bytes


@settings(deadline=None)
@given(st.text("ACGT", min_size=1, max_size=11))
def test_the_best_segmentation_and_its_mirror_image(text):
    """Compared with every segmentation; where two are equally good, either may be taken."""
    scores = dict(zip(SMALL.pieces[5:], SMALL.scores.tolist(), strict=True))
    sums = {cut: sum(map(scores.get, cut)) for cut in segmentations(text, scores)}
    best = [cut for cut, total in sums.items() if total == max(sums.values())]
    forward = tuple(SMALL.pieces[i] for i in SMALL.encode(text))
    other = tuple(SMALL.pieces[i] for i in SMALL.encode(reverse_complement(text)))
    mirrored = tuple(reverse_complement(piece) for piece in reversed(other))
    assert forward in best
    assert mirrored in best
    plain = sentencepiece.SentencePieceProcessor(model_proto=SMALL.model_bytes)
    assert tuple(plain.encode(text, out_type=str)) == forward


def shared_boundaries(tokenizer, texts):
    """Share of the boundaries inside the texts that the other strand has, too."""
    both = either = 0
    for text in texts:
        forward = set(tokenizer.spans(tokenizer.encode(text))[1:, 0].tolist())
        ends = tokenizer.spans(tokenizer.encode(reverse_complement(text)))[:-1, 1]
        other = set((len(text) - ends).tolist())
        both += 2 * len(forward & other)
        either += len(forward) + len(other)
    return both / either


def test_real_dna_shares_its_boundaries(real_data):
    with gzip.open(real_data / "genome/hg19_chr17_1-1000000.fa.gz", "rt") as lines:
        raw = "".join(line.strip() for line in lines if not line.startswith(">"))
    texts = [normalise(raw[i : i + 1000]) for i in range(0, 1_000_000, 1000)]
    training, held_out = texts[:250], texts[800:]
    symmetric, plain = (trained(512, training, algorithm=x) for x in ("symmetric_bpe", "bpe"))
    assert shared_boundaries(symmetric, held_out) > 0.99
    assert shared_boundaries(plain, held_out) < 0.5
    tokens = [sum(map(len, x.encode_all(held_out))) for x in (symmetric, plain)]
    assert tokens[0] < tokens[1], "and its tokens are longer"


def test_a_place_that_is_left_gets_a_piece_of_its_own_mirror_image():
    assert closed_pieces(["AA", "CA"], 3, 2) == ["AA", "TT", "AT"]
    assert closed_pieces(["AA", "CA", "GATC"], 3, 4) == ["AA", "TT", "GATC"]
    assert closed_pieces(["NA"], 6, 2) == ["NA", "TN", "AT", "CG", "GC", "TA"]


def test_n_is_its_own_complement():
    tokenizer = trained(60, [*TEXTS, "N" * 300])
    text = "GATTACA" + "N" * 20 + "GGC"
    assert tokenizer.decode(tokenizer.encode(text)) == text
    pieces = set(tokenizer.pieces[5:])
    assert {reverse_complement(piece) for piece in pieces} == pieces


def test_too_little_text():
    with pytest.raises(InputError, match=r"vocab_size 3000 is too large .* at most \d+\."):
        trained(3000, TEXTS[:1])


def test_an_odd_size_without_a_piece_of_its_own_mirror_image():
    """Here the five such pieces of two letters are the most frequent ones, so all of them are taken."""
    units = RNG.choice(["ATNN", "CGNN", "GCNN", "TANN"], 400).tolist()
    texts = ["".join([*units, "AANN", "CCNN"] * 3)]
    assert len(trained(17, texts, max_piece_bp=2).pieces) == 17
    with pytest.raises(InputError, match=r"vocab_size 16 .* closed .* take 15 or 17"):
        trained(16, texts, max_piece_bp=2)


def test_single_bases_are_the_smallest_vocabulary():
    assert trained(10, max_piece_bp=1).pieces[5:] == list("ACGTN")
