"""Modules with projections."""

import pytest
import torch

from dna_bigbird.attention.cores import BigBirdItc, Full
from dna_bigbird.attention.packing import Packing
from dna_bigbird.attention.patterns import bigbird_itc


def itc(**changes):
    torch.manual_seed(0)
    settings = {"block_size": 4, "num_random": 1, "plan": "uniform", "seed": 0}
    return BigBirdItc(12, 2, **{**settings, **changes}).double()


def tokens(batch, length, seed=1):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(batch, length, 12, generator=generator, dtype=torch.float64)


def test_full_core_equals_torch_multihead_attention():
    torch.manual_seed(0)
    core = Full(12, 2, block_size=4).double()
    peer = torch.nn.MultiheadAttention(12, 2, batch_first=True, dtype=torch.float64)
    with torch.no_grad():
        peer.in_proj_weight.copy_(core.qkv.weight)
        peer.in_proj_bias.copy_(core.qkv.bias)
        peer.out_proj.weight.copy_(core.output.weight)
        peer.out_proj.bias.copy_(core.output.bias)
    x = tokens(3, 22)
    mask = torch.arange(22) >= torch.tensor([[22], [15], [3]])
    expected, _ = peer(x, x, x, key_padding_mask=mask, need_weights=False)
    torch.testing.assert_close(core(x, mask), expected)


def test_weights_move_between_cores():
    sparse, full = itc(), Full(12, 2, block_size=4).double()
    full.load_state_dict(sparse.state_dict())
    x = tokens(2, 18)  # five blocks are covered with one random block
    torch.testing.assert_close(full(x), sparse(x))
    x = tokens(2, 40)
    assert (full(x) - sparse(x)).abs().max() > 1e-3


def test_backends_agree_and_layers_differ():
    x = tokens(2, 41)
    torch.testing.assert_close(itc()(x), itc(backend="dense")(x))
    assert not torch.allclose(itc(seed=0)(x), itc(seed=1)(x))
    assert not torch.allclose(itc(plan="original", seed=0)(x), itc(plan="original", seed=1)(x))


@pytest.mark.parametrize("backend", ["auto", "dense"])
@pytest.mark.parametrize("rotary_base", [None, 10000.0])
def test_packed_equals_one_call_a_sequence(backend, rotary_base):
    core = itc(backend=backend, rotary_base=rotary_base)
    x, lengths = tokens(6, 40), [40, 12, 24, 37, 9, 38]
    is_padding = torch.arange(40) >= torch.tensor(lengths)[:, None]
    packing = Packing.of(is_padding, core.block_size, None)
    assert [group[:3] for group in packing.groups()] == [
        (2, 12, True),
        (1, 24, False),
        (3, 40, True),
    ]
    packed = torch.cat(
        [x[row, :width] for row, width in ((1, 12), (4, 12), (2, 24), (0, 40), (3, 40), (5, 40))]
    )
    found = packing.unpack(core.packed(packed, packing), is_padding)
    for row, length in enumerate(lengths):
        torch.testing.assert_close(found[row, :length], core(x[row : row + 1, :length])[0])
        assert (found[row, length:] == 0).all()


@pytest.mark.parametrize("make", [itc, lambda **k: Full(12, 2, block_size=4, **k).double()])
def test_attention_dropout_only_in_training(make):
    core, x = make(dropout_p=0.4), tokens(1, 40)
    torch.manual_seed(1)
    outputs = core.train()(x.expand(500, -1, -1))
    plain = core.eval()(x)
    assert not torch.allclose(outputs[0], outputs[1])
    assert torch.equal(plain, core(x))
    core.dropout_p = 0.0
    assert torch.equal(core.train()(x), plain)
    # What is dropped is made up for: the mean over many draws stays.
    five_sigma = 5 * outputs.std(dim=0) / 500**0.5
    assert ((outputs.mean(dim=0) - plain[0]).abs() < five_sigma + 1e-12).all()


def test_without_bias_of_queries_keys_and_values():
    assert itc(qkv_bias=False).qkv.bias is None
    assert itc(qkv_bias=False).output.bias is not None
    assert Full(12, 2, block_size=4, qkv_bias=False).qkv.bias is None


def test_window_and_global_blocks_reach_the_pattern():
    pattern = itc(window_blocks=5, global_blocks="first_two").pattern(80)
    expected = bigbird_itc(20, 4, 1, 2, "uniform", 0, window_blocks=5, global_blocks="first_two")
    assert pattern is expected


def test_huggingface_has_another_pattern_in_training():
    core = itc(plan="huggingface", table_tokens=1000)
    for training in (True, False):
        expected = bigbird_itc(15, 4, 1, 2, "huggingface", 0, table_tokens=1000, training=training)
        assert core.train(training).pattern(57) is expected
    assert core.train().pattern(57) is not core.eval().pattern(57)


@pytest.mark.parametrize("length", [1, 7, 8, 40])
def test_same_function_in_training_and_evaluation(length):
    core, x = itc(), tokens(1, length)
    assert torch.equal(core.train()(x), core.eval()(x))
