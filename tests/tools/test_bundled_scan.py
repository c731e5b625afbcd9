"""The scan behind the false calls per kb of the bundled models' cards."""

import numpy as np
import pytest

from tools.bundled_scores import CALLS_PER_KB, SCAN_STRIDE_BP, _Stretch


def stretch(values, far=None, starts=None):
    """Windows side by side, if not told otherwise, all far from start sites."""
    count = len(values)
    starts = np.arange(count) * SCAN_STRIDE_BP if starts is None else np.array(starts)
    far = np.ones(count, bool) if far is None else np.array(far)
    return _Stretch(starts, np.array(values, float), far)


@pytest.mark.parametrize(
    ("values", "more", "calls"),
    [
        ([0.9, 0.1, 0.9, 0.9, 0.1, 0.9], {}, 3),
        ([0.9, 0.9, 0.9], {"starts": [0, 100, 300]}, 2),
        ([0.9, 0.9, 0.1], {"far": [False, True, True]}, 1),
        ([0.1, 0.2], {}, 0),
    ],
    ids=["runs", "a window left out", "near a site", "none"],
)
def test_neighbours_are_one_call(values, more, calls):
    assert stretch(values, **more).false_calls(0.5) == calls


def test_the_threshold_is_the_lowest_that_allows_so_many_calls():
    rng = np.random.default_rng(0)
    windows = stretch(rng.random(2000))  # 200 kb
    allowed = round(CALLS_PER_KB * windows.kb)
    threshold = windows.threshold()
    assert windows.false_calls(threshold) <= allowed
    below = np.sort(windows.values[windows.values < threshold])[-1]
    assert windows.false_calls(below) > allowed
