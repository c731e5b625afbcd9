"""Words counted from tokens, against counting in the text."""

import re

import numpy as np
import pytest
import torch

from dna_bigbird.corpus.tokenizer import DnaTokenizer, TokenizerConfig, train_tokenizer
from dna_bigbird.models.kmer_config import KmerHeadConfig, KmersConfig
from dna_bigbird.models.kmer_head import KmerCounts, KmerHead, bases_of_pieces, num_kmers

COMPLEMENT = str.maketrans("ACGT", "TGCA")


def text(length: int, seed: int, letters: str = "ACGT") -> str:
    return "".join(np.random.default_rng(seed).choice(list(letters), length))


@pytest.fixture(scope="module")
def pieces() -> DnaTokenizer:
    """A vocabulary of tokens of several lengths."""
    config = TokenizerConfig(vocab_size=40, max_piece_bp=6, sample_bp=20_000)
    return DnaTokenizer.from_bytes(train_tokenizer([text(20_000, 1)], config))


@pytest.fixture(scope="module")
def bases() -> DnaTokenizer:
    config = TokenizerConfig(algorithm="bases")
    return DnaTokenizer.from_bytes(train_tokenizer([text(100, 1)], config))


def shares_in_text(sequence: str, k: int, *, together: bool) -> dict[str, float]:
    """The shares of the words of k bases that occur."""
    counts: dict[str, int] = {}
    for match in re.finditer(rf"(?=([ACGT]{{{k}}}))", sequence):
        word = match[1]
        if together:
            word = min(word, word.translate(COMPLEMENT)[::-1])
        counts[word] = counts.get(word, 0) + 1
    total = max(1, sum(counts.values()))
    return {word: count / total for word, count in counts.items()}


def module(tokenizer: DnaTokenizer, **settings) -> KmerCounts:
    config = KmerHeadConfig(**settings, piece_bp=int(tokenizer.piece_bp.max()))
    counts = KmerCounts(config, tokenizer.vocab_size)
    spelled = bases_of_pieces(tokenizer.pieces, tokenizer.piece_bp)
    counts.bases_VI.copy_(torch.from_numpy(spelled))
    return counts


def batch(tokenizer: DnaTokenizer, sequences: list[str]) -> tuple[torch.Tensor, torch.Tensor]:
    ids = [[tokenizer.cls_id, *tokenizer.encode(x), tokenizer.sep_id] for x in sequences]
    width = max(map(len, ids)) + 3
    padded = [row + [tokenizer.pad_id] * (width - len(row)) for row in ids]
    is_padding = [[i >= len(row) for i in range(width)] for row in ids]
    return torch.tensor(padded), torch.tensor(is_padding)


@pytest.mark.parametrize("vocabulary", ["pieces", "bases"])
@pytest.mark.parametrize("together", [False, True])
def test_counts_are_those_of_the_text(vocabulary, together, request):
    tokenizer = request.getfixturevalue(vocabulary)
    sequences = [
        text(300, 2),
        text(41, 3, "ACGTN"),
        "N" * 9,
        text(120, 4)[:60] + "NNN" + text(77, 5),
    ]
    got = module(tokenizer, max_k=3, together=together)(*batch(tokenizer, sequences))
    for row, sequence in zip(got.numpy(), sequences, strict=True):
        start = 0
        for k in (1, 2, 3):
            expected = shares_in_text(sequence, k, together=together)
            part = row[start : start + num_kmers(k, together=together)]
            # The order of the numbers is that of the alphabet; a word stands for its pair.
            words = sorted(
                {min(w, w.translate(COMPLEMENT)[::-1]) if together else w for w in all_words(k)}
            )
            np.testing.assert_allclose(part, [expected.get(w, 0.0) for w in words], atol=1e-7)
            start += len(words)
        assert start == len(row)


def all_words(k: int) -> list[str]:
    return [""] if k == 0 else [w + b for w in all_words(k - 1) for b in "ACGT"]


@pytest.mark.parametrize("length", [200, 301, 60])
def test_the_middle_is_that_of_the_text(pieces, length):
    sequence = text(length, 6)
    whole = module(pieces, max_k=2, together=False)
    both = module(pieces, max_k=2, together=False, centre_bp=100)
    start = max(0, (length - 100) // 2)
    expected = [whole(*batch(pieces, [part])) for part in (sequence, sequence[start : start + 100])]
    got = both(*batch(pieces, [sequence, text(500, 7)]))
    torch.testing.assert_close(got[:1], torch.cat(expected, dim=1))
    assert got.shape[1] == both.size == 2 * whole.size


def test_a_word_and_its_reverse_complement_are_one(pieces):
    sequence = text(150, 8)
    other = sequence.translate(COMPLEMENT)[::-1]
    counts = module(pieces, max_k=4, together=True, centre_bp=50)
    forward, reverse = counts(*batch(pieces, [sequence, other]))
    torch.testing.assert_close(forward, reverse)
    apart = module(pieces, max_k=4, together=False)
    forward, reverse = apart(*batch(pieces, [sequence, other]))
    assert not torch.allclose(forward, reverse)


def test_a_part_that_is_not_fitted_gives_zero(pieces):
    words = KmerHeadConfig(max_k=2, piece_bp=int(pieces.piece_bp.max()))
    part = KmerHead(words, pieces.vocab_size, num_labels=3)
    assert (part(*batch(pieces, [text(50, 9)])) == 0).all()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"max_k": 9}, "--words.max_k 9"),
        ({"max_k": -2}, "--words.max_k -2"),
        ({"centre_bp": -2}, "--words.centre_bp -2"),
    ],
)
def test_settings_out_of_range(settings, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        KmersConfig(**settings)


def test_a_stored_part_that_counts_nothing():
    with pytest.raises(ValueError, match="k-mers of 1 to 0 bases"):
        KmerHeadConfig(max_k=0)


@pytest.mark.parametrize("vocabulary", ["pieces", "bases"])
@pytest.mark.parametrize("window_bp", [47, 700])
def test_positions_are_those_of_the_text(vocabulary, window_bp, request):
    """Which base is at each place, and 3-mers in parts of 15 bases, or of 18 in 700; in order of the alphabet."""
    tokenizer = request.getfixturevalue(vocabulary)
    sequences = [text(window_bp, 12), text(window_bp, 13, "ACGTN")]
    counts = module(tokenizer, max_k=1, together=False, positions=window_bp)
    at = counts.parts()["positions"]
    part_bp = 15 if window_bp == 47 else 18
    for row, sequence in zip(counts(*batch(tokenizer, sequences)), sequences, strict=True):
        expected = [float(x == b) for x in sequence for b in "ACGT"] if window_bp == 47 else []
        for start in range(0, window_bp - 2, part_bp):
            inside = sequence[start : start + part_bp + 2]
            words = [inside[i : i + 3] for i in range(len(inside) - 2)]
            expected += [words.count(w) for w in all_words(3)]
        assert row[at].tolist() == expected


def test_positions_of_a_shorter_sequence(bases):
    """What is not there counts as no base; what is beyond the window is not read."""
    counts = module(bases, max_k=0, positions=30)
    short, long = text(20, 1), text(40, 2)
    row, cut = counts(*batch(bases, [short, long]))
    padded, whole = counts(*batch(bases, [short + "N" * 10, long[:30]]))
    torch.testing.assert_close(row, padded)
    torch.testing.assert_close(cut, whole)
