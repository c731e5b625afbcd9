"""BPE-dropout, compared with the rule written out and with SentencePiece."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dna_bigbird.core.errors import InputError
from dna_bigbird.corpus.piece_dropout import PieceDropout
from dna_bigbird.corpus.tokenizer import DnaTokenizer, TokenizerConfig, train_tokenizer
from dna_bigbird.training.network_baseline import BaseTokenizer

RNG = np.random.default_rng(0)
TEXTS = ["".join(RNG.choice(list("ACGT"), 400)) + "TATA" * 10 + "A" * 20 for _ in range(30)]
TOKENIZERS = {
    algorithm: DnaTokenizer.from_bytes(
        train_tokenizer(TEXTS, TokenizerConfig(algorithm=algorithm, vocab_size=80, max_piece_bp=5))
    )
    for algorithm in ("bpe", "symmetric_bpe")
}
BOTH = pytest.mark.parametrize("algorithm", TOKENIZERS)
DNA = st.text("ACGTN", max_size=60)


def allowed_spans(dropout, text, seed):
    """Every span that is a piece and is not left out."""
    flags, lengths = dropout.draw(len(text), np.random.default_rng(seed))
    hidden = np.frombuffer(flags, dtype=bool).reshape(len(text), lengths)
    spans = itertools.combinations(range(len(text) + 1), 2)
    return {
        (a, b) for a, b in spans if b == a + 1 or (b - a - 2 < lengths and not hidden[a, b - a - 2])
    }


def joined_by_rule(text, scores, allowed):
    """Look at all neighbours, join the best pair, begin again."""
    tokens = [(i, i + 1) for i in range(len(text))]
    while True:
        pairs = [
            (-scores[text[a:c]], a, number)
            for number, ((a, _), (_, c)) in enumerate(itertools.pairwise(tokens))
            if (a, c) in allowed and text[a:c] in scores
        ]
        if not pairs:
            return [text[a:b] for a, b in tokens]
        number = min(pairs)[2]
        tokens[number : number + 2] = [(tokens[number][0], tokens[number + 1][1])]


def best_sum(text, scores, allowed):
    """The highest sum, by recursion over the last token."""
    best = [0.0]
    for end in range(1, len(text) + 1):
        best.append(
            max(
                best[start] + scores[text[start:end]]
                for start in range(end)
                if text[start:end] in scores and (start, end) in allowed
            )
        )
    return best[-1]


def ordinary_scores(tokenizer):
    return dict(zip(tokenizer.pieces[5:], tokenizer.scores.tolist(), strict=True))


@settings(deadline=None, max_examples=150)
@given(text=DNA, seed=st.integers(0, 2**32), share=st.sampled_from([0.0, 0.1, 0.5, 0.9]))
def test_pairs_are_joined_by_the_rule(text, seed, share):
    tokenizer = TOKENIZERS["bpe"]
    dropout = PieceDropout(tokenizer, share)
    ids = dropout.encode(text, np.random.default_rng(seed))
    allowed = allowed_spans(dropout, text, seed)
    expected = joined_by_rule(text, ordinary_scores(tokenizer), allowed)
    assert [tokenizer.pieces[i] for i in ids] == expected


@settings(deadline=None, max_examples=150)
@given(text=DNA, seed=st.integers(0, 2**32), share=st.sampled_from([0.0, 0.1, 0.5, 0.9]))
def test_the_best_of_what_is_left(text, seed, share):
    tokenizer = TOKENIZERS["symmetric_bpe"]
    dropout, scores = PieceDropout(tokenizer, share), ordinary_scores(tokenizer)
    ids = dropout.encode(text, np.random.default_rng(seed))
    allowed = allowed_spans(dropout, text, seed)
    assert tokenizer.decode(ids) == text
    assert set(map(tuple, tokenizer.spans(ids).tolist())) <= allowed
    assert sum(scores[tokenizer.pieces[i]] for i in ids) == best_sum(text, scores, allowed)


@BOTH
def test_without_dropout_the_tokens_are_those_of_sentencepiece(algorithm):
    tokenizer = TOKENIZERS[algorithm]
    dropout = PieceDropout(tokenizer, 0.0)
    for text in [*TEXTS, "N" * 50, "TATATA" * 30 + "A" * 41, "", "G"]:
        ids = dropout.encode(text, np.random.default_rng(0))
        assert np.array_equal(ids, tokenizer.encode(text))
        assert ids.dtype == np.int64


@BOTH
def test_the_share_of_what_is_left_out(algorithm):
    tokenizer, text = TOKENIZERS[algorithm], "".join(TEXTS)
    counts = [
        len(PieceDropout(tokenizer, share).encode(text, np.random.default_rng(1)))
        for share in (0.0, 0.1, 0.5, 1.0)
    ]
    assert counts == sorted(set(counts)), "more tokens the more is left out"
    assert counts[-1] == len(text), "single bases in the end"
    flags, _ = PieceDropout(tokenizer, 0.1).draw(len(text), np.random.default_rng(2))
    assert np.frombuffer(flags, dtype=bool).mean() == pytest.approx(0.1, abs=0.005)


@pytest.mark.parametrize(
    ("tokenizer", "message"),
    [
        (
            DnaTokenizer.from_bytes(train_tokenizer([], TokenizerConfig(algorithm="bases"))),
            r"bpe_dropout 0\.1 has no effect on a vocabulary of single bases; leave it out",
        ),
        (BaseTokenizer(), r"bpe_dropout 0\.1 needs a vocabulary of dna-bigbird train-tokenizer"),
    ],
)
def test_vocabularies_on_which_it_has_no_effect(tokenizer, message):
    with pytest.raises(InputError, match=message):
        PieceDropout(tokenizer, 0.1)
