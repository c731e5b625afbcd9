"""The two-sided mixture: one base hidden, its contexts counted on both strands."""

from collections import Counter, defaultdict

import numpy as np
import pytest

from dna_bigbird.baselines import base_two_sided
from dna_bigbird.baselines.base_counts import ContextCounts
from dna_bigbird.baselines.base_kmers import Kmers, base_codes
from dna_bigbird.baselines.base_two_sided import BaseMixtureTwoSided

COMPLEMENT = str.maketrans("ACGT", "TGCA")
CONTEXTS = ((1, 1), (3, 0), (0, 3), (6, 6), (10, 2), (2, 10), (9, 9))


def letters(length: int, seed: int) -> str:
    return "".join(np.random.default_rng(seed).choice(list("ACGT"), length))


def other_strand(text: str) -> str:
    return text.translate(COMPLEMENT)[::-1]


@pytest.fixture(scope="module")
def repeats() -> list[str]:
    """Forty documents made of six words on either strand, with single letters between them."""
    rng = np.random.default_rng(0)
    words = [letters(60, seed) for seed in range(6)]
    words += [other_strand(word) for word in words]
    pieces = [str(rng.choice(words)) + letters(5, 100 + i) for i in range(400)]
    return ["".join(pieces[i : i + 10]) for i in range(0, 400, 10)]


@pytest.fixture(scope="module")
def trained(repeats) -> BaseMixtureTwoSided:
    return BaseMixtureTwoSided(CONTEXTS).fit_sequences(repeats[:-2])


@pytest.mark.parametrize(("left", "right"), [(2, 1), (0, 3), (4, 0), (7, 7)])
def test_contexts_against_dictionaries(left, right, monkeypatch):
    monkeypatch.setattr(base_two_sided, "BATCH_BP", 41)
    training = letters(150, 1) + "N" + letters(90, 1) + "NN" + other_strand(letters(60, 1))
    expected: dict = defaultdict(Counter)
    for strand in (training, other_strand(training)):
        for i in range(left, len(strand) - right):
            context = strand[i - left : i] + strand[i + 1 : i + 1 + right]
            if "N" not in context and strand[i] != "N":
                expected[context][strand[i]] += 1
    keys, known = base_two_sided._around(Kmers(base_codes(training)), left, right)
    asked = np.flatnonzero(known)
    counts = base_two_sided._counted(
        ContextCounts(keys[asked], left + right), left, right, base_codes(training)
    ).at(keys[asked])
    for i, of_bases in zip(asked, counts, strict=True):
        context = training[i - left : i] + training[i + 1 : i + 1 + right]
        assert [expected[context][base] for base in "ACGT"] == of_bases.tolist()
    assert len(asked) > 100
    assert counts.sum() > 0


def test_probabilities_add_up_to_one_and_the_hidden_base_has_no_influence(trained, repeats):
    text = repeats[-1][:100] + "NN" + repeats[-1][100:300]
    positions = np.array([0, 1, 50, 99, 102, 103, len(text) - 1])
    p = trained.probabilities([text], [positions])[0]
    assert p.sum(axis=1) == pytest.approx(np.ones(len(positions)), abs=1e-5)
    for i, position in enumerate(positions):
        changed = text[:position] + ("A" if text[position] != "A" else "C") + text[position + 1 :]
        hidden = trained.probabilities([changed], [positions[i : i + 1]])[0]
        assert hidden == pytest.approx(p[i : i + 1], abs=1e-6)


def test_a_base_beyond_every_context_has_no_influence_and_neighbours_have(trained, repeats):
    """A context has up to 11 bases here; a copy begins up to 224 before, and 32 around are compared."""
    text, middle = repeats[-1], np.array([300])
    p = trained.probabilities([text], [middle])[0]
    for distance, equal in ((1, False), (-1, False), (260, True), (-260, True)):
        i = 300 + distance
        changed = text[:i] + ("A" if text[i] != "A" else "C") + text[i + 1 :]
        assert np.array_equal(p, trained.probabilities([changed], [middle])[0]) == equal


def test_sequences_do_not_see_each_other(trained, repeats):
    first, second = repeats[-2:]
    here = np.arange(0, 100, 3)
    together = trained.nll([first, second], [here, here])
    apart = [trained.nll([text], [here])[0] for text in (first, second)]
    assert all(map(np.array_equal, together, apart))
    assert [len(nats) for nats in trained.nll([first, "", second], [here[:0], here[:0], here])] == [
        0,
        0,
        len(here),
    ]


def test_what_repeats_on_either_strand_is_predicted(trained, repeats):
    """Kmers of 60 bases are known; the 5 letters between them are not, nor is other sequence."""
    here = np.arange(0, 600, 7)
    for text in (repeats[-1], other_strand(repeats[-1])):
        assert trained.nll([text], [here])[0].mean() / np.log(2) < 0.5
    assert trained.nll([letters(600, 77)], [here])[0].mean() / np.log(2) > 1.8


def test_n_has_no_cost_and_impossible_contexts_are_refused(trained):
    assert np.isnan(trained.nll(["ACNGT"], [np.array([1, 2])])[0]).tolist() == [False, True]
    with pytest.raises(ValueError, match="a context of 16 and 16 bases: expected 1 to 31"):
        BaseMixtureTwoSided([(16, 16)])


def test_memory_is_that_of_the_contexts_that_are_asked_for():
    kept = ContextCounts(np.array([5, 2**40]), bases=24)
    assert kept.counts.shape == (2, 4)


@pytest.mark.parametrize("most", [400_000, 100])
def test_one_long_sequence_has_fitted_weights(repeats, most, monkeypatch):
    """As many documents have: a part of it is set aside, also where a tenth of it is more than usual."""
    monkeypatch.setattr(base_two_sided, "HELD_BACK_BP", most)
    held_out = ["".join(repeats[-2:])]
    at = [np.arange(20, len(held_out[0]) - 20)]
    costs = [
        np.nanmean(BaseMixtureTwoSided(CONTEXTS).fit_sequences(training).nll(held_out, at)[0])
        for training in (repeats[:-2], ["".join(repeats[:-2])])
    ]
    assert costs[1] == pytest.approx(costs[0], rel=0.1)


def diverged(text: str, seed: int) -> str:
    """Another base at every sixteenth place: no 16 bases in a row are left."""
    rng = np.random.default_rng(seed)
    bases = list(text)
    for i in range(int(rng.integers(16)), len(text), 16):
        bases[i] = rng.choice([base for base in "ACGT" if base != bases[i]])
    return "".join(bases)


def test_a_diverged_copy_is_followed_over_its_substitutions():
    sources = [letters(4000, 500 + i) for i in range(40)]
    copies = [diverged(text, i) for i, text in enumerate(sources[:30])]
    copies[::2] = map(other_strand, copies[::2])
    mixed = [text for pair in zip(sources[:30], copies, strict=True) for text in pair]
    model = BaseMixtureTwoSided(((1, 1),)).fit_sequences([*mixed, *sources[30:]])
    text = diverged(sources[35], 99)
    for read in (text, other_strand(text)):
        assert model.nll([read], [np.arange(50, 3950)])[0].mean() / np.log(2) < 1.0
    assert model.nll([letters(1000, 98)], [np.arange(50, 950)])[0].mean() / np.log(2) > 1.95


def test_bases_hidden_together(repeats):
    """What is hidden has no influence on any of them, and copies go on over it."""
    rng = np.random.default_rng(5)
    held_out = repeats[-2:]
    at = [np.flatnonzero(rng.random(len(text)) < 0.15) for text in held_out]
    other = [
        "".join(
            "ACGT"["TGCA".index(x)] if i in set(here.tolist()) else x for i, x in enumerate(text)
        )
        for text, here in zip(held_out, at, strict=True)
    ]
    together = BaseMixtureTwoSided(CONTEXTS, hidden_share=0.15).fit_sequences(repeats[:-2])
    found, changed = (together.probabilities(texts, at) for texts in (held_out, other))
    assert all(np.array_equal(a, b) for a, b in zip(found, changed, strict=True))
    # The same bases hidden as N, by weights fitted on single hidden ones: a copy ends at each.
    letters_N = [
        "".join("N" if i in set(here.tolist()) else x for i, x in enumerate(text))
        for text, here in zip(held_out, at, strict=True)
    ]
    alone = BaseMixtureTwoSided(CONTEXTS).fit_sequences(repeats[:-2]).probabilities(letters_N, at)
    truth = [
        np.array(["ACGT".index(text[i]) for i in here])
        for text, here in zip(held_out, at, strict=True)
    ]
    costs = [
        np.mean([-np.log2(p[np.arange(len(t)), t]).mean() for p, t in zip(x, truth, strict=True)])
        for x in (found, alone)
    ]
    assert costs[0] < 0.8 * costs[1] < 1.6
