"""Ranking of variants with a known effect: small cases counted by hand."""

import numpy as np
import pytest

from dna_bigbird.metrics.variant_scores import KnownVariants, rank_variants

EFFECTS = np.array(["break", "break", "none", "none", "create", "none"])
OWN = np.array([[1, 0], [0, 1], [1, 0], [0, 0], [0, 1], [1, 1]], dtype=bool)
LOG_ODDS = np.array([[-2.0, 0.1], [3.0, -0.5], [0.2, -0.9], [1.5, 0.0], [0.0, 4.0], [-0.6, 0.4]])
KNOWN = KnownVariants(EFFECTS, OWN, np.arange(6))


def test_areas_counted_by_hand():
    """Largest changes: broken 2, 3; neutral 0.9, 1.5, 0.6; created 4.

    Down in an own label: broken 2, 0.5; neutral with a label -0.2 and 0.6, so 3 of 4 pairs are in
    order. Up: created 4; neutral 0.2 and 0.4.
    """
    found = rank_variants(KNOWN, {"model": LOG_ODDS}, replicates=50)["model"]
    assert found["auroc_break"] == 1
    assert found["auroc_create"] == 1
    assert found["auroc_break_own_label"] == pytest.approx(3 / 4)
    assert found["auroc_create_own_label"] == 1
    assert found["n_break"] == 5
    assert found["n_break_own_label"] == 4
    assert found["n_create"] == 4
    assert found["n_create_positive"] == 1
    assert found["auroc_break_own_label_low"] <= 3 / 4 <= found["auroc_break_own_label_high"]


def test_the_gain_over_itself_is_nothing():
    found = rank_variants(KNOWN, {"model": LOG_ODDS, "again": LOG_ODDS}, replicates=50)["model"]
    gains = [value for key, value in found.items() if "gain_over_again" in key]
    assert len(gains) == 12
    assert set(gains) == {0.0}


def test_a_control_without_labels_answers_the_first_question_only():
    sources = {"model": LOG_ODDS, "gc": np.array([[1.0], [1], [0], [1], [0], [0]])}
    found = rank_variants(KNOWN, sources, without_labels=["gc"], replicates=50)
    assert found["gc"]["auroc_break"] == pytest.approx((2 * (1 + 0.5 + 1)) / 6)
    assert "auroc_break_own_label" not in found["gc"]
    assert "auroc_break_own_label_gain_over_gc" not in found["model"]


def test_every_source_is_compared_with_kmers_on_the_same_draws():
    other = LOG_ODDS[::-1].copy()
    sources = {"model": LOG_ODDS, "other": other, "kmer": other}
    found = rank_variants(KNOWN, sources, replicates=50)
    assert found["other"]["auroc_break"] == found["kmer"]["auroc_break"]
    assert found["other"]["auroc_break_gain_over_kmer_high"] == 0
    assert not any("gain" in key for key in found["kmer"])
    gain = found["model"]["auroc_break"] - found["kmer"]["auroc_break"]
    assert found["model"]["auroc_break_gain_over_kmer"] == gain


def test_a_score_without_labels_has_no_own_label_next_to_a_model_of_one_label():
    known = KnownVariants(EFFECTS, OWN[:, :1], np.arange(len(EFFECTS)))
    sources = {"model": LOG_ODDS[:, :1], "gc": LOG_ODDS[:, 1:2]}
    found = rank_variants(known, sources, without_labels=["gc"], replicates=50)
    assert "auroc_break_own_label" in found["model"]
    assert "auroc_break_own_label" not in found["gc"]


def test_without_created_sites_their_area_is_not_defined():
    kept = EFFECTS != "create"
    known = KnownVariants(EFFECTS[kept], OWN[kept], np.arange(5))
    found = rank_variants(known, {"model": LOG_ODDS[kept]}, replicates=50)["model"]
    assert np.isnan(found["auroc_create"])
    assert found["n_create_positive"] == 0
