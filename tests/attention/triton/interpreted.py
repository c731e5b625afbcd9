"""The Triton kernels in Triton's interpreter; `test_triton.py` runs this file in a child process.

    TRITON_INTERPRET=1 python -m pytest tests/attention/triton/interpreted.py

The variable has to be set before Triton is imported, which PyTorch does for torch.compile. float32
only: the interpreter multiplies the bits of bfloat16 as integers.
"""

import itertools
from dataclasses import replace

import numpy as np
import pytest
import torch

from dna_bigbird.attention import attend
from dna_bigbird.attention.kernels.triton.operator import tuning, two_way_lists
from dna_bigbird.attention.patterns import BlockPattern, bigbird_itc, full
from tests.attention.cases import Sizes, excess, random_case, results, without_one_block

SIZES = Sizes((8, 20, 32, 64, 80, 96, 128), (5, 16, 32, 48, 64))
CPU = torch.device("cpu")


def steps(case):
    """Products of two tiles in one pass, some 5 ms each in the interpreter."""
    S = case.pattern.block_size
    tiles = -(-S // tuning(case.dtype, case.q.shape[3], S)[0])
    blocks = two_way_lists(case.pattern, CPU)[1][0]
    return case.q.shape[0] * len(blocks) * tiles**2


def small_cases(first_seed, most_steps):
    """Yield the problems of the exactness suite of three or more blocks that take few steps.

    They are in float32, from a seed on.
    """
    for seed in itertools.count(first_seed):
        case = replace(random_case(seed, SIZES), dtype=torch.float32)
        if case.pattern.num_blocks > 2 and steps(case) <= most_steps:
            yield case


def assert_exact(first_seed, most_steps, number):
    for case in itertools.islice(small_cases(first_seed, most_steps), number):
        assert excess(case, results(case, "triton", case.dtype)) <= 1, case.what


@pytest.mark.parametrize("first_seed", range(0, 3000, 1000))
def test_ten_problems(first_seed):
    assert_exact(first_seed, 40, 10)


@pytest.mark.slow
@pytest.mark.parametrize("first_seed", range(10000, 22000, 1000))
def test_twenty_five_larger_problems(first_seed):
    assert_exact(first_seed, 200, 25)


def test_a_lost_block_is_caught():
    caught = 0
    for seed, case in enumerate(small_cases(5000, 60)):
        broken = without_one_block(case, seed)
        if broken is None or case.mask is not None:
            continue
        assert excess(case, results(broken, "triton", case.dtype)) > 1, case.what
        caught += 1
        if caught == 3:
            break


def inputs(batch, heads, tokens, dim, seed=0):
    """Return q, k, v and the output's gradient."""
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(4, batch, heads, tokens, dim, generator=generator).unbind()


def with_gradients(q, k, v, weight, pattern, mask=None):
    q, k, v = (x.detach().requires_grad_() for x in (q, k, v))
    out = attend(q, k, v, pattern, mask, backend="triton")
    return [out.detach(), *torch.autograd.grad(out, (q, k, v), weight)]


LOCAL = BlockPattern(np.array([[[0, 1], [0, 1], [1, 2]]] * 2), np.zeros(3, bool), 16)


def test_queries_without_keys_give_zero_and_finite_gradients():
    mask = torch.zeros(1, 48, dtype=torch.bool)
    mask[:, :32] = True  # query blocks 0 and 1 read nothing else
    out, dq, dk, dv = with_gradients(*inputs(1, 2, 48, 16), LOCAL, mask)
    assert all((x[:, :, :32] == 0).all() for x in (out, dq, dk, dv))
    assert all(x.isfinite().all() and x[:, :, 32:].any() for x in (out, dq, dk, dv))
    nothing = with_gradients(*inputs(1, 2, 48, 16), LOCAL, torch.ones_like(mask))
    assert all(torch.equal(x, torch.zeros_like(x)) for x in nothing)


def test_the_content_of_a_hidden_key_has_no_influence():
    q, k, v, weight = inputs(2, 2, 48, 16)
    hidden = torch.rand(2, 48, generator=torch.Generator().manual_seed(1)) < 0.4
    expected = with_gradients(q, k, v, weight, LOCAL, hidden)
    k, v = (x.masked_fill(hidden[:, None, :, None], float("nan")) for x in (k, v))
    for rows, others in zip(with_gradients(q, k, v, weight, LOCAL, hidden), expected, strict=True):
        assert torch.equal(rows, others)


def test_any_layout_gives_the_same_bits():
    """Views of a packed projection; a last dimension with a step; a gradient of one number."""
    q, k, v, _ = inputs(2, 2, 45, 16)
    weight = torch.ones(()).expand(q.shape)
    expected = with_gradients(q, k, v, weight.contiguous(), LOCAL)
    packed = torch.stack([x.transpose(1, 2) for x in (q, k, v)], dim=2)
    of_projection = [x.transpose(1, 2) for x in packed.unbind(2)]
    stepping = [torch.stack([x, x], dim=-1)[..., 0] for x in (q, k, v)]
    for views in (of_projection, stepping):
        for one, other in zip(with_gradients(*views, weight, LOCAL), expected, strict=True):
            assert torch.equal(one, other)
    assert expected[0].transpose(1, 2).is_contiguous()


def test_scores_of_hundreds_neither_overflow_nor_vanish():
    q, k, v, weight = inputs(1, 2, 48, 32)
    exact = results_of_dense(q * 300, k, v, weight)
    for one, other in zip(with_gradients(q * 300, k, v, weight, LOCAL), exact, strict=True):
        assert (one - other).abs().max() < 2e-4 * other.abs().max()


def results_of_dense(*tensors):
    q, k, v, weight = (x.double().requires_grad_() for x in tensors)
    out = attend(q, k, v, LOCAL, backend="dense")
    return [out.detach(), *torch.autograd.grad(out, (q, k, v), weight)]


def test_an_empty_batch():
    assert [x.shape for x in with_gradients(*inputs(0, 2, 48, 16), LOCAL)] == [(0, 2, 48, 16)] * 4


@pytest.mark.parametrize("hidden", [None, (torch.arange(45) > 40).expand(1, 45).contiguous()])
def test_pytorchs_own_checks_of_an_operator(hidden):
    """Schema, autograd registration, the fake implementation, tracing with dynamic shapes."""
    tensors = [x.requires_grad_() for x in inputs(1, 2, 45, 16)[:3]]
    lists = two_way_lists(LOCAL, CPU)
    operator = torch.ops.dna_bigbird.triton_block_attention
    torch.library.opcheck(operator, (*tensors, *lists, hidden, 16))


def test_compiles_into_one_graph():
    *tensors, weight = inputs(1, 2, 64, 16)

    def block(q, k, v, pattern):
        return attend(2 * q, k, v, pattern, backend="triton").sin()

    compiled = torch.compile(block, fullgraph=True, backend="aot_eager")
    for pattern in (full(4, 16, 2), bigbird_itc(4, 16, 1, 2, window_blocks=1)):
        gradients = []
        for call in (block, compiled):
            leaves = [x.detach().requires_grad_() for x in tensors]
            out = call(*leaves, pattern)
            gradients.append([out, *torch.autograd.grad(out, leaves, weight)])
        for one, other in zip(*gradients, strict=True):
            torch.testing.assert_close(one, other)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"k": torch.zeros(1, 2, 44, 16)},
            "q, k, v must have one shape, all float32 or all bfloat16",
        ),
        ({"q": torch.zeros(1, 2, 45, 16).half()}, "q, k, v must have one shape, all float32"),
        ({"block_size": 32}, r"of \(2, 2, 3\) directions, heads and blocks, expected \(2, 2, 2\)"),
        ({"hidden": torch.zeros(1, 46, dtype=torch.bool)}, r"hidden must be contiguous \(1, 45\)"),
    ],
)
def test_the_operator_raises_for_mismatches(change, message):
    q, k, v, _ = inputs(1, 2, 45, 16)
    starts, blocks, order = two_way_lists(LOCAL, CPU)
    options = {"q": q, "k": k, "v": v, "starts": starts, "blocks": blocks, "order": order}
    options |= {"hidden": None, "block_size": 16}
    with pytest.raises(ValueError, match=message):
        torch.ops.dna_bigbird.triton_block_attention(**(options | change))
