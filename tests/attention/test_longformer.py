"""Longformer in linear form against loops over every pair, and faults that must be seen."""

import copy
from dataclasses import replace
from unittest.mock import PropertyMock, patch

import pytest
import torch

from dna_bigbird.attention.backends import longformer_band, longformer_windows
from dna_bigbird.attention.backends.longformer_band import Cut
from dna_bigbird.attention.cores.longformer import (
    LONGFORMER_BACKENDS,
    attend_global,
    attend_windows,
)
from dna_bigbird.attention.patterns.longformer import LongformerPattern
from dna_bigbird.attention.patterns.longformer_layout import LongformerLayout
from tests.attention.longformer_cases import (
    answers,
    excess,
    form,
    in_float32,
    random_case,
    small_cut,
    truth,
)
from tests.attention.test_etc import LargestTensor

CASES, MORE_CASES, STEP = 320, 3000, 40
FORMS = pytest.mark.parametrize("dilated", [False, True], ids=["windows", "dilated"])


def results(case, seed, dtype):
    return answers(case, form("blocked", small_cut(seed)), dtype)


def check(seed, dilated):
    case = random_case(seed, dilated=dilated)
    dense = answers(case, form("dense"), case.dtype)
    assert excess(case, truth(case), dense, results(case, seed, case.dtype)) <= 1, case.what


@FORMS
@pytest.mark.parametrize("first", range(0, CASES, STEP))
def test_output_and_gradients_round_about_as_well_as_dense(first, dilated):
    for seed in range(first, first + STEP):
        check(seed, dilated)


@pytest.mark.slow
@FORMS
@pytest.mark.parametrize("first", range(CASES, MORE_CASES, STEP))
def test_more_problems(first, dilated):
    for seed in range(first, first + STEP):
        check(seed, dilated)


@FORMS
def test_both_forms_equal_the_loops_in_float64(dilated):
    for seed in range(40):
        case = random_case(seed, dilated=dilated)
        exact = truth(case)
        dense = answers(case, form("dense"), torch.float64)
        for other in (dense, results(case, seed, torch.float64)):
            for right, near in zip(exact, other, strict=True):
                torch.testing.assert_close(near, right, rtol=0, atol=1e-12, msg=case.what)


def double_global_key(case, cut):
    """A global key in the window counts twice for ordinary tokens."""
    layout = copy.copy(case.layout)
    layout.__dict__["no_window"] = layout.is_padding

    def attend(heads, pattern, right):
        if not right.num_global:
            return form("blocked", cut)(heads, pattern, right)
        out = longformer_windows.blocked(*heads[:3], pattern, layout, 0.0, cut)
        out = out.masked_fill(right.is_global[:, None, :, None], 0.0)
        of_global = longformer_windows.blocked_global(*heads[3:], pattern, right)
        return right.with_global(out, of_global)

    return case, attend


def dilation_off_by_one(case, cut):
    """The last head has a larger dilation."""
    every = [case.pattern.dilation(h) for h in range(case.heads.q.shape[1])]
    wrong = replace(case.pattern, dilations=(*every[:-1], every[-1] + 1))
    return case, lambda heads, _, layout: form("blocked", cut)(heads, wrong, layout)


def window_off_by_one(case, cut):
    """The window is one key wider."""
    wrong = replace(case.pattern, window=case.pattern.window + 1)
    return case, lambda heads, _, layout: form("blocked", cut)(heads, wrong, layout)


def local_query_of_global_token(case, cut):
    """Queries of global tokens come from the ordinary projections."""

    def attend(heads, pattern, layout):
        wrong = heads._replace(q_global=layout.gathered(heads.q))
        return form("blocked", cut)(wrong, pattern, layout)

    return case, attend


def local_keys_of_global_token(case, cut):
    """Global tokens read keys of the ordinary projections."""

    def attend(heads, pattern, layout):
        return form("blocked", cut)(heads._replace(k_global=heads.k), pattern, layout)

    return case, attend


def causal_window_leaks(case, cut):
    """The window has one key to the right."""
    case = replace(case, pattern=replace(case.pattern, is_causal=True))

    def attend(*inputs):
        with patch.object(LongformerPattern, "furthest_right", PropertyMock(return_value=1)):
            return form("blocked", cut)(*inputs)

    return case, attend


def causal_global_key_leaks(case, cut):
    """A global key is read by the token before it."""
    case = replace(case, pattern=replace(case.pattern, is_causal=True))
    windows = longformer_windows._windows

    def leaking(*inputs):
        right = windows(*inputs)
        return right._replace(first_readers=right.first_readers - 1)

    def attend(*inputs):
        with patch.object(longformer_windows, "_windows", leaking):
            return form("blocked", cut)(*inputs)

    return case, attend


def causal_global_query_leaks(case, cut):
    """A global token reads all tokens."""
    case = replace(case, pattern=replace(case.pattern, is_causal=True))
    hidden = LongformerLayout.hidden_from_global

    def attend(*inputs):
        with patch.object(
            LongformerLayout, "hidden_from_global", lambda layout, _: hidden(layout, False)
        ):
            return form("blocked", cut)(*inputs)

    return case, attend


@pytest.mark.parametrize(
    ("fault", "least"),
    [
        (double_global_key, 12),
        (dilation_off_by_one, 12),
        (window_off_by_one, 12),
        (local_query_of_global_token, 12),
        (local_keys_of_global_token, 12),
        (causal_window_leaks, 12),
        (causal_global_key_leaks, 12),
        (causal_global_query_leaks, 12),
    ],
)
def test_a_planted_fault_is_caught(fault, least):
    """The same measure in float32, wherever the fault changes the function at all."""
    caught = 0
    for seed in range(5000, 5040):
        plain = in_float32(random_case(seed, dilated=bool(seed % 2)))
        case, attend = fault(plain, small_cut(seed))
        exact = truth(case)
        wrong = answers(case, attend, torch.float64)
        if all(torch.allclose(a, b, rtol=0, atol=1e-3) for a, b in zip(exact, wrong, strict=True)):
            continue
        dense = answers(case, form("dense"), torch.float32)
        measured = excess(case, exact, dense, answers(case, attend, torch.float32))
        assert measured > 1, f"{fault.__name__}: {case.what}"
        caught += 1
    assert caught >= least


@pytest.mark.parametrize("dilations", [(1,), (2, 3)])
def test_backward_draws_the_dropout_masks_of_forward(dilations):
    """Numerical gradients of the function with the masks of one seed; several units and blocks."""
    pattern = LongformerPattern(2, dilations)
    is_global = torch.zeros(1, 9, dtype=torch.bool)
    is_global[0, [2, 7]] = True
    layout = LongformerLayout(torch.zeros_like(is_global), is_global)
    generator = torch.Generator().manual_seed(0)
    tensors = [torch.randn(1, 2, 9, 2, generator=generator, dtype=torch.float64) for _ in range(3)]

    def attend(*qkv):
        torch.manual_seed(3)
        return longformer_windows.blocked(*qkv, pattern, layout, 0.4, Cut(1, 4))

    assert not torch.equal(attend(*tensors), longformer_windows.blocked(*tensors, pattern, layout))
    assert torch.autograd.gradcheck(attend, [x.requires_grad_() for x in tensors])


def with_gradients(case, backend):
    """Output and gradients of what commands call, by name of the tensor."""
    heads = type(case.heads)(*(x.to(case.dtype).requires_grad_() for x in case.heads))
    out = attend_windows(*heads[:3], case.pattern, case.layout, backend=backend)
    if case.layout.num_global:
        of_global = attend_global(*heads[3:], case.pattern, case.layout, backend=backend)
        out = case.layout.with_global(out, of_global)
    gradients = torch.autograd.grad(out.sum(), heads, allow_unused=True, materialize_grads=True)
    return {"out": out, **dict(zip(heads._fields, gradients, strict=True))}


@pytest.mark.parametrize("backend", ["dense", "blocked"])
def test_hidden_memory_has_no_influence(backend):
    """Not-a-number as padding: outputs and gradients stay, those of padding are exactly zero."""
    padded = 0
    for seed in range(40):
        case = in_float32(random_case(seed, dilated=bool(seed % 2)))
        hidden = case.layout.is_padding[:, None, :, None]
        of_tokens = [name for name in case.heads._fields if name != "q_global"]
        noise = {n: getattr(case.heads, n).masked_fill(hidden, torch.nan) for n in of_tokens}
        before = with_gradients(case, backend)
        after = with_gradients(replace(case, heads=case.heads._replace(**noise)), backend)
        for name, plain in before.items():
            assert torch.equal(plain, after[name]), (name, case.what)
            assert name == "q_global" or (plain.masked_select(hidden) == 0).all()
        padded += int(case.layout.has_padding and bool(case.layout.num_global))
    assert padded > 5


def largest(backend, num_tokens, dilations):
    """Elements of the largest tensor, forward and backward, with two heads of 2."""
    is_global = torch.zeros(1, num_tokens, dtype=torch.bool)
    is_global[0, 3] = True
    layout = LongformerLayout(torch.zeros_like(is_global), is_global)
    tensors = [torch.ones(1, 2, num_tokens, 2, requires_grad=True) for _ in range(3)]
    q_global = torch.ones(1, 2, 1, 2, requires_grad=True)
    pattern = LongformerPattern(3, dilations)
    windows, of_global = LONGFORMER_BACKENDS[backend]
    with LargestTensor() as mode:
        out = windows(*tensors, pattern, layout)
        out = layout.with_global(out, of_global(q_global, *tensors[1:], pattern, layout))
        torch.autograd.grad(out.sum(), tensors)
    return mode.elements


@pytest.mark.parametrize("dilations", [(1,), (1, 4)])
def test_no_tensor_is_quadratic_in_the_length(dilations):
    with patch.dict(longformer_band.MOST_SCORES, cpu=5000):
        sizes = [largest("blocked", n, dilations) for n in (2048, 4096)]
    assert sizes[1] <= 5 * 4096 + 10_000, sizes
    assert largest("dense", 300, dilations) >= 300 * 300  # the measure sees one
