"""From logits of windows to effects, with a scorer whose answer is known."""

import numpy as np
import pytest

from dna_bigbird.genome import Genome
from dna_bigbird.genome.variants import Variant
from dna_bigbird.prediction.compute import Compute, exact
from dna_bigbird.prediction.variants import effects as variant_effects
from dna_bigbird.prediction.variants.effects import shifts_of, site_effects
from dna_bigbird.prediction.variants.sites import Site


class Counting:
    """Label 0: A minus T in the window; label 1: a base of the window's middle."""

    label_names = ("balance", "middle")

    def __init__(self):
        self.groups = []

    def logits(self, groups):
        for group in groups:
            self.groups.append(group)
            yield np.array(
                [[w.count("A") - w.count("T"), "ACGTN".index(w[len(w) // 2])] for w in group], float
            )


@pytest.fixture
def genome(tmp_path):
    (tmp_path / "toy.fa").write_text(">chr1\nCCCCCGGGGGCCCCCGGGGG\n")
    return Genome(tmp_path / "toy.fa")


def site(pos, ref, alts, scored):
    return Site(Variant("chr1", pos, ".", ref, alts, line=pos), scored)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def test_effects_are_means_over_strands(genome):
    scorer = Counting()
    ((sites, effects),) = site_effects(
        scorer, genome, [site(7, "G", ("A", "<DEL>", "GTT"), (0, 2))], window_bp=8
    )
    assert [s.variant.pos for s in sites] == [7]
    # Forward A counts +1, its complement T -1: the log-odds cancel, so do the differences.
    np.testing.assert_allclose(effects["log_odds"][:, 0], [0, np.nan, 0])
    np.testing.assert_allclose(effects["diff"][:, 0], [0, np.nan, 0], atol=1e-7)
    np.testing.assert_allclose(effects["ref"][:, 0], [0.5, np.nan, 0.5])
    # The middle base: forward G (2) becomes A (0), reverse C (1) becomes T (3). The insertion is TT at
    # the border of two G: T (3) for G (2) on the forward strand, A (0) for C (1) on the other.
    np.testing.assert_allclose(effects["log_odds"][:, 1], [(-2 + 2) / 2, np.nan, (1 - 1) / 2])
    of_a = (sigmoid(0) - sigmoid(2) + sigmoid(3) - sigmoid(1)) / 2
    np.testing.assert_allclose(effects["diff"][0, 1], of_a, rtol=1e-6)
    np.testing.assert_allclose(effects["alt"][0, 1], (sigmoid(0) + sigmoid(3)) / 2, rtol=1e-6)


def test_one_strand(genome):
    scorer = Counting()
    ((_, effects),) = site_effects(
        scorer, genome, [site(7, "G", ("A",), (0,))], window_bp=8, strand="forward"
    )
    np.testing.assert_allclose(effects["log_odds"][0], [1, -2])
    assert [len(group) for group in scorer.groups] == [2]


def test_alleles_of_a_site_share_its_reference_windows(genome):
    scorer = Counting()
    list(site_effects(scorer, genome, [site(7, "G", ("A", "C", "T"), (0, 1, 2))], window_bp=8))
    assert [len(group) for group in scorer.groups] == [2 * (1 + 3)]


@pytest.mark.parametrize("alleles_at_once", [1, 2, 1000])
def test_order_and_rows_whatever_is_handed_on_at_once(genome, monkeypatch, alleles_at_once):
    monkeypatch.setattr(variant_effects, "FRAME_ALLELES", alleles_at_once)
    sites = [
        site(1, "C", (), ()),
        site(2, "C", ("<DEL>",), ()),
        site(3, "C", ("A", "*"), (0,)),
        site(4, "C", (), ()),
        site(5, "C", ("T",), (0,)),
        site(6, "G", ("*", "*"), ()),
    ]
    frames = list(site_effects(Counting(), genome, sites, window_bp=8, strand="forward"))
    assert [s for frame, _ in frames for s in frame] == sites
    for frame, effects in frames:
        assert len(effects["diff"]) == sum(len(s.variant.alts) for s in frame)
    found = np.concatenate([effects["log_odds"][:, 0] for _, effects in frames])
    np.testing.assert_array_equal(found, [np.nan, 1, np.nan, -1, np.nan, np.nan])


def test_nothing_to_score(genome):
    assert list(site_effects(Counting(), genome, [], window_bp=8)) == []


def test_precision_is_float32_unless_asked_for():
    assert exact(Compute()).precision == "32-true"
    assert exact(Compute(precision="bf16-mixed")).precision == "bf16-mixed"
    assert exact(Compute(batch_size=3)).batch_size == 3


SHIFTS = (0, 3, -3)


def padded_window(bases, start, length):
    wide = "N" * 40 + bases + "N" * 40
    return wide[start + 40 : start + 40 + length]


@pytest.mark.parametrize("window_bp", [8, 9])
def test_shifted_windows_are_those_of_an_edited_chromosome(genome, window_bp):
    """A begins as many bases earlier on each strand, in the direction of that strand."""
    bases, position = "CCCCCGGGGGCCCCCGGGGG", 6
    changed = bases[:position] + "A" + bases[position + 1 :]
    pairs = str.maketrans("ACGTN", "TGCAN")
    expected = []
    for shift in SHIFTS:
        start = position - window_bp // 2 - shift
        other = len(bases) - 1 - position - window_bp // 2 - shift
        expected += [padded_window(text, start, window_bp) for text in (bases, changed)]
        mirrored = [text.translate(pairs)[::-1] for text in (bases, changed)]
        expected += [padded_window(text, other, window_bp) for text in mirrored]
    scorer = Counting()
    ((_, effects),) = site_effects(
        scorer, genome, [site(7, "G", ("A",), (0,))], window_bp=window_bp, shifts=SHIFTS
    )
    assert scorer.groups == [expected]
    values = [w.count("A") - w.count("T") for w in expected]
    by_hand = np.mean([values[i + 1] - values[i] for i in range(0, len(values), 2)])
    np.testing.assert_allclose(effects["log_odds"][0, 0], by_hand)


def test_shifts_are_on_both_sides_of_the_centre():
    assert shifts_of(1, 16) == (0,)
    assert shifts_of(4, 5) == (0, 5, -5, 10)
