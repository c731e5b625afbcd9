"""Splits by region and by groups."""

import numpy as np
import pytest

from dna_bigbird.core.errors import InputError
from dna_bigbird.genome import Genome, Interval
from dna_bigbird.labelled.splits import SplitConfig

CONFIG = SplitConfig(validation=["chr1:1,001-2,000"], test=["chr1:2001-3000", "chr2"])


@pytest.mark.parametrize(
    ("window", "split"),
    [
        (("chr1", 0, 1000), 0),
        (("chr1", 1, 1001), -1),
        (("chr1", 1000, 2000), 1),
        (("chr1", 1001, 2001), -1),
        (("chr1", 2000, 3000), 2),
        (("chr1", 2900, 3001), -1),
        (("chr1", 500, 3500), -1),
        (("chr1", 3000, 3100), 0),
        (("1", 1500, 1600), 1),
        (("chr2", -50, 10), 2),
        (("chr3", 1500, 1600), 0),
    ],
)
def test_borders(window, split):
    assert CONFIG.split_of(Interval(*window)) == split


def test_touching_regions_of_one_split_are_one_region():
    config = SplitConfig(test=["chr1:1-100", "chr1:101-200"])
    assert config.split_of(Interval("chr1", 50, 150)) == 2


def test_windows_of_different_splits_share_no_base():
    rng = np.random.default_rng(0)
    starts = rng.integers(0, 4000, 300)
    ends = starts + rng.integers(1, 500, 300)
    splits = CONFIG.splits_of("chr1", starts, ends)
    assert set(splits) == {-1, 0, 1, 2}
    for a in range(3):
        for b in range(a):
            left, right = splits == a, splits == b
            overlap = np.minimum.outer(ends[left], ends[right]) - np.maximum.outer(
                starts[left], starts[right]
            )
            assert overlap.max() <= 0


def test_contradictions_and_typing_errors(tmp_path):
    with pytest.raises(ValueError, match="validation and test regions on chromosome 1 overlap"):
        SplitConfig(validation=["chr1:1-100"], test=["1:100-200"])
    with pytest.raises(ValueError, match="validation and test regions on chromosome 8 overlap"):
        SplitConfig(validation=["chr8:5-6"], test=["chr8"])
    with pytest.raises(ValueError, match="'chr1:5' is not a region"):
        SplitConfig(test=["chr1:5"])
    (tmp_path / "toy.fa").write_text(f">chr1\n{'A' * 2999}\n>chr2\nA\n")
    genome = Genome(tmp_path / "toy.fa")
    with pytest.raises(InputError, match="split: region 'chr1:2001-3000' ends after chr1"):
        CONFIG.check_regions(genome)
    CONFIG.check_regions(genome, pieces=True)
    for pieces in (False, True):
        with pytest.raises(
            InputError, match=r"split: region 'chr3:?.*': chromosome 'chr3' is not in"
        ):
            SplitConfig(test=["chr3:1-9"]).check_regions(genome, pieces=pieces)


def test_rows_of_a_set_go_where_single_windows_go():
    rng = np.random.default_rng(1)
    windows = [
        Interval(f"chr{c}", int(s), int(s) + 90)
        for c, s in zip(rng.integers(1, 4, 200), rng.integers(0, 4000, 200), strict=True)
    ]
    assert CONFIG.split_of_rows(windows).tolist() == [CONFIG.split_of(w) for w in windows]
    assert CONFIG.split_of_rows([]).tolist() == []


def test_a_key_in_several_splits_stays_in_the_most_held_out_one():
    starts = {"train": 0, "validation": 1500, "test": 2500, "border": 1950}
    rows = [("train", "A"), ("validation", "A"), ("train", "B"), ("test", "B"), ("validation", "B")]
    rows += [("train", "C"), ("border", "C"), ("train", ""), ("test", ""), ("train", "C")]
    windows = [Interval("chr1", starts[where], starts[where] + 100) for where, _ in rows]
    found = CONFIG.split_of_rows(windows, [key for _, key in rows])
    assert found.tolist() == [-1, 1, -1, 2, -1, 0, -1, 0, 2, 0]


def test_each_row_is_tested_in_one_fold_and_validated_in_one():
    rng = np.random.default_rng(2)
    windows = [Interval("chr1", int(s), int(s) + 50) for s in rng.integers(0, 50_000, 300)]
    keys = [f"g{k}" for k in rng.integers(0, 200, 300)]
    found = np.array(
        [SplitConfig(folds=4, fold=i, seed=3).split_of_rows(windows, keys) for i in range(4)]
    )
    assert ((found == 2).sum(axis=0) == 1).all()
    assert ((found == 1).sum(axis=0) == 1).all()
    assert ((found == 0).sum(axis=0) == 2).all()
    for a in range(300):
        together = [b for b in range(a) if windows[a].overlap(windows[b]) or keys[a] == keys[b]]
        assert all((found[:, a] == found[:, b]).all() for b in together)


def test_settings_of_folds():
    config = SplitConfig(folds=5, fold=4, seed=7)
    assert config.as_options() == "--split.folds 5 --split.fold 4 --split.seed 7"
    assert "folds" not in CONFIG.as_options()
    with pytest.raises(ValueError, match="folds is 2; expected 3 or more"):
        SplitConfig(folds=2)
    with pytest.raises(ValueError, match="fold is 5; expected 0 to 4, there are 5 folds"):
        SplitConfig(folds=5, fold=5)
    with pytest.raises(ValueError, match="folds and regions exclude each other"):
        SplitConfig(folds=5, test=["chr8"])
    with pytest.raises(ValueError, match="fold and seed have a meaning with folds only"):
        SplitConfig(test=["chr8"], seed=1)
    with pytest.raises(ValueError, match="call split_of_rows"):
        config.split_of(Interval("chr1", 0, 10))
    with pytest.raises(InputError, match="in 1 group, too few for 5 folds; use fewer"):
        config.split_of_rows([Interval("chr1", 0, 10), Interval("chr1", 5, 15)])
