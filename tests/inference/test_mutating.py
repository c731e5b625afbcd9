"""Mutagenesis against a scorer whose answer is known in closed form, and against score-variants' rules."""

import numpy as np
import pytest

from dna_bigbird.genome import Genome, reverse_complement
from dna_bigbird.genome.interval import Interval
from dna_bigbird.inference.substitutions import substitute

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
