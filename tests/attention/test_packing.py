"""Packed rows against padded batches, and the operator on them against `attend`."""

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st

from dna_bigbird.attention import attend
from dna_bigbird.attention.cores.block import attend_packed
from dna_bigbird.attention.packing import Packing
from dna_bigbird.attention.patterns.itc import PatternRule
from tests.attention.native.marks import needs_kernel

RULE = PatternRule(num_heads=2, block_size=16, plan="uniform", num_random=1, seed=7)


def batch(lengths, width=0):
    width = max(width, *lengths)
    return torch.arange(width) >= torch.tensor(lengths)[:, None]


lengths_and_width = st.tuples(
    st.lists(st.integers(0, 23), min_size=1, max_size=6).filter(any), st.integers(1, 30)
)


@given(lengths_and_width, st.integers(1, 9), st.booleans())
def test_unpacking_gives_back_what_was_packed(drawn, block_size, whole_batch):
    is_padding = batch(*drawn)
    B, T = is_padding.shape
    packing = Packing.of(is_padding, block_size, None, whole_batch)
    numbers = torch.arange(1, B * T + 1).view(B, T)
    packed = packing.pack(numbers)
    groups = packing.groups()
    assert [g.num_tokens for g in groups] == sorted({g.num_tokens for g in groups})
    assert all(g.num_tokens % block_size == 0 for g in groups)
    assert groups[-1].tokens.stop == len(packed) == len(packing.positions_P)
    real = packed
    if packing.is_padding_P is not None:
        real = packed[~packing.is_padding_P]
    assert torch.equal(real.sort().values, numbers[~is_padding])
    unpacked = packing.unpack(packed[:, None].float(), is_padding)[..., 0]
    assert torch.equal(unpacked, numbers.masked_fill(is_padding, 0).float())
    for group in groups:
        rows = packing.positions_P[group.tokens].view(group.num_sequences, group.num_tokens)
        assert (rows == torch.arange(group.num_tokens)).all()


@given(lengths_and_width, st.integers(1, 9))
def test_the_gradient_of_unpacking_is_that_of_indexing(drawn, block_size):
    is_padding = batch(*drawn)
    packing = Packing.of(is_padding, block_size, None)
    states = torch.randn(len(packing.positions_P), 3, dtype=torch.float64, requires_grad=True)
    weight = torch.randn(*is_padding.shape, 3, dtype=torch.float64)
    found = torch.autograd.grad(packing.unpack(states, is_padding), states, weight)[0]
    padded = torch.zeros(*is_padding.shape, 3, dtype=torch.float64)
    by_number = packing.unpack(torch.arange(1.0, len(states) + 1)[:, None], is_padding).long()[
        ..., 0
    ]
    padded = F.embedding(by_number, torch.cat([torch.zeros(1, 3), states]))
    expected = torch.autograd.grad(padded, states, weight * ~is_padding[..., None])[0]
    assert torch.equal(found, expected)


def test_too_long_for_the_model():
    with pytest.raises(ValueError, match="a sequence has 21 tokens, the model reads at most 20"):
        Packing.of(batch([21, 3]), 4, 20)


def test_moving_keeps_the_sizes_where_they_are():
    packing = Packing.of(batch([21, 3]), 4, None)
    moved = packing.to("meta")
    assert moved.sizes_G3.device.type == "cpu"
    assert {x.device.type for x in (moved.positions_P, moved.sources_P, moved.places_BT)} == {
        "meta"
    }


def problem(lengths, dtype=torch.float32):
    packing = Packing.of(batch(lengths), RULE.block_size, None)
    generator = torch.Generator().manual_seed(0)
    shape = (len(packing.positions_P), 4, 2, 16)
    q, k, v, weight = torch.randn(shape, generator=generator).to(dtype).unbind(1)
    return packing, [x.requires_grad_() for x in (q, k, v)], weight


@needs_kernel
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("lengths", [[96], [100, 50, 97, 3], [64, 64]], ids=str)
def test_the_operator_computes_what_attend_does_for_each_sequence(lengths, dtype):
    packing, tensors, weight = problem(lengths, dtype)
    out = attend_packed(*tensors, packing, RULE.text(), "native")
    found = torch.autograd.grad(out, tensors, weight)
    start = 0
    for group in packing.groups():
        for _ in range(group.num_sequences):
            own = slice(start, start + group.num_tokens)
            start = own.stop
            parts = [x.detach()[own].transpose(0, 1)[None].requires_grad_() for x in tensors]
            hidden = None if packing.is_padding_P is None else packing.is_padding_P[None, own]
            one = attend(*parts, RULE.pattern(group.num_tokens), hidden, backend="native")
            torch.testing.assert_close(out[own], one[0].transpose(0, 1), rtol=0, atol=0)
            expected = torch.autograd.grad(one, parts, weight[own].transpose(0, 1)[None])
            for whole, part in zip(found, expected, strict=True):
                torch.testing.assert_close(whole[own], part[0].transpose(0, 1))
    assert start == len(out)


@needs_kernel
def test_the_operator_keeps_the_promises_of_pytorch():
    """Fake results have the shape, strides and type of real ones; gradients are registered."""
    packing, (q, k, v), _ = problem([100, 50, 97, 3])
    arguments = (q, k, v, packing.sizes_G3, packing.is_padding_P, RULE.text(), "native")
    tests = ("test_schema", "test_autograd_registration", "test_faketensor")
    torch.library.opcheck(
        torch.ops.dna_bigbird.packed_attention.default, arguments, test_utils=tests
    )


@needs_kernel
def test_a_packing_of_another_batch():
    _, tensors, _ = problem([96])
    other = Packing.of(batch([40]), 16, None)
    with pytest.raises(ValueError, match=r"the packing is not for 96 tokens: \[\[1, 48, 1\]"):
        attend_packed(*tensors, other, RULE.text(), "native")
