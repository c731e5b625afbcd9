"""benchmarks/etc_hidden_text.py: how hidden sentences are put into groups, and how shares are counted."""

import numpy as np


def test_groups_are_full_and_have_each_pack_once(script):
    text = script("etc_hidden_text")
    rng = np.random.default_rng(0)
    packs = rng.integers(6, size=200).tolist()
    groups = text.in_groups(rng.permutation(len(packs)), packs, size=4)
    assert len(groups) > 30
    for group in groups:
        assert len({packs[i] for i in group}) == len(group) == 4
    used = [i for group in groups for i in group]
    assert len(set(used)) == len(used)


def test_no_group_without_enough_packs(script):
    assert script("etc_hidden_text").in_groups(range(9), [0, 1, 2] * 3, size=4) == []


def test_a_share_counts_gaps_and_draws_groups(script):
    share = script("etc_hidden_text").share
    assert share([np.array([1, 1]), np.array([1, 1, 1])]) == "1.000 [1.000, 1.000]"
    middle, low, high = (
        share([np.ones(8), np.zeros(8)] * 50).translate(str.maketrans("[,]", "   ")).split()
    )
    # 100 groups that are all right or all wrong: the standard error of a share is 0.05.
    assert middle == "0.500"
    assert abs(float(low) - 0.402) < 0.02
    assert abs(float(high) - 0.598) < 0.02
