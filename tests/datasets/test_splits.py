"""Region-wise splits."""

import numpy as np
import pytest

from dna_bigbird.datasets.splits import SplitConfig
from dna_bigbird.errors import InputError
from dna_bigbird.genome import Genome, Interval

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
    with pytest.raises(ValueError, match="'chr1:5' is no region"):
        SplitConfig(test=["chr1:5"])
    (tmp_path / "toy.fa").write_text(">chr1\nACGT\n")
    with pytest.raises(InputError, match="split: region 'chr2': chromosome 'chr2' is not in toy"):
        CONFIG.check_chromosomes(Genome(tmp_path / "toy.fa"))
