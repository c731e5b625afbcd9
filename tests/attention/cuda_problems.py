"""The attention problems of test_cuda.py, which benchmarks/gpu.py counts too."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import torch

from dna_bigbird.attention.patterns import BlockPattern, bigbird_itc, full
from tests.attention.cases import Case, random_table

DTYPES = [torch.float32, torch.bfloat16]
PADDINGS = ["none", "right", "holes"]
SIZES = [64, 128]
"""Tokens in a block."""
OTHER_SIZES = [(32, 64), (96, 64), (64, 16), (64, 48), (128, 128)]
"""Tokens in a block, and head dimension."""
HEADS = 2


def case(pattern, *, missing=0, dim=64, batch=2, padding="none", dtype=torch.float32, seed=0):
    """One problem; `missing` tokens of the last block are not there."""
    length = pattern.num_blocks * pattern.block_size - missing
    generator = torch.Generator().manual_seed(seed)
    tensors = [
        torch.randn(batch, pattern.num_heads, length, dim, generator=generator).to(dtype).double()
        for _ in range(4)
    ]
    mask = None
    if padding == "right":
        mask = torch.arange(length) >= torch.tensor([[length], [length // 2]])[:batch]
    elif padding == "holes":
        mask = torch.rand(batch, length, generator=generator) < 0.4
        mask[-1] = True
    return Case(*tensors, pattern, mask, dtype, f"{(pattern.num_blocks, missing, padding, dtype)}")


def patterns(size):
    """Without repeats, for one kernel serves them all."""
    yield bigbird_itc(12, size, 3, HEADS), 0
    yield bigbird_itc(11, size, 3, HEADS, seed=1), size - 1
    yield bigbird_itc(9, size, 1, HEADS, global_blocks="first_two"), 7
    yield bigbird_itc(9, size, 2, HEADS, global_blocks="none", window_blocks=5), 0
    yield bigbird_itc(12, size, 2, HEADS, "original", 1), size // 2
    yield bigbird_itc(12, size, 2, HEADS, "original", 1, global_blocks="first_two"), size // 2
    yield full(3, size, HEADS), 5
    yield full(1, size, HEADS), size // 3
    table = random_table(np.random.default_rng(3), HEADS, 7, size)
    rows = [[sorted(set(row)) for row in head] for head in table.key_blocks.tolist()]
    if len({tuple(map(len, head)) for head in rows}) == 1:
        yield table, 3


def regular(size, dtype, padding) -> Iterator[Case]:
    """Every pattern of one block size."""
    for seed, (pattern, missing) in enumerate(patterns(size)):
        yield case(pattern, missing=missing, padding=padding, dtype=dtype, seed=seed)


def other_size(size, dim, dtype) -> Case:
    """Another block size or head dimension."""
    pattern = bigbird_itc(12, size, 3, HEADS)
    return case(pattern, missing=3, dim=dim, dtype=dtype, padding="holes")


def repeats(size, training) -> Case:
    """Block 0 has more readers, counted with repeats, than there are query blocks."""
    pattern = bigbird_itc(16, size, 3, HEADS, "huggingface", training=training)
    return case(pattern, missing=5)


def without_keys() -> Case:
    """Query blocks 0 and 1 read padding alone."""
    table = np.array([[[0, 1], [0, 1], [1, 2]]] * HEADS)
    local = BlockPattern(table, np.zeros(3, bool), 64)
    mask = torch.zeros(2, 192, dtype=torch.bool)
    mask[:, :128] = True
    return replace(case(local), mask=mask)
