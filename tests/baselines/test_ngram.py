"""Count models against the formula worked by hand and by brute force."""

import itertools
import math
from collections import Counter, defaultdict

import numpy as np
import pytest

from dna_bigbird.baselines import base_ngram
from dna_bigbird.baselines.base_ngram import BaseNgramCausal
from dna_bigbird.baselines.ngram import (
    FACTORS,
    Score,
    TokenBigramMasked,
    TokenNgramCausal,
    TokenUnigram,
    posterior_choice,
    posterior_nll,
)
from dna_bigbird.corpus.token_store import covering_documents
from dna_bigbird.genome import Interval
from dna_bigbird.metrics.language import bits_per_base

VOCAB, FIRST = 9, 5


class FakeStore:
    """Documents as (interval, ids)."""

    vocab_size = VOCAB

    def __init__(self, *documents):
        self.documents = documents
        self.num_documents = len(documents)

    def document_interval(self, d):
        return self.documents[d][0]

    def document(self, d):
        return np.array(self.documents[d][1])


class Letters:
    """One base a token."""

    def decode(self, ids):
        return "".join("ACGT"[i - FIRST] for i in ids)


def witten_bell(train: list, text, order: int, outcomes: int, factors: list[float]) -> list[float]:
    """The recursive definition, over dictionaries."""
    counts: dict = defaultdict(Counter)
    for sequence in train:
        for i, word in enumerate(sequence):
            for n in range(order):
                if n <= i:
                    counts[tuple(sequence[i - n : i])][word] += 1

    def p(word, context) -> float:
        shorter = p(word, context[1:]) if context else 1 / outcomes
        after = counts.get(tuple(context))
        if not after:
            return shorter
        weight = factors[len(context)] * len(after)
        return (after[word] + weight * shorter) / (after.total() + weight)

    return [p(w, tuple(text[max(0, i - order + 1) : i])) for i, w in enumerate(text)]


def random_ids(count: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).choice(
        np.arange(FIRST, VOCAB), count, p=[0.5, 0.3, 0.15, 0.05]
    )


@pytest.mark.parametrize("order", [1, 2, 3, 4])
@pytest.mark.parametrize("factor", [1.0, 3.0])
def test_tokens_against_brute_force(order, factor):
    train = [random_ids(n, n) for n in (60, 1, 40)]
    text = random_ids(50, 99)
    model = TokenNgramCausal(order, factors=[factor] * order).fit_sequences(train, VOCAB)
    expected = witten_bell([t.tolist() for t in train], text.tolist(), order, 4, [factor] * order)
    assert np.exp(-model.nll(text)) == pytest.approx(np.array(expected), rel=1e-12)


@pytest.mark.parametrize("order", [1, 3, 6])
@pytest.mark.parametrize("factor", [1.0, 3.0])
def test_bases_against_brute_force(order, factor):
    rng = np.random.default_rng(order)
    train = ["".join(rng.choice(list("ACGT"), n)) for n in (200, 3)]
    text = "".join(rng.choice(list("ACGT"), 80))
    model = BaseNgramCausal(order, factors=[factor] * order).fit_sequences(train)
    expected = witten_bell(train, text, order, 4, [factor] * order)
    assert np.exp(-model.nll(text)) == pytest.approx(np.array(expected), rel=1e-12)


def test_n_is_neither_counted_nor_predicted_and_context_starts_anew_behind_it():
    split = BaseNgramCausal(3, factors=[1] * 3).fit_sequences(["ACG", "TTA"])
    joined = BaseNgramCausal(3, factors=[1] * 3).fit_sequences(["ACGNNTTA"])
    nll = joined.nll("CGNTA")
    assert np.isnan(nll).tolist() == [False, False, True, False, False]
    assert nll[[0, 1]] == pytest.approx(split.nll("CG"))
    assert nll[[3, 4]] == pytest.approx(split.nll("TA"))


@pytest.mark.parametrize("order", [1, 2, 4])
def test_probabilities_of_the_next_base_add_up_to_one(order):
    model = BaseNgramCausal(order).fit_sequences(["ACGTTGCAAC", "GGATTACA", "ACCA"])
    for context in ("", "A", "GATT", "CCCC"):
        total = sum(math.exp(-model.nll(context + base)[-1]) for base in "ACGT")
        assert total == pytest.approx(1)


def test_probabilities_of_the_next_token_add_up_to_one():
    model = TokenNgramCausal(3).fit_sequences([random_ids(30, 0), random_ids(30, 1)], VOCAB)
    for context in ([], [8], [5, 6], [8, 8, 8]):
        total = sum(math.exp(-model.nll(np.array([*context, w]))[-1]) for w in range(FIRST, VOCAB))
        assert total == pytest.approx(1)


def test_unigram_by_hand():
    model = TokenUnigram(add=1).fit_sequences([np.array([5, 5, 6])], VOCAB)
    assert model.probability.tolist() == pytest.approx([0] * 5 + [3 / 7, 2 / 7, 1 / 7, 1 / 7])
    piece_bp = np.array([0] * 5 + [1, 2, 3, 4])
    score = model.score(np.array([5, 8]), piece_bp)
    assert score == ([pytest.approx(-math.log(3 / 49))], [5], [2])
    assert score.bits_per_base == pytest.approx(bits_per_base(score.nll_nats, 5))


def test_uniform_bases_cost_two_bits():
    rng = np.random.default_rng(0)
    train, text = ("".join(rng.choice(list("ACGT"), 200_000)) for _ in range(2))
    chunks = [train[i : i + 10_000] for i in range(0, len(train), 10_000)]
    for order in (1, 4, 8):
        nll = BaseNgramCausal(order).fit_sequences(chunks).nll(text)
        assert 1.999 < bits_per_base(nll, len(text)) < 2.01
    ids = rng.integers(FIRST, VOCAB, 20_000)
    model = TokenNgramCausal(3).fit_sequences([ids[:5000], ids[5000:10_000]], VOCAB)
    assert 1.98 < bits_per_base(model.nll(ids[10_000:]), 10_000) < 2.03


def test_a_markov_chain_costs_its_entropy_rate():
    """Each base is the one before it with 0.85, else one of the others: 0.848 bits."""
    rng = np.random.default_rng(0)
    steps = rng.choice(4, 100_000, p=[0.85, 0.05, 0.05, 0.05])
    text = "".join("ACGT"[i] for i in np.cumsum(steps) % 4)
    rate = -0.85 * math.log2(0.85) - 0.15 * math.log2(0.05)
    model = BaseNgramCausal(6).fit_sequences([text[:40_000], text[40_000:50_000]])
    assert bits_per_base(model.nll(text[50_000:]), 50_000) == pytest.approx(rate, rel=0.02)


def test_the_chosen_factor_is_the_best_on_held_out_documents():
    train = [random_ids(400, seed) for seed in range(3)]
    chosen = TokenNgramCausal(2).fit_sequences(train, VOCAB).factors
    rest = [train[0], train[2]]
    costs = {
        f: TokenNgramCausal(1, factors=[f]).fit_sequences(rest, VOCAB).nll(train[1]).sum()
        for f in FACTORS
    }
    assert chosen[0] == min(costs, key=costs.get)
    costs = {
        f: TokenNgramCausal(2, factors=[chosen[0], f])
        .fit_sequences(rest, VOCAB)
        .nll(train[1])
        .sum()
        for f in FACTORS
    }
    assert chosen[1] == min(costs, key=costs.get)


def test_longer_contexts_do_no_harm_on_random_text():
    rng = np.random.default_rng(3)
    train = ["".join(rng.choice(list("ACGT"), 20_000)) for _ in range(5)]
    text = "".join(rng.choice(list("ACGT"), 20_000))
    costs = [BaseNgramCausal(n).fit_sequences(train).nll(text).mean() for n in (4, 10)]
    published = BaseNgramCausal(10, factors=[1.0] * 10).fit_sequences(train).nll(text).mean()
    assert costs[1] < costs[0] + 0.01
    assert published > costs[1] + 0.1


def test_every_base_once():
    store = FakeStore(
        (Interval("chr1", 0, 100), []),
        (Interval("chr1", 50, 150), []),
        (Interval("chr1", 100, 200, "-"), []),
        (Interval("chr1", 120, 300), []),
        (Interval("chr2", 10, 20), []),
        (Interval("chr1", 201, 210), []),
    )
    assert covering_documents(store) == [0, 2, 5, 4]
    assert covering_documents(store, max_documents=2) == [0, 4]


def test_fit_and_score_on_a_store():
    train = FakeStore(
        (Interval("a", 0, 8), [5, 6, 5, 6, 5, 6, 5, 6]),
        (Interval("a", 4, 9), [8, 8, 8, 8, 8]),  # overlaps the first: not counted
        (Interval("a", 8, 12), [5, 6, 5, 6]),
    )
    piece_bp = np.array([0] * 5 + [1] * 4)
    assert TokenUnigram(add=0).fit(train).probability[8] == 0
    token = TokenNgramCausal(2).fit(train).score(train, piece_bp)
    base = BaseNgramCausal(2).fit(train, Letters()).score(train, Letters())
    for score in (token, base):  # a document each
        assert score.predictions.tolist() == score.base_pairs.tolist() == [8, 4]
    assert token.bits_per_base == pytest.approx(base.bits_per_base)
    assert isinstance(token, Score)


def test_both_neighbours_against_brute_force():
    train = [random_ids(80, 1), random_ids(50, 2)]
    model = TokenBigramMasked().fit_sequences(train, VOCAB)
    factor = TokenNgramCausal(2).fit_sequences(train, VOCAB).factors[1]
    p = TokenUnigram().fit_sequences(train, VOCAB).probability
    after: dict = defaultdict(Counter)
    for sequence in train:
        for left, right in itertools.pairwise(sequence.tolist()):
            after[left][right] += 1

    def bigram(word, left) -> float:
        weight = factor * len(after[left])
        total = after[left].total()
        return (after[left][word] + weight * p[word]) / (total + weight) if total else p[word]

    words = range(FIRST, VOCAB)
    for left in (-1, *words):
        for right in (-1, *words):
            weights = [
                (bigram(w, left) if left >= 0 else p[w]) * (bigram(right, w) if right >= 0 else 1)
                for w in words
            ]
            expected = np.array(weights) / sum(weights)
            found = model.probabilities(np.full(4, left), np.full(4, right), np.array(words))
            assert found == pytest.approx(expected, rel=1e-9)


def test_several_tokens_between_the_same_neighbours():
    model = TokenBigramMasked().fit_sequences([random_ids(80, 1), random_ids(50, 2)], VOCAB)
    left, right = np.array([-1, 5, 6, -1, 7]), np.array([6, -1, 8, -1, 5])
    tokens = np.array([[5, 6, 7, 8, 5], [6, 6, 5, 5, 8]])
    found = model.probabilities(left, right, tokens)
    assert found.tolist() == [model.probabilities(left, right, row).tolist() for row in tokens]


def test_bases_are_counted_alike_in_batches_of_any_size(monkeypatch):
    rng = np.random.default_rng(0)
    texts = ["".join(rng.choice(list("ACGTN"), n)) for n in (90, 1, 40, 3, 300, 0, 77)]
    expected = BaseNgramCausal(5).fit_sequences(texts)
    for batch in (1, 50, 10**6):
        monkeypatch.setattr(base_ngram, "BATCH_BP", batch)
        found = BaseNgramCausal(5).fit_sequences(iter(texts))
        assert found.factors == expected.factors
        assert [c.tolist() for c in found._counts] == [c.tolist() for c in expected._counts]
    assert found.counted_bp == sum(len(text) - text.count("N") for text in texts)


def test_neighbours_that_say_nothing():
    shown = np.array([2, 5, 4, 6, 4, 4, 3, 7, 3])
    left, right = TokenBigramMasked().neighbours(shown, np.array([1, 2, 4, 5, 7]), mask_id=4)
    assert left.tolist() == [-1, 5, 6, -1, -1]
    assert right.tolist() == [-1, 6, -1, -1, -1]


SHARES = {"mask_id": 4, "num_pieces": 4, "mask_share": 0.8, "random_share": 0.1}


def joint_of(p):
    """Probability of each true token with each shown token or [MASK], over all ways to hide it."""
    joint = np.zeros((4, 5))
    for true in range(4):
        joint[true, 4] += p[true] * 0.8
        joint[true, :4] += p[true] * 0.1 / 4
        joint[true, true] += p[true] * 0.1
    return joint


@pytest.mark.parametrize("p", [[0.5, 0.3, 0.15, 0.05], [0.02, 0.01, 0.9, 0.07]])
def test_the_most_probable_token(p):
    """One that is rare enough is more probably a random one than the true one."""
    expected = joint_of(np.array(p)).argmax(axis=0) + FIRST
    seen = np.array([*range(FIRST, VOCAB), SHARES["mask_id"]])
    of_all = np.concatenate([np.zeros(FIRST), p])
    assert posterior_choice(seen, of_all, **SHARES).tolist() == expected.tolist()


def test_what_a_shown_token_tells():
    """Enumerate all ways to hide a token; the posterior is Bayes' rule."""
    p = np.array([0.5, 0.3, 0.15, 0.05])
    joint = joint_of(p)
    for shown in range(5):
        expected = -np.log(joint[:, shown] / joint[:, shown].sum())
        seen = np.full(4, FIRST + shown if shown < 4 else 4)
        p_seen = np.full(4, p[shown] if shown < 4 else 0.0)
        found = posterior_nll(np.arange(FIRST, VOCAB), seen, p, p_seen, **SHARES)
        assert found == pytest.approx(expected)


def test_a_shown_token_under_shares_that_hide_all():
    with pytest.raises(ValueError, match="all are hidden"):
        posterior_nll(
            np.array([5]),
            np.array([5]),
            np.array([0.5]),
            np.array([0.5]),
            **{**SHARES, "mask_share": 1.0, "random_share": 0.0},
        )


@pytest.mark.parametrize("make", [lambda: TokenNgramCausal(5), lambda: BaseNgramCausal(0)])
def test_impossible_orders(make):
    with pytest.raises(ValueError, match="must be 1 to"):
        make()
