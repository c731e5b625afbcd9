"""benchmarks/attribution.py: which bases are compared, and the scores."""

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

TRUTH = """kind\tname\tstart\tend
site\tCTCF\t860000\t860010
site\tCTCF\t1000\t1010
decoy\tYY1\t860020\t860030
gene\tX\t860040\t860090
"""


@pytest.fixture
def results(tmp_path):
    (tmp_path / "inputs/demo").mkdir(parents=True)
    (tmp_path / "inputs/demo/truth.tsv").write_text(TRUTH)
    return tmp_path


def test_only_sites_of_the_held_out_part_are_asked_for(script, results):
    sites, covered = script("attribution").planted(results)
    assert sites == {"CTCF": [(860000, 860010)]}
    assert np.flatnonzero(covered).tolist() == [
        *range(1000, 1010),
        *range(860000, 860010),
        *range(860020, 860030),
    ]


def test_bases_of_other_sites_are_left_out(script, results):
    attribution = script("attribution")
    sites, covered = attribution.planted(results)
    is_used, own = attribution.chosen_bases(860005 - attribution.SIDE, sites["CTCF"], covered)
    first = 860005 - attribution.SIDE
    assert (np.flatnonzero(own) + first).tolist() == list(range(860000, 860010))
    assert (np.flatnonzero(~is_used) + first).tolist() == list(range(860020, 860030))


def test_the_score_is_of_all_bases_of_all_sites(script):
    attribution = script("attribution")
    rng = np.random.default_rng(0)
    groups = [(np.arange(20) < 5, rng.normal(size=20) + 2 * (np.arange(20) < 5)) for _ in range(6)]
    own, values = (np.concatenate([group[i] for group in groups]) for i in (0, 1))
    assert attribution.auroc_of(groups) == roc_auc_score(own, values)
    low, high = attribution.interval_of_auroc(groups, seed=0)
    assert low < attribution.auroc_of(groups) < high
    assert (
        attribution.interval_of_auroc(groups[:1], seed=0) == (attribution.auroc_of(groups[:1]),) * 2
    )


def test_means_are_of_neighbours(script):
    values = np.zeros(11)
    values[5] = 5.0
    assert script("attribution").smoothed(values).tolist() == [0.0] * 3 + [1.0] * 5 + [0.0] * 3
