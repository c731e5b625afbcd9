"""Published plans with the first two blocks global: drawings by hand, and an oracle of loops."""

import numpy as np
import pytest
import torch

from dna_bigbird.attention.backends.sdpa import lists
from dna_bigbird.attention.patterns import bigbird_itc, draw, itc
from tests.attention.cases import Case, excess, results
from tests.attention.native.marks import needs_kernel

LENGTHS = (768, 1024, 1536, 2048, 3072, 4096, 8192)
PLANS = [("original", False), ("huggingface", True), ("huggingface", False)]
LAST_ROW = [[0, 1, 14, 15, 4, 11, 12], [0, 1, 14, 15, 3, 10, 11], [0, 1, 14, 15, 4, 8, 9]]
"""What the last block reads in three heads: 1,024 tokens, layer 5."""


def options(num_blocks, plan, training=False, **changes):
    given = {
        "num_blocks": num_blocks, "block_size": 64, "num_random": 3, "num_heads": 3, "plan": plan,
        "seed": 5, "table_tokens": 8192, "training": training,
    }  # fmt: skip
    return given | changes


def published_table(given):
    """The random blocks of rows 1 … n-2, out of the pattern with the published global blocks."""
    return bigbird_itc(**given).key_blocks[:, 1:-1, 5:].tolist()


def moved(given):
    return bigbird_itc(**given, global_blocks="first_two")


def test_drawn_by_hand():
    """One random block, eight blocks of 64: plan B, whose table for rows 1 … 6 is written below.

    Rows 3 and 4 drew block 1, which is global now. Row 7, the last, has no entry and draws block 5.
    """
    given = options(8, "original", num_random=1, num_heads=1, seed=2)
    assert published_table(given) == [[[4], [5], [1], [1], [3], [2]]]
    assert (
        draw(moved(given))
        == """\
########
########
####.#..
#####...
##.###..
##.####.
###..###
##...###"""
    )


def test_the_last_block_of_the_table_is_ordinary_at_1024_tokens():
    """Block 15 may be drawn there; it was global and counted twice, and now counts once."""
    given = options(16, "original", num_heads=12, seed=0)
    published, pattern = bigbird_itc(**given), moved(given)
    assert (published.times()[:, :, 15] == 2).any()
    drawn = (np.array(published_table(given))[:, 1:] == 15).any(axis=2)
    read = pattern.times()[:, 2:15, 15] == 1
    in_window = np.arange(2, 15) == 14
    assert np.array_equal(read, drawn | in_window)


@pytest.mark.parametrize(("plan", "training"), PLANS)
@pytest.mark.parametrize("block_size", [16, 32, 64, 128])
def test_each_row_reads_globals_window_and_table_once(block_size, plan, training):
    for length in LENGTHS:
        for num_random, layer in [(3, 0), (3, 7), (2, 1), (1, 11), (0, 2)]:
            n = length // block_size
            given = options(
                n, plan, training, block_size=block_size, num_random=num_random, seed=layer
            )
            if n <= 5 + 2 * num_random:
                assert moved(given).covers_everything
                continue
            check_rows(moved(given).times(), published_table(given), num_random)


@pytest.mark.parametrize(("plan", "training"), PLANS)
def test_every_length_up_to_4096_tokens(plan, training):
    for num_blocks in range(12, 65):
        given = options(num_blocks, plan, training, num_heads=1)
        check_rows(moved(given).times(), published_table(given), num_random=3)


def check_rows(times, table, num_random):
    assert times.max() == 1
    heads, n, _ = times.shape
    for head in range(heads):
        for row in range(n):
            read = set(np.flatnonzero(times[head, row]).tolist())
            near = {key for key in (row - 1, row, row + 1) if 0 <= key < n}
            if row < 2:
                assert read == set(range(n))
            elif row < n - 1:
                assert read == {0, 1} | near | set(table[head][row - 1])
            else:
                assert {0, 1} | near <= read
                assert len(read) == len({0, 1} | near) + num_random


def test_the_table_made_for_1024_tokens_repeats_the_window_which_counts_once():
    given = options(16, "huggingface", training=True, table_tokens=1024, num_heads=12)
    assert bigbird_itc(**given).times().max() == 2
    check_rows(moved(given).times(), published_table(given), num_random=3)


@pytest.mark.parametrize("num_blocks", range(1, 12))
def test_full_attention_up_to_704_tokens_as_published(num_blocks):
    for plan, training in PLANS:
        assert moved(options(num_blocks, plan, training)).covers_everything
        assert not moved(options(12, plan, training)).covers_everything


def test_the_last_block_draws_equally_often_from_what_it_does_not_read():
    chosen = sum(
        moved(options(20, "original", num_heads=100, seed=layer)).times()[:, -1].sum(axis=0)
        for layer in range(20)
    )
    free, draws = range(2, 18), 2000
    five_sigma = 5 * np.sqrt(draws * 3 / 16)
    assert np.abs(chosen[free] - draws * 3 / 16).max() < five_sigma
    assert (np.delete(chosen, free) == draws).all()


def test_the_last_block_reads_the_same_in_training_and_evaluation_and_never_changes():
    """Stored weights rely on it: written down once."""
    for plan, training in PLANS:
        pattern = moved(options(16, plan, training))
        row = pattern.key_blocks[:, -1]
        assert [blocks[blocks >= 0].tolist() for blocks in row] == LAST_ROW
    other = moved(options(16, "original", seed=6)).key_blocks[:, -1]
    assert not np.array_equal(other, row)


def test_pure_function():
    given = options(64, "original")
    first = moved(given).key_blocks.copy()
    itc._build.cache_clear()
    np.random.seed(3)  # the global generator must not matter
    assert np.array_equal(moved(given).key_blocks, first)


@pytest.mark.parametrize("change", [{"global_blocks": "none"}, {"window_blocks": 5}])
def test_what_the_published_plans_do_not_know(change):
    with pytest.raises(
        ValueError, match="window_blocks 3 and global_blocks first_last or first_tw"
    ):
        bigbird_itc(**options(20, "original"), **change)


@pytest.mark.parametrize("padded", [False, True])
@pytest.mark.parametrize(("plan", "training"), PLANS)
@pytest.mark.parametrize(
    "backend", ["gather", "cpu_chunks", pytest.param("native", marks=needs_kernel)]
)
def test_every_backend_agrees_with_dense(backend, plan, training, padded):
    """Heads read different numbers of blocks, where one of them drew block 1 and another did not."""
    pattern = moved(options(16, plan, training, block_size=16, num_heads=2))
    if training or plan == "original":
        assert any(group.unused is not None for group in lists(pattern).groups)
    generator = torch.Generator().manual_seed(0)
    tensors = [torch.randn(2, 2, 250, 16, generator=generator).double() for _ in range(4)]
    mask = torch.arange(250) >= torch.tensor([[250], [70]]) if padded else None
    case = Case(*tensors, pattern, mask, torch.float32, f"{plan}, {training}")
    assert excess(case, results(case, backend, torch.float32)) <= 1
