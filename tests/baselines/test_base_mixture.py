"""The adaptive mixture reads from left to right only, and finds what repeats on either strand."""

import numpy as np
import pytest

from dna_bigbird.baselines.base_mixture import BaseMixtureCausal

COMPLEMENT = str.maketrans("ACGT", "TGCA")


def letters(length: int, seed: int) -> str:
    return "".join(np.random.default_rng(seed).choice(list("ACGT"), length))


def other_strand(text: str) -> str:
    return text.translate(COMPLEMENT)[::-1]


def bits(model: BaseMixtureCausal, *texts: str) -> list[float]:
    return [float(np.nanmean(nats)) / np.log(2) for nats in model.nll(texts)]


@pytest.fixture(scope="module")
def small() -> BaseMixtureCausal:
    """A mixture of a few orders."""
    return BaseMixtureCausal(orders=(1, 2, 4, 11, 14), copy_orders=(12,))


@pytest.mark.parametrize("at", [0, 1, 700, 701, 1400, 1998])
def test_a_changed_base_changes_no_probability_up_to_it(small, at):
    part = letters(600, 1)
    text = part + "N" + other_strand(part) + "NN" + part + letters(196, 2)
    changed = text[:at] + ("C" if text[at] != "C" else "G") + text[at + 1 :]
    (before,), (after,) = small.probabilities([text]), small.probabilities([changed])
    known = np.array(list(text[: at + 1])) != "N"
    assert np.array_equal(before[: at + 1][known], after[: at + 1][known])
    # The change is seen later, except at the last base.
    assert at == len(text) - 1 or not np.array_equal(before, after, equal_nan=True)


def test_later_sequence_changes_nothing_before_it(small):
    first = letters(500, 1)
    alone = small.nll([first])[0]
    assert np.array_equal(alone, small.nll([first, first])[0])


def test_probabilities_add_up_to_one_and_n_is_not_predicted(small):
    text = "ACGT" * 50 + "NNN" + letters(300, 3) + "N"
    p = small.probabilities([text])[0]
    known = np.array(list(text)) != "N"
    assert p[known].sum(axis=1) == pytest.approx(np.ones(known.sum()), abs=1e-5)
    assert (p[known] > 0).all()
    assert np.isnan(small.nll([text])[0]).tolist() == (~known).tolist()


def test_both_strands_are_read(small):
    text = letters(3000, 4)
    costs = bits(small, letters(3000, 5), text, text, other_strand(text), letters(3000, 6))
    assert costs[0] > 1.95
    assert costs[1] > 1.95
    assert costs[2] < 0.4
    assert costs[3] < 0.3
    assert costs[4] > 1.95


def test_a_copy_tolerates_substitutions(small):
    text = letters(4000, 7)
    changed = list(text)
    for i in range(8, len(text), 10):  # no context of 11 bases or more is left
        changed[i] = {"A": "C", "C": "G", "G": "T", "T": "A"}[changed[i]]
    changed[100:130] = text[100:130]
    follows, never = BaseMixtureCausal(small.orders, (12,)), BaseMixtureCausal(small.orders, ())
    assert bits(never, text, "".join(changed))[1] > 1.9
    part = slice(130, 130 + 190)
    costs = [model.nll([text, "".join(changed)])[1][part].mean() for model in (follows, never)]
    assert costs[0] < 0.95 * costs[1]


def test_training_sequence_is_counted_and_the_primer_teaches_weights(small):
    pieces = [letters(500, seed) for seed in range(40)]
    trained = BaseMixtureCausal(small.orders, small.copy_orders).fit_sequences(pieces, 1000)
    assert trained.counted_bp == 40 * 500
    assert 1000 <= (trained._primer < 4).sum() <= 2000
    text = letters(2000, 99)
    assert bits(trained, text)[0] > 1.95
    for known in (pieces[7] + pieces[31], other_strand(pieces[12] + pieces[20])):
        assert bits(trained, known)[0] < bits(small, known)[0] - 0.3


def test_empty_sequences(small):
    assert [len(nats) for nats in small.nll(["", "ACGT", ""])] == [0, 4, 0]
    assert np.isnan(small.nll(["NNN"])[0]).all()


def test_a_mixture_of_nothing_is_refused():
    with pytest.raises(ValueError, match="a mixture needs at least one order"):
        BaseMixtureCausal((), ())
