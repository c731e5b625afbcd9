"""Mutagenesis against a scorer whose answer is known in closed form, and against score-variants' rules."""

import numpy as np
import pytest

from dna_bigbird.genome import Genome, reverse_complement
from dna_bigbird.genome.interval import Interval
from dna_bigbird.prediction.mutagenesis import substitute

MOTIF = "TGACTCA"
PLACE = 40
"""0-based start of the planted motif."""


class Matcher:
    """Two labels: how many bases agree with the motif at its best place on this strand; always 0."""

    label_names = ("motif", "nothing")

    def logits(self, groups):
        for group in groups:
            yield np.array([[best_match(text), 0.0] for text in group])


def best_match(text: str) -> float:
    width = len(MOTIF)
    return max(
        float(sum(a == b for a, b in zip(text[i : i + width], MOTIF, strict=True)))
        for i in range(len(text) - width + 1)
    )


@pytest.fixture
def toy(tmp_path):
    """The motif in a run of G, which agrees with it at one base."""
    bases = "G" * PLACE + MOTIF + "G" * 40
    path = tmp_path / "toy.fa"
    path.write_text(f">toy\n{bases}\n")
    return Genome(path)


def mutated(genome, start, end, **options):
    region = Interval(next(iter(genome.lengths)), start, end)
    return substitute(Matcher(), genome, region, window_bp=21, **options)


def test_a_planted_motif_gives_its_matrix(toy):
    """Every base of the motif counts 1 logit: any substitution takes it, those beside it nothing."""
    found = mutated(toy, PLACE - 3, PLACE + len(MOTIF) + 3, strand="forward")
    expected = np.zeros((len(MOTIF) + 6, 4))
    for i, base in enumerate(MOTIF):
        expected[3 + i] = [0.0 if letter == base else -1.0 for letter in "ACGT"]
    assert found.reference == "GGG" + MOTIF + "GGG"
    np.testing.assert_array_equal(found.log_odds[:, :, 0], expected)
    np.testing.assert_array_equal(found.log_odds[:, :, 1], 0)
    whole, less = 1 / (1 + np.exp(-7.0)), 1 / (1 + np.exp(-6.0))
    np.testing.assert_allclose(found.diff[:, :, 0], expected * (whole - less), rtol=1e-4)


def test_the_other_strand_shows_the_mirrored_matrix(toy, tmp_path):
    """Base p of one genome is base L - 1 - p of the other, and A there is T here."""
    forward = mutated(toy, 30, 57)
    bases = toy.fetch(Interval("toy", 0, toy.lengths["toy"]))
    path = tmp_path / "mirror.fa"
    path.write_text(f">mirror\n{reverse_complement(bases)}\n")
    mirror = mutated(Genome(path), len(bases) - 57, len(bases) - 30)
    assert mirror.reference == reverse_complement(forward.reference)
    np.testing.assert_array_equal(mirror.log_odds, forward.log_odds[::-1, ::-1])
    assert np.abs(forward.log_odds).max() > 0


def test_an_unknown_base_has_no_effects(tmp_path):
    path = tmp_path / "gap.fa"
    path.write_text(f">gap\n{'G' * 20}{MOTIF}NN{'G' * 20}\n")
    found = mutated(Genome(path), 24, 31)
    assert found.reference == "TCANNGG"
    assert np.isnan(found.diff[3:5]).all()
    assert np.isfinite(found.diff[[0, 1, 2, 5, 6]]).all()


def test_one_window_gives_the_weights_of_its_places(toy):
    """Logits are a sum of weights for each place and base, so an effect is the difference of two weights."""
    weights = np.random.default_rng(0).normal(size=(30, 4))

    class Places:
        label_names = ("places",)

        def logits(self, groups):
            for group in groups:
                rows = [["ACGT".index(base) for base in text] for text in group]
                yield weights[np.arange(30), rows].sum(axis=1, keepdims=True)

    window, region = Interval("toy", 25, 55), Interval("toy", 38, 50)
    codes = ["ACGT".index(base) for base in toy.fetch(region)]
    options = {"window_bp": window.length, "within": window}
    forward = substitute(Places(), toy, region, strand="forward", **options)
    both = substitute(Places(), toy, region, **options)
    places = np.arange(region.start, region.end) - window.start
    read = weights[places]
    complement = weights[29 - places, ::-1]
    expected = [x - x[np.arange(12), codes][:, None] for x in (read, (read + complement) / 2)]
    np.testing.assert_allclose(forward.log_odds[:, :, 0], expected[0], atol=1e-6)
    np.testing.assert_allclose(both.log_odds[:, :, 0], expected[1], atol=1e-6)
