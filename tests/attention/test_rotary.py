"""Rotary positions against the formula in complex numbers and the Hugging Face library."""

import cmath

import pytest
import torch

from dna_bigbird.attention.cores import Full
from dna_bigbird.attention.cores.projected import rotate as rotate_packed
from dna_bigbird.attention.cores.projected import turns


def heads(length, dim, seed=1, dtype=torch.float64):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(2, length, 3, dim, generator=generator, dtype=dtype)


def rotate(heads_BTHD, base):
    """Turn the heads of sequences that all begin at position 0."""
    B, T, _, D = heads_BTHD.shape
    positions = torch.arange(T).repeat(B)
    packed = heads_BTHD.flatten(0, 1)
    return rotate_packed(packed, turns(positions, D, base, packed.dtype)).view_as(heads_BTHD)


@pytest.mark.parametrize("base", [10000.0, 500.0])
def test_the_formula_number_by_number(base):
    x = heads(7, 6)
    found = rotate(x, base)
    for sequence in range(2):
        for position in range(7):
            for head in range(3):
                vector = x[sequence, position, head].tolist()
                for i in range(3):
                    angle = position * base ** (-2 * i / 6)
                    pair = complex(*vector[2 * i : 2 * i + 2]) * cmath.exp(1j * angle)
                    turned = complex(*found[sequence, position, head, 2 * i : 2 * i + 2].tolist())
                    assert abs(turned - pair) < 1e-12


def test_equals_the_rotary_positions_of_gpt_j():
    gptj = pytest.importorskip("transformers.models.gptj.modeling_gptj")
    x = heads(300, 16, dtype=torch.float32)
    sin, cos = gptj.create_sinusoidal_positions(300, 16).split(8, dim=-1)
    expected = gptj.apply_rotary_pos_emb(x, sin[None], cos[None])
    torch.testing.assert_close(rotate(x, 10000.0), expected, rtol=0, atol=2e-4)


@pytest.mark.parametrize("shift", [1, 64, 3000])
def test_products_depend_on_the_distance_alone(shift):
    """Equal queries and keys at all positions, so that a product tells their positions."""
    query, key = heads(1, 16, 1)[:1].expand(1, 3100, 3, 16), heads(1, 16, 2)[:1]
    query, key = rotate(query, 10000.0)[0], rotate(key.expand(1, 3100, 3, 16), 10000.0)[0]
    for p, r in ((5, 0), (0, 40), (99, 90)):
        product = (query[p] * key[r]).sum(-1)
        shifted = (query[p + shift] * key[r + shift]).sum(-1)
        torch.testing.assert_close(shifted, product, rtol=0, atol=1e-10)
        assert ((query[p + shift] * key[r]).sum(-1) - product).abs().min() > 1e-4


def test_float32_is_as_exact_far_away_as_at_the_start():
    x = heads(1, 32, dtype=torch.float32).expand(2, 70_000, 3, 32)
    error = (rotate(x, 10000.0).double() - rotate(x.double(), 10000.0)).abs()
    assert error[:, -1000:].max() < 1e-6
    assert rotate(x[:, :9].bfloat16(), 10000.0).dtype == torch.bfloat16


def test_the_first_token_and_lengths_are_kept():
    x = heads(50, 8)
    turned = rotate(x, 10000.0)
    assert torch.equal(turned[:, 0], x[:, 0])
    torch.testing.assert_close(turned.norm(dim=-1), x.norm(dim=-1))
    assert torch.equal(rotate(x[:, :20], 10000.0), turned[:, :20])


def test_heads_of_an_odd_size():
    with pytest.raises(ValueError, match="rotary positions need heads of an even size, got 5"):
        Full(10, 2, block_size=4, rotary_base=10000.0)


def test_compiled_code_turns_by_the_same_angles():
    x = heads(50, 8, dtype=torch.float32)
    compiled = torch.compile(rotate, backend="aot_eager", fullgraph=True)
    torch.testing.assert_close(compiled(x, 123.0), rotate(x, 123.0))
