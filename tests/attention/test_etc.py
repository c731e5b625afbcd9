"""BigBird-ETC in blocks against loops over every query; labels and masks drawn by hand."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from dna_bigbird.attention.attend_etc import ETC_BACKENDS, attend_global, attend_long
from dna_bigbird.attention.backends.etc_loops import GLOBAL, LONG
from dna_bigbird.attention.patterns.etc_layout import EtcLayout
from tests.attention.etc_cases import answers, excess, random_case, truth

CASES, MORE_CASES, FAULTS = 320, 3000, 40


def blocked(case, seed):
    """The blocked form with chunks of a size that the seed draws."""
    size = int(np.random.default_rng(seed + 10**6).integers(1, 24))
    return lambda *inputs: ETC_BACKENDS["blocked"][case.stream](*inputs, 0.0, size)


def check(seed):
    case = random_case(seed)
    exact = truth(case)
    rounded = answers(case, ETC_BACKENDS["dense"][case.stream], case.dtype)
    tested = answers(case, blocked(case, seed), case.dtype)
    assert excess(exact, rounded, tested, case) <= 1, case.what
    for right, dense in zip(exact, rounded, strict=True):  # the measure is worth something
        assert (right - dense).abs().max() < (1e-4 if case.dtype == torch.float32 else 0.6)


@pytest.mark.parametrize("first", range(0, CASES, 40))
def test_output_and_gradients_round_about_as_well_as_dense(first):
    for seed in range(first, first + 40):
        check(seed)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(CASES, MORE_CASES, 40))
def test_more_problems(first):
    for seed in range(first, first + 40):
        check(seed)


@pytest.mark.parametrize("first", range(0, 60, 20))
def test_both_forms_equal_the_loops_in_float64(first):
    for seed in range(first, first + 20):
        case = random_case(seed)
        exact = truth(case)
        for attend in (ETC_BACKENDS["dense"][case.stream], blocked(case, seed)):
            for right, tested in zip(exact, answers(case, attend, torch.float64), strict=True):
                torch.testing.assert_close(tested, right, rtol=0, atol=1e-12, msg=case.what)
