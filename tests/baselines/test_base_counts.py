"""Counts of contexts of bases against dictionaries filled base by base."""

from collections import defaultdict

import numpy as np
import pytest

from dna_bigbird.baselines import base_counts
from dna_bigbird.baselines.base_counts import ContextCounts, count_so_far, count_training
from dna_bigbird.baselines.base_kmers import Kmers, base_codes

COMPLEMENT = str.maketrans("ACGT", "TGCA")


def repetitive(length: int, seed: int) -> str:
    """Kmers of few letters, their reverse complements and runs of N."""
    rng = np.random.default_rng(seed)
    words = ["".join(rng.choice(list("ACGT"), 9)) for _ in range(4)]
    words += [word.translate(COMPLEMENT)[::-1] for word in words] + ["N", "NNN", "T" * 25]
    return "".join(rng.choice(words, length // 5))[:length]


def events(text: str, order: int, end: int):
    """Yield (context, base, place, strand) of the word that ends at `end`, on both strands."""
    word = text[max(0, end - order) : end + 1]
    if len(word) == order + 1 and "N" not in word:
        yield word[:-1], word[-1], end, 0
        other = word.translate(COMPLEMENT)[::-1]
        yield other[:-1], other[-1], end, 1


def counted_by_hand(training: str, text: str, order: int) -> dict:
    """Return for each base with a context the counts and the latest positions, before it is read."""
    counts: dict = defaultdict(lambda: [0, 0, 0, 0])
    latest: dict = {}
    found = {}

    def read(sequence: str, end: int, offset: int) -> None:
        for context, base, place, strand in events(sequence, order, end):
            counts[context]["ACGT".index(base)] += 1
            latest[context, strand] = place + offset

    for end in range(len(training)):
        read(training, end, 0)
    for end in range(len(text)):
        context = next(events(text, order, end), (None,))[0]
        if context is not None:
            positions = [latest.get((context, strand), -1) for strand in (0, 1)]
            found[end] = list(counts[context]), positions
        read(text, end, len(training))
    return found


@pytest.mark.parametrize("order", [1, 2, 5, 11, 13, 17])
@pytest.mark.parametrize("trained", [0, 300])
def test_counts_so_far_against_dictionaries(order, trained, monkeypatch):
    monkeypatch.setattr(base_counts, "BATCH_BP", 37)  # words must not be lost where batches meet
    training, text = repetitive(trained, 1), repetitive(400, 2)
    expected = counted_by_hand(training, text, order)
    so_far = count_so_far(Kmers(base_codes(text)), order, base_codes(training))
    assert so_far.known.tolist() == sorted(expected)
    counts, latest = zip(*(expected[end] for end in so_far.known.tolist()), strict=True)
    assert so_far.counts.tolist() == list(counts)
    assert so_far.latest.T.tolist() == list(latest)
    assert so_far.counts.sum() > 0


def test_only_contexts_that_are_asked_for_are_kept():
    text = base_codes("ACGTACGTAC")
    kept = ContextCounts(np.array([6, 6, 1]), bases=2)  # CG, CG, AC
    count_training(kept, 2, text)
    assert kept.contexts.tolist() == [1, 6]
    # AC is followed by G twice on either strand (GTACGT reads the same on both), CG by T.
    assert kept.at(np.array([6, 1])).tolist() == [[0, 0, 0, 4], [0, 0, 4, 0]]


@pytest.mark.parametrize("length", [1, 2, 3, 7, 12, 24, 31])
def test_words_on_both_strands(length):
    text = repetitive(120, 3)
    words = Kmers(base_codes(text))
    for end in range(len(text)):
        word = text[end + 1 - length : end + 1] if end + 1 >= length else ""
        known = len(word) == length and "N" not in word
        assert (words.run[end] >= length) == known
        if known:
            other = word.translate(COMPLEMENT)[::-1]
            for strand, letters in ((words.forward, word), (words.reverse, other)):
                number = int("".join(str("ACGT".index(letter)) for letter in letters), 4)
                assert strand(length)[end] == number


def test_a_word_has_at_most_31_bases():
    with pytest.raises(ValueError, match="a k-mer of 32 bases: expected 0 to 31"):
        Kmers(base_codes("ACGT")).forward(32)
