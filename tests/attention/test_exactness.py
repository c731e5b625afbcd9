"""Every backend that has gradients against the dense oracle, on random problems of every kind."""

import pytest

from tests.attention.cases import (
    ANY,
    MULTIPLES_OF_16,
    excess,
    random_case,
    results,
    without_one_block,
)
from tests.attention.native.marks import needs_kernel

BACKENDS = (
    pytest.param("gather", ANY, id="gather"),
    pytest.param("cpu_chunks", ANY, id="cpu_chunks"),
    pytest.param("native", MULTIPLES_OF_16, id="native", marks=needs_kernel),
)
CASES, USUAL = 300, 100
SEEDS = [
    pytest.param(first, marks=[pytest.mark.slow] if first >= USUAL else [])
    for first in range(0, CASES, 25)
]


@pytest.mark.parametrize(("backend", "sizes"), BACKENDS)
@pytest.mark.parametrize("first", SEEDS)
def test_output_and_gradients_round_about_as_well_as_dense(backend, sizes, first):
    for seed in range(first, first + 25):
        case = random_case(seed, sizes)
        found = results(case, backend, case.dtype)
        assert excess(case, found) <= 1, f"{backend}, {case.what}"


@pytest.mark.parametrize(("backend", "sizes"), BACKENDS)
def test_one_lost_block_is_caught(backend, sizes):
    """The same measure, when the backend is given a pattern that lacks one block of one row."""
    caught = 0
    for seed in range(1000, 1200):
        case = random_case(seed, sizes)
        broken = without_one_block(case, seed)
        if broken is None or case.mask is not None:
            continue
        assert excess(case, results(broken, backend, case.dtype)) > 1, f"{backend}, {case.what}"
        caught += 1
    assert caught > 25
