"""The pattern: drawings by hand, published test vectors, statistics of the uniform plan."""

import numpy as np
import pytest

from dna_bigbird.attention import patterns
from dna_bigbird.attention.patterns import BlockPattern, bigbird_itc, draw, full, itc
from dna_bigbird.attention.patterns.original import original_random_blocks

UNIFORM_16_HEAD_1 = [[3, 8, 10], [6, 9, 13], [9, 10, 13], [1, 8, 12], [2, 7, 12]]


def test_window_and_global_blocks_without_random_ones():
    """Window of three blocks; first and last block global."""
    pattern = bigbird_itc(6, block_size=64, num_random=0, num_heads=1)
    assert (
        draw(pattern, head=0)
        == """\
######
###..#
####.#
#.####
#..###
######"""
    )


def test_window_does_not_wrap():
    times = bigbird_itc(9, 16, 0, 1).times()[0]
    assert times[1].tolist() == [1, 1, 1, 0, 0, 0, 0, 0, 1]
    assert times[7].tolist() == [1, 0, 0, 0, 0, 0, 1, 1, 1]


@pytest.mark.parametrize("num_random", [0, 1, 3])
@pytest.mark.parametrize("num_blocks", range(1, 14))
def test_every_block_once_in_the_right_number(num_blocks, num_random):
    """Counted by hand: {0, i-1, i, i+1, last} and num_random others, or all there are."""
    times = bigbird_itc(num_blocks, 8, num_random, 2, seed=4).times()
    assert times.max() == 1
    for row in range(num_blocks):
        fixed = {0, num_blocks - 1} | {row - 1, row, row + 1} & set(range(num_blocks))
        if row in (0, num_blocks - 1):
            fixed = set(range(num_blocks))
        for head in range(2):
            read = set(np.flatnonzero(times[head, row]).tolist())
            assert fixed <= read
            assert len(read) == min(len(fixed) + num_random, num_blocks)


def test_short_sequences_are_covered_without_a_fall_back():
    """With r = 3 rows 1 and n-2 see 4 + 3 blocks: seven blocks are covered, eight are not."""
    assert bigbird_itc(7, 16, 3, 2).covers_everything
    assert not bigbird_itc(8, 16, 3, 2).covers_everything
    assert (bigbird_itc(7, 16, 3, 2).times() == 1).all()


def test_uniform_is_a_pure_function_of_its_arguments():
    first = bigbird_itc(40, 16, 3, 4, "uniform", 5).key_blocks.copy()
    itc._build.cache_clear()
    np.random.seed(1)  # the global generator must not matter
    assert np.array_equal(bigbird_itc(40, 16, 3, 4, "uniform", 5).key_blocks, first)
    assert not np.array_equal(bigbird_itc(40, 16, 3, 4, "uniform", 6).key_blocks, first)
    assert not np.array_equal(first[0], first[1])
    # More heads leave the first ones alone.
    assert np.array_equal(bigbird_itc(40, 16, 3, 8, "uniform", 5).key_blocks[:4], first)


def test_uniform_plan_never_changes():
    """Stored weights rely on it: this table was written down once."""
    random_blocks = bigbird_itc(16, 64, 3, 2, "uniform", 0).key_blocks[1, 1:6, 5:]
    assert random_blocks.tolist() == UNIFORM_16_HEAD_1


def test_uniform_plan_reaches_every_free_block_equally_often():
    """Over many draws each of the n - 5 free blocks of a row is chosen with r / (n - 5)."""
    num_blocks, num_random, draws = 20, 3, 3000
    chosen = np.zeros((num_blocks, num_blocks))
    for seed in range(draws // 100):
        chosen += bigbird_itc(num_blocks, 16, num_random, 100, "uniform", seed).times().sum(axis=0)
    for row in range(2, num_blocks - 2):
        free = [b for b in range(1, num_blocks - 1) if abs(b - row) > 1]
        share = num_random / len(free)
        five_sigma = 5 * np.sqrt(draws * share * (1 - share))
        assert np.abs(chosen[row, free] - draws * share).max() < five_sigma
        assert (np.delete(chosen[row], free) == draws).all()


def test_uniform_pairs_are_drawn_independently():
    """Without replacement every set is equally likely, not only every block."""
    row = bigbird_itc(10, 16, 2, 4000, "uniform", 3).key_blocks[:, 4, 5:]
    pairs, times = np.unique(row, axis=0, return_counts=True)
    assert len(pairs) == 10  # five free blocks, two drawn
    assert np.abs(times - 400).max() < 5 * np.sqrt(400 * 0.9)


def test_pattern_of_a_long_sequence_is_small():
    pattern = bigbird_itc(4096, 64, 3, 2)
    assert pattern.key_blocks.size == 2 * 4096 * 8


@pytest.mark.parametrize(
    ("head", "rows", "blocks"),
    [
        (0, range(1, 6), [[9, 14, 7], [9, 6, 7], [10, 5, 14], [6, 8, 12], [2, 13, 1]]),
        (0, range(60, 63), [[15, 12, 14], [6, 2, 7], [6, 12, 5]]),
        (1, range(1, 4), [[6, 11, 10], [8, 4, 12], [12, 11, 10]]),
    ],
)
def test_plan_a_equals_the_published_code(head, rows, blocks):
    """Specification §1.2: 4096 tokens, layer 0."""
    table = bigbird_itc(64, 64, 3, 12, "original", 0).key_blocks[head, list(rows), 5:]
    assert table.tolist() == blocks


def test_plan_b_equals_the_published_code():
    """Specification §1.2: 1536 tokens, layer 0, one head."""
    table = bigbird_itc(24, 64, 3, 1, "original", 0).key_blocks[0, 1:4, 5:]
    assert table.tolist() == [[4, 6, 7], [9, 5, 4], [6, 7, 9]]


def test_plan_b_at_8192_tokens_draws_from_blocks_1_to_9():
    drawn = bigbird_itc(128, 64, 3, 12, "original", 2).key_blocks[:, 1:-1, 5:]
    assert set(np.unique(drawn).tolist()) == set(range(1, 10))


@pytest.mark.parametrize("block_size", [16, 32, 64, 128])
def test_plan_a_candidates(block_size):
    """Random blocks come from the first 1024 tokens and never repeat the window or each other."""
    num_blocks = 4096 // block_size
    times = bigbird_itc(num_blocks, block_size, 3, 4, "original", 1).times()
    assert times.max() == 1
    drawn = original_random_blocks(num_blocks, block_size, 3, 4, 1)
    assert drawn.min() == 1
    assert drawn.max() == 1024 // block_size - 1


def test_at_1024_tokens_the_last_block_is_drawn_again_435_times():
    """Specification §1.2: 435 of 6048 slots over 12 layers and 12 heads."""
    twice = sum(
        (bigbird_itc(16, 64, 3, 12, "original", layer).times() == 2).sum() for layer in range(12)
    )
    assert twice == 435
    assert "2" in draw(bigbird_itc(16, 64, 3, 12, "original", 0), head=0)
    for num_blocks in (32, 48, 64):
        assert bigbird_itc(num_blocks, 64, 3, 12, "original", 0).times().max() == 1


def test_original_plan_falls_back_to_full_attention_up_to_704_tokens():
    assert bigbird_itc(11, 64, 3, 2, "original", 0).covers_everything
    assert not bigbird_itc(12, 64, 3, 2, "original", 0).covers_everything


def test_original_plan_says_when_it_has_too_few_blocks():
    with pytest.raises(
        ValueError, match="12 blocks to choose from in block row 2, num_random is 13"
    ):
        bigbird_itc(64, 64, 13, 1, "original", 0)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            (8, 64, 3, 2, "hugging"),
            "plan must be one of uniform, original, huggingface, got 'hugging'",
        ),
        ((0, 64, 3, 2), "num_blocks 0"),
        ((8, 64, -1, 2), "num_random -1"),
        ((8, 64, 3, 2, "uniform", -4), "seed -4"),
    ],
)
def test_wrong_arguments(arguments, message):
    with pytest.raises(ValueError, match=message):
        patterns.bigbird_itc(*arguments)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ([[[-1], [0], [3]]], "key blocks must be -1 … 2"),
        ([[[-1], [-1], [2]]], "query block 1 reads"),
        ([[[0], [1], [2]]], "query block 0 reads"),
        (
            [[[-1, -1], [0, 1], [2, -1]], [[-1, -1], [-1, -1], [2, -1]]],
            r"query block 1 reads \[2, 0\] blocks in the heads .* the others at least one",
        ),
    ],
)
def test_impossible_tables_are_refused(table, message):
    with pytest.raises(ValueError, match=message):
        BlockPattern(np.array(table), np.array([True, False, False]), 4)


def test_tables_cannot_be_changed():
    with pytest.raises(ValueError, match="read-only"):
        bigbird_itc(20, 4, 1, 1).key_blocks[0, 1, 0] = 3


def test_full_pattern():
    assert draw(full(3, 4, 2), head=1) == "###\n###\n###"
