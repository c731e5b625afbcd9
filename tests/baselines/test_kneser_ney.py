"""KenLM's n-grams: chances that sum to 1, and the same base pairs as the other causal baselines."""

import shutil
from collections import Counter

import numpy as np
import pytest

from dna_bigbird.baselines import kneser_ney
from dna_bigbird.baselines.kneser_ney import KneserNey, kneser_ney_scores, missing
from dna_bigbird.baselines.ngram import TokenNgramCausal
from dna_bigbird.core.errors import InputError
from dna_bigbird.corpus.token_store import documents_within
from dna_bigbird.genome import Interval

needs_kenlm = pytest.mark.skipif(bool(missing()), reason=f"KenLM: {missing()} not installed")


def lines(seed: int, count: int) -> list[list[str]]:
    """Words a to d, each most often followed by the next one."""
    rng = np.random.default_rng(seed)
    steps = rng.choice(4, p=[0.05, 0.8, 0.1, 0.05], size=(count, 60)).cumsum(axis=1) % 4
    return [["abcd"[i] for i in row] for row in steps]


@needs_kenlm
def test_the_chances_of_all_words_sum_to_1():
    """The fifth word was never counted."""
    model = KneserNey(order=3, words=5).fit(lines(0, 200))
    for context in (["a"], ["b", "c"], ["d", "d", "d"], ["z", "a"]):
        words = ["a", "b", "c", "d", "z"]
        total = sum(np.exp(-model.nll([*context, word])[-1]) for word in words)
        assert total == pytest.approx(1, abs=1e-4)


@needs_kenlm
def test_words_never_counted_share_the_chance_of_an_unknown_one():
    few, many = (KneserNey(order=2, words=n).fit(lines(0, 50)) for n in (5, 14))
    assert many.nll(["a", "z"])[1] - few.nll(["a", "z"])[1] == pytest.approx(np.log(10))
    assert many.nll(["a", "b"])[1] == few.nll(["a", "b"])[1]


@needs_kenlm
def test_it_learns_what_follows_what():
    held_out = lines(1, 20)
    nats = np.concatenate([KneserNey(2, words=4).fit(lines(0, 200)).nll(x) for x in held_out])
    truth = -sum(p * np.log(p) for p in (0.05, 0.8, 0.1, 0.05))
    assert nats.mean() == pytest.approx(truth, abs=0.06)
    frequencies = Counter(word for line in held_out for word in line)
    assert max(frequencies.values()) < 0.3 * sum(frequencies.values()), "a unigram cannot"


class FakeStore:
    vocab_size = 9

    def __init__(self, *documents):
        self.documents = documents
        self.num_documents = len(documents)

    def document_interval(self, d):
        return Interval("chr1", 100 * d, 100 * d + len(self.documents[d]))

    def document(self, d):
        return np.array(self.documents[d])


class Letters:
    """Ids 5 to 8 are A, C, G and N, one base each."""

    vocab_size, first_piece_id = 9, 5
    piece_bp = np.array([0] * 5 + [1] * 4)

    def decode(self, ids):
        return "".join("ACGN"[i - 5] for i in ids)


@needs_kenlm
def test_n_is_no_base_of_the_base_ngram(monkeypatch):
    monkeypatch.setattr(kneser_ney, "BASE_ORDER", 2)
    train = FakeStore([5, 6, 7] * 20, [5, 6, 7] * 20 + [8, 8])
    test = FakeStore([5, 6, 8, 7, 5])
    scores = kneser_ney_scores(train, test, Letters())
    (token, counted), (base, _) = scores["token"], scores["base"]
    assert (token.base_pairs, token.predictions) == (5, 5)
    assert (base.base_pairs, base.predictions) == (4, 4)
    assert counted == {"n_counted_bp": 122, "n_counted_documents": 2}
    ours = TokenNgramCausal(3).fit(train).score(test, Letters.piece_bp)
    assert token.predictions.tolist() == ours.predictions.tolist()


@needs_kenlm
def test_an_order_it_was_not_built_for_is_refused():
    with pytest.raises(InputError, match=r"order 40|-o 40"):
        KneserNey(order=40, words=4).fit(lines(0, 3))


def test_what_is_missing_is_named(monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda name: None)
    assert missing().startswith("the program lmplz")


def test_only_so_many_bases_are_counted():
    store = FakeStore(*[[5] * 40] * 10)
    assert len(documents_within(store, None, 10**6)) == 10
    assert documents_within(store, None, 130) == [0, 4, 9]
    assert documents_within(store, 2, 130) == [0, 9]
