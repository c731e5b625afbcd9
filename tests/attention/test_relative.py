"""Causal windows with relative positions against a loop over diagonals, and faults that must be seen."""

import itertools
from functools import partial
from unittest.mock import patch

import pytest
import torch

from dna_bigbird.attention.backends import longformer_band, longformer_windows
from dna_bigbird.attention.backends.longformer_band import Cut
from dna_bigbird.attention.cores.relative_longformer import attend_relative, window_rows
from dna_bigbird.attention.patterns.longformer import LongformerPattern
from tests.attention.longformer_diagonals import attend_by_diagonals
from tests.attention.relative_cases import answers, random_case
from tests.attention.test_etc import LargestTensor

CASES, MORE_CASES, STEP = 160, 3000, 40
NAMES = ("out", "q", "k", "v", "content_bias", "position_bias", "table")


def test_rows_of_the_table_are_as_many_as_the_longest_window_has_keys():
    pattern = LongformerPattern(window=8, dilations=(1, 2), is_causal=True)
    assert [window_rows(pattern, num_tokens) for num_tokens in (6, 9, 20)] == [6, 9, 9]


def check(seed):
    """In float64 to the last digits; in the case's type about as exact as the loop in that type.

    Eight epsilons of the largest value are allowed in addition: a query that reads one key alone has gradients
    of exactly zero, as differences of products, and gradients of biases are sums over all tokens.
    """
    case = random_case(seed)
    exact = answers(case, attend_by_diagonals, torch.float64)
    near = answers(case, partial(attend_relative, cut=case.cut), torch.float64)
    for name, right, other in zip(NAMES, exact, near, strict=True):
        torch.testing.assert_close(other, right, rtol=0, atol=1e-11, msg=f"{name}: {case.what}")
    plain = answers(case, attend_by_diagonals, case.dtype)
    rounded = answers(case, partial(attend_relative, cut=case.cut), case.dtype)
    largest = max(x.abs().max() for x in (*exact, *case.tensors, case.weight))
    epsilon = torch.finfo(case.dtype).eps
    for name, right, loop, tested in zip(NAMES, exact, plain, rounded, strict=True):
        allowed = 8 * ((loop - right).abs().max() + epsilon * largest)
        assert (tested - right).abs().max() <= allowed, f"{name}: {case.what}"


@pytest.mark.parametrize("first", range(0, CASES, STEP))
def test_output_and_all_gradients_equal_the_loop(first):
    for seed in range(first, first + STEP):
        check(seed)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(CASES, MORE_CASES, STEP))
def test_more_problems(first):
    for seed in range(first, first + STEP):
        check(seed)


def one_step_further(q, k, v, u, w, table, pattern, cut):
    """The vector of distance m + 1 for the key m steps to the left."""
    return attend_relative(q, k, v, u, w, table.roll(-1, dims=1), pattern, cut=cut)


def biases_exchanged(q, k, v, u, w, table, pattern, cut):
    return attend_relative(q, k, v, w, u, table, pattern, cut=cut)


def keys_from_right_to_left(q, k, v, u, w, table, pattern, cut):
    """The rows of the table are not turned around."""

    def unturned(positions, dilation, num_keys):
        each = longformer_windows._for_each_residue(positions.table[:, :, :num_keys], dilation)
        q = longformer_windows._by_residue(positions.q, dilation)
        return longformer_windows.Positions(q, each)

    with patch.object(longformer_windows, "_positions_by_residue", unturned):
        return attend_relative(q, k, v, u, w, table, pattern, cut=cut)


def no_scale_of_positions(q, k, v, u, w, table, pattern, cut):
    return attend_relative(q, k, v, u, w, table * q.shape[-1] ** 0.5, pattern, cut=cut)


@pytest.mark.parametrize(
    "fault", [one_step_further, biases_exchanged, keys_from_right_to_left, no_scale_of_positions]
)
def test_a_planted_fault_is_caught(fault):
    """By the measure of float64, in every problem of more than a few tokens."""
    tested = 0
    for seed in range(5000, 5030):
        case = random_case(seed)
        if case.tensors[0].shape[2] < 5:
            continue
        exact = answers(case, attend_by_diagonals, torch.float64)
        wrong = answers(case, partial(fault, cut=case.cut), torch.float64)
        assert (exact[0] - wrong[0]).abs().max() > 1e-3, case.what
        tested += 1
    assert tested > 20


@pytest.mark.parametrize("dilations", [(1,), (1, 3)])
def test_backward_draws_the_dropout_masks_of_forward(dilations):
    """Numerical gradients of the function with the masks of one seed; several units and blocks."""
    pattern = LongformerPattern(3, dilations, is_causal=True)
    generator = torch.Generator().manual_seed(0)
    shapes = [(1, 2, 7, 2)] * 3 + [(2, 2)] * 2 + [(2, 4, 2)]
    tensors = [torch.randn(shape, generator=generator, dtype=torch.float64) for shape in shapes]

    def attend(*inputs):
        torch.manual_seed(3)
        return attend_relative(*inputs, pattern, 0.4, Cut(1, 4))

    assert not torch.equal(attend(*tensors), attend_relative(*tensors, pattern))
    assert torch.autograd.gradcheck(attend, [x.requires_grad_() for x in tensors])


@pytest.mark.parametrize("dilations", [(1,), (1, 4)])
def test_no_tensor_is_quadratic_in_the_length(dilations):
    """Elements of the largest tensor, forward and backward, with two heads of 2."""
    pattern = LongformerPattern(3, dilations, is_causal=True)
    sizes = []
    for length in (2048, 4096):
        shapes = [(1, 2, length, 2)] * 3 + [(2, 2)] * 2 + [(2, 4, 2)]
        tensors = [torch.ones(shape, requires_grad=True) for shape in shapes]
        with patch.dict(longformer_band.MOST_SCORES, cpu=5000), LargestTensor() as mode:
            out = attend_relative(*tensors, pattern)
            torch.autograd.grad(out.sum(), tensors)
        sizes.append(mode.elements)
    assert sizes[1] <= 5 * 4096 + 10_000, sizes


def test_a_window_longer_than_the_sequence_reads_no_more_rows():
    """Rows of distances that do not exist have a gradient of exactly zero, whatever they contain."""
    pattern = LongformerPattern(50, is_causal=True)
    heads = torch.randn(3, 1, 1, 20, 4, generator=torch.Generator().manual_seed(0))
    table = torch.full((1, 51, 4), torch.nan)
    table[:, :20] = 0.5
    table.requires_grad_()
    out = attend_relative(*heads, *torch.zeros(2, 1, 4), table, pattern)
    (gradient,) = torch.autograd.grad(out.sum(), table)
    assert out.isfinite().all()
    assert (gradient[:, 20:] == 0).all()


def test_no_later_token_is_read():
    for dilations, cut in itertools.product([(1,), (2, 3)], [Cut(1, 4), Cut(2, 64)]):
        pattern = LongformerPattern(5, dilations, is_causal=True)
        q, k, v = torch.randn(3, 1, 2, 30, 4, generator=torch.Generator().manual_seed(0))
        rest = (*torch.ones(2, 2, 4), torch.ones(2, 6, 4))
        before = attend_relative(q, k, v, *rest, pattern, cut=cut)
        k[:, :, 17:] += 1
        v[:, :, 17:] += 1
        after = attend_relative(q, k, v, *rest, pattern, cut=cut)
        assert torch.equal(before[:, :, :17], after[:, :, :17])
        assert not torch.equal(before[:, :, 17], after[:, :, 17])


def test_inputs_that_do_not_fit():
    causal, q = LongformerPattern(3, is_causal=True), torch.zeros(1, 2, 8, 4)
    biases, table = torch.zeros(2, 2, 4), torch.zeros(2, 4, 4)
    with pytest.raises(ValueError, match="need a causal pattern"):
        attend_relative(q, q, q, *biases, table, LongformerPattern(3))
    with pytest.raises(ValueError, match=r"content_bias must be \(2, 4\), got \(3, 4\)"):
        attend_relative(q, q, q, torch.zeros(3, 4), biases[1], table, causal)
    with pytest.raises(ValueError, match="at least 4 rows, got 3"):
        attend_relative(q, q, q, *biases, table[:, :3], causal)
    with pytest.raises(ValueError, match="dropout_p must be at least 0 and below 1, got 1"):
        attend_relative(q, q, q, *biases, table, causal, 1.0)
