"""Plan 'huggingface' against what the installed library really reads, asked in two ways."""

import numpy as np
import pytest
import torch

from dna_bigbird.attention.patterns import bigbird_itc

pytest.importorskip("transformers", reason="the library to compare with is not installed")
from transformers import BigBirdConfig
from transformers.models.big_bird.modeling_big_bird import (
    BigBirdBlockSparseAttention,
    BigBirdModel,
)

LENGTHS = (768, 1024, 1536, 2048, 3072, 4096)


class TableReadyError(Exception):
    """The table of random blocks that the library has just drawn."""


def library_layer(heads, head_dim, block_size, num_random, layer, max_positions, training):
    config = BigBirdConfig(
        hidden_size=heads * head_dim,
        num_attention_heads=heads,
        block_size=block_size,
        num_random_blocks=num_random,
        max_position_embeddings=max_positions,
    )
    return BigBirdBlockSparseAttention(config, seed=layer).train(training)


def library_table(length, block_size, num_random, heads, layer, max_positions, training):
    """Let the library start a forward pass and stop it where its table is ready."""
    module = library_layer(heads, 1, block_size, num_random, layer, max_positions, training)

    def stop(from_mask, to_mask, table, *_):
        raise TableReadyError(table[0].numpy())

    module._create_rand_mask_from_inputs = stop
    try:
        module(torch.zeros(1, length, heads))
    except TableReadyError as ready:
        return ready.args[0]
    raise AssertionError("the library made no table")


def own(length, block_size, num_random, heads, layer, max_positions, training):
    return bigbird_itc(
        length // block_size, block_size, num_random, heads, "huggingface", layer,
        table_tokens=max_positions, training=training,
    )  # fmt: skip


@pytest.mark.parametrize("training", [True, False], ids=["training", "evaluation"])
@pytest.mark.parametrize("max_positions", [4096, 4100, 8192, 16384])
@pytest.mark.parametrize("block_size", [16, 32, 64, 128])
def test_table_of_random_blocks(block_size, max_positions, training):
    compared = 0
    for length in LENGTHS:
        for num_random, layer in [(3, 0), (3, 7), (2, 1), (1, 11)]:
            case = (length, block_size, num_random, 2, layer, max_positions, training)
            if length // block_size <= 5 + 2 * num_random:
                assert own(*case).covers_everything
                continue
            table = own(*case).key_blocks[:, 1:-1, 5:]
            assert np.array_equal(table, library_table(*case)), case
            compared += 1
    assert compared >= 12


@pytest.mark.parametrize("length", [1024, 3072])
def test_table_as_long_as_the_sequence(length):
    """Position table and sequence end together: the last block is then no candidate."""
    for layer in range(4):
        case = (length, 64, 3, 3, layer, length, True)
        assert np.array_equal(own(*case).key_blocks[:, 1:-1, 5:], library_table(*case))


def test_what_is_counted_twice_at_1024_tokens_depends_on_the_position_table():
    """Cut from 4096 tokens: the last block. Made for 1024: the window of the last two rows."""
    twice = own(1024, 64, 3, 12, 0, 4096, True).times() == 2
    assert twice[:, :, 15].any()
    assert not twice[:, :, :15].any()
    twice = own(1024, 64, 3, 12, 0, 1024, True).times() == 2
    assert twice[:, [13, 14]].any()
    assert not twice[:, :13].any()


def test_block_of_512_tokens_draws_from_the_whole_table():
    case = (4096, 512, 1, 4, 2, 4096, True)
    assert np.array_equal(own(*case).key_blocks[:, 1:-1, 5:], library_table(*case))


@pytest.mark.parametrize("training", [True, False], ids=["training", "evaluation"])
@pytest.mark.parametrize(
    ("length", "block_size", "num_random", "max_positions"),
    [(768, 64, 3, 4096), (1024, 64, 3, 4096), (1024, 64, 2, 1024), (1536, 128, 3, 2048),
     (2048, 128, 3, 4096), (800, 16, 1, 4096)],
)  # fmt: skip
def test_times_that_each_block_counts(length, block_size, num_random, max_positions, training):
    """With equal scores and block i's values the i-th unit vector, the output shows the counts."""
    blocks, heads = length // block_size, 2
    case = (heads, blocks, block_size, num_random, 5, max_positions, training)
    module = library_layer(*case)
    masks = BigBirdModel.create_masks_for_block_sparse_attn(torch.ones(1, length), block_size)
    with torch.no_grad():
        for projection in (module.query, module.key, module.value):
            projection.weight.zero_()
            projection.bias.zero_()
        module.value.weight.copy_(torch.eye(heads * blocks))
        hidden = torch.eye(blocks).repeat_interleave(block_size, 0).repeat(1, heads)
        names = ("from_blocked_mask", "band_mask", "from_mask", "to_mask")
        given = dict(zip(names, masks, strict=True))
        out, _ = module(hidden[None], to_blocked_mask=masks[0], **given)
    shares = out.view(blocks, block_size, heads, blocks).permute(2, 0, 1, 3)[:, :, 0].numpy()
    times = own(length, block_size, num_random, heads, 5, max_positions, training).times()
    np.testing.assert_allclose(shares, times / times.sum(-1, keepdims=True), rtol=0, atol=1e-6)


def test_evaluation_counts_block_0_again_for_every_random_slot():
    times = own(2048, 64, 3, 2, 0, 4096, False).times()
    assert (times[:, 1:-1, 0] == 4).all()
    assert times[:, 1:-1, 1:].max() == 1
    assert times[0, 5].sum() == 8


def test_2048_tokens_follow_plan_b_here_and_plan_a_in_the_published_code():
    random_blocks = own(2048, 64, 3, 1, 0, 4096, True).key_blocks[..., 5:]
    assert random_blocks.max() <= 9
    assert bigbird_itc(32, 64, 3, 1, "original", 0).key_blocks[..., 5:].max() > 9


def test_table_shorter_than_the_sequence():
    message = "table_tokens 1000 = 15 blocks of 64, the sequence has 16"
    for training in (True, False):
        with pytest.raises(ValueError, match=message):
            own(1024, 64, 3, 2, 0, 1000, training)
    own(960, 64, 3, 2, 0, 1000, True)
