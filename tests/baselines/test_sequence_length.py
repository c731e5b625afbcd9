"""The baseline of the sequence length, against a loop over rows."""

import numpy as np
import pytest

from dna_bigbird.baselines.kmer import length_scores


def one_by_one(train_lengths, train_labels, lengths):
    """For each row the training rows whose length is the nearest, the shorter of two."""
    rows = []
    for length in lengths:
        distances = [(abs(x - length), x) for x in train_lengths]
        nearest = min(distances)[1]
        rows.append(train_labels[train_lengths == nearest].mean(axis=0))
    return np.array(rows)


@pytest.mark.parametrize("seed", range(5))
def test_lengths_are_looked_up_as_in_a_loop(seed):
    rng = np.random.default_rng(seed)
    train, test = rng.integers(1, 60, 40), rng.integers(1, 90, 70)
    labels = np.eye(3)[rng.integers(0, 3, 40)]
    assert length_scores(train, labels, test) == pytest.approx(one_by_one(train, labels, test))


def test_classes_of_other_lengths_follow_from_them():
    train = np.array([100, 100, 300, 300])
    labels = np.array([[1, 0], [1, 0], [0, 1], [0, 1]])
    assert length_scores(train, labels, np.array([90, 310])).tolist() == [[1, 0], [0, 1]]
