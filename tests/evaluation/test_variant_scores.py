"""Average precision by chromosome compared with scikit-learn, draw by draw, and the level of chance with a loop."""

import itertools

import numpy as np
import pytest
from sklearn.metrics import average_precision_score, roc_auc_score

from dna_bigbird.metrics.bootstrap import draw_units, percentile_interval
from dna_bigbird.metrics.variant_scores import (
    AUPRC,
    AUROC,
    BY_CHROMOSOME,
    centred_interval,
    chance_auprc,
    chromosome_weighted_auprc,
    measure_variants,
)


def table(seed, *, ties):
    """Variants of three chromosomes in groups of one positive and some negatives, with scores."""
    rng = np.random.default_rng(seed)
    groups = np.repeat(np.arange(24), 5)
    labels = (np.arange(len(groups)) % 5 == 0).astype(int)
    chromosomes = np.array(["1", "2", "X"])[rng.integers(0, 3, 24)][groups]
    scores = rng.normal(size=len(groups)) + labels
    return labels, scores.round(0 if ties else 9), chromosomes, groups


def weighted_by_hand(labels, scores, chromosomes):
    """The authors' definition with scikit-learn; rows may be repeated."""
    total = weight = 0.0
    for name in set(chromosomes):
        here = chromosomes == name
        if 0 < labels[here].sum() < here.sum():
            total += here.sum() * average_precision_score(labels[here], scores[here])
            weight += here.sum()
    return total / weight


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("seed", range(5))
def test_it_equals_scikit_learn_on_random_tables(seed, ties):
    labels, scores, chromosomes, _ = table(seed, ties=ties)
    value = chromosome_weighted_auprc(labels, scores, chromosomes)
    assert value == pytest.approx([weighted_by_hand(labels, scores, chromosomes)], abs=1e-12)


@pytest.mark.parametrize("ties", [False, True])
def test_every_draw_equals_scikit_learn_on_the_drawn_rows(ties):
    labels, scores, chromosomes, groups = table(7, ties=ties)
    draws = draw_units(len(labels), replicates=6, seed=3, units=groups)
    measured = measure_variants(labels, scores, chromosomes, draws)
    for number in range(len(draws)):
        rows = np.repeat(np.arange(len(labels)), draws.times[draws.units, number])
        drawn = labels[rows], scores[rows]
        expected = weighted_by_hand(*drawn, chromosomes[rows])
        assert measured[BY_CHROMOSOME].drawn[number] == pytest.approx(expected, abs=1e-12)
        assert measured[AUPRC].drawn[number] == pytest.approx(average_precision_score(*drawn))
        assert measured[AUROC].drawn[number] == pytest.approx(roc_auc_score(*drawn))
    assert measured[AUPRC].value == pytest.approx(average_precision_score(labels, scores))


def test_a_chromosome_of_one_class_has_no_weight():
    """Chromosome a: the positive is second of two, 1/2. Chromosomes b and c have one class."""
    value = chromosome_weighted_auprc([0, 1, 0, 0, 1], [2, 1, 9, 9, 0], list("aabbc"))
    assert value.tolist() == [0.5]
    assert np.isnan(chromosome_weighted_auprc([0, 1], [1, 2], ["a", "b"])).all()


@pytest.mark.parametrize(("count", "positives"), [(2, 1), (6, 1), (6, 3), (7, 6)])
def test_chance_is_the_mean_over_all_orders(count, positives):
    values = [
        average_precision_score([int(i in chosen) for i in range(count)], -np.arange(count))
        for chosen in itertools.combinations(range(count), positives)
    ]
    labels = [1] * positives + [0] * (count - positives)
    assert chance_auprc(labels) == pytest.approx(np.mean(values))


def test_chance_by_chromosome_is_weighted_by_variants():
    labels = [1, 0, 1, 0, 0, 0, 0]
    expected = (2 * chance_auprc([1, 0]) + 4 * chance_auprc([1, 0, 0, 0])) / 6
    assert chance_auprc(labels, list("aabbbbc")) == pytest.approx(expected)
    assert np.isnan(chance_auprc([1, 1], ["a", "b"]))


def test_the_centred_interval_covers_the_level_of_chance():
    """Tables as TraitGym's: 20 chromosomes, 17 positives each with nine negatives, scores of no use."""
    groups = np.repeat(np.arange(340), 10)
    labels, chromosomes = (np.arange(3400) % 10 == 0).astype(int), (groups % 20).astype(str)
    draws = draw_units(3400, replicates=100, seed=0, units=groups)
    chance, covers = chance_auprc(labels, chromosomes), {"plain": 0, "centred": 0}
    for seed in range(30):
        scores = np.random.default_rng(seed).random(3400)
        value = chromosome_weighted_auprc(labels, scores, chromosomes)[0]
        drawn = chromosome_weighted_auprc(labels, scores, chromosomes, draws)
        for name, (low, high) in (
            ("plain", percentile_interval(drawn)),
            ("centred", centred_interval(value, drawn)),
        ):
            covers[name] += low <= chance <= high
    assert covers["centred"] == 29
    assert covers["plain"] == 20


def test_a_centred_interval_stays_within_its_bounds_and_leaves_out_undefined_draws():
    assert centred_interval(0.95, [0.5, 0.6, 0.7, np.nan], most=1.0)[1] == 1.0
    assert np.isnan(centred_interval(0.5, [np.nan, np.nan])).all()
