"""The tables of FlexAttention against the pattern that they come from."""

import numpy as np
import pytest
import torch

from dna_bigbird.attention.backends.flex import Lists, tables
from dna_bigbird.attention.patterns import BlockPattern, bigbird_itc, full
from tests.attention.cases import random_table

CPU = torch.device("cpu")
PATTERNS = {
    "uniform": bigbird_itc(20, 4, 3, 2),
    "first two global": bigbird_itc(20, 4, 2, 3, global_blocks="first_two"),
    "nothing global": bigbird_itc(20, 4, 2, 2, global_blocks="none", window_blocks=5),
    "repeats": bigbird_itc(16, 64, 3, 2, "original"),
    "many repeats": bigbird_itc(12, 4, 3, 2, "huggingface"),
    "moved": bigbird_itc(16, 64, 3, 2, "original", global_blocks="first_two"),
    "full": full(7, 4, 2),
    "one block": full(1, 4, 2),
    **{f"table {i}": random_table(np.random.default_rng(i), 2, 5 + i, 4) for i in range(6)},
}


def read(lists: Lists, blocks: int) -> np.ndarray:
    """Which line reads which block, (heads, blocks, blocks): as a kernel reads the lists."""
    num_all, everything, num, listed = (x[0].numpy() for x in lists)
    found = np.zeros((len(num), blocks, blocks), dtype=np.int64)
    for head, line in np.ndindex(found.shape[:2]):
        for some, count in ((everything, num_all), (listed, num)):
            chosen = some[head, line, : count[head, line]]
            assert (np.diff(chosen) > 0).all(), "ascending, so that a ragged last block is last"
            np.add.at(found[head, line], chosen, 1)
    return found


@pytest.mark.parametrize("name", PATTERNS)
def test_lists_hold_each_block_that_is_read_once(name):
    pattern = PATTERNS[name]
    expected = (pattern.times() > 0).astype(np.int64)
    table = tables(pattern, CPU, backward=True)
    np.testing.assert_array_equal(read(table.keys, pattern.num_blocks), expected)
    transposed = expected.swapaxes(1, 2)
    np.testing.assert_array_equal(read(table.queries, pattern.num_blocks), transposed)


@pytest.mark.parametrize("name", PATTERNS)
def test_repeats_count_as_often_as_the_pattern_says(name):
    pattern = PATTERNS[name]
    times = np.minimum(pattern.times(), 1.0)
    repeats = tables(pattern, CPU, backward=False).repeats
    if repeats is not None:
        block, log_times = repeats
        for line, row in np.argwhere(block.numpy() >= 0):
            times[line % len(times), row, block[line, row]] *= log_times[line, row].exp()
    np.testing.assert_allclose(times, pattern.times(), rtol=1e-6)


def test_tables_without_repeats_need_no_score_function():
    assert tables(PATTERNS["uniform"], CPU, backward=False).repeats is None


@pytest.mark.parametrize("global_blocks", ["first_last", "first_two", "none"])
def test_memory_is_linear(global_blocks):
    """262,144 tokens: lists of all blocks would take 800 MB in each direction."""
    pattern = bigbird_itc(4096, 64, 3, 12, global_blocks=global_blocks)
    table = tables(pattern, CPU, backward=True)
    for lists in (table.keys, table.queries):
        assert sum(x.untyped_storage().nbytes() for x in lists) < 8e6


def test_a_table_is_built_once():
    pattern = PATTERNS["uniform"]
    assert tables(pattern, CPU, backward=False) is tables(pattern, CPU, backward=False)


def test_rows_that_list_a_block_out_of_order():
    pattern = BlockPattern(
        np.array([[[2, -1, 0, 2], [1, 0, -1, -1], [2, 2, 2, 0]]]), np.zeros(3, bool), 4
    )
    table = tables(pattern, CPU, backward=False)
    assert table.keys.num.tolist() == [[[2, 2, 2]]]
    assert table.keys.listed[0, 0, :, :2].tolist() == [[0, 2], [0, 1], [0, 2]]
    block, log_times = table.repeats
    assert block.tolist() == [[2, -1, 2]]
    torch.testing.assert_close(log_times.exp(), torch.tensor([[2.0, 1.0, 3.0]]))
