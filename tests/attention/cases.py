"""Random attention problems and the tolerance every backend is held to (issue: exactness)."""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from dna_bigbird.attention import attend
from dna_bigbird.attention.patterns import BlockPattern, bigbird_itc


@dataclass(frozen=True)
class Case:
    """One problem: inputs in float64, to be rounded to `dtype`."""

    q: Tensor
    k: Tensor
    v: Tensor
    weight: Tensor
    """Gradient that arrives at the output."""
    pattern: BlockPattern
    mask: Tensor | None
    dtype: torch.dtype
    what: str


def random_table(rng: np.random.Generator, heads: int, blocks: int, size: int) -> BlockPattern:
    """Any table at all: repeats, holes in the list, no structure, other widths in every row.

    In half of them the heads of a row read different numbers of blocks too.
    """
    most = int(rng.integers(1, 7))
    table = rng.integers(0, blocks, (heads, blocks, most))
    if rng.random() < 0.5:  # a diagonal, so that some rows have a band
        table[:, :, 0] = np.arange(blocks)
    of_heads = heads if rng.random() < 0.5 else 1
    widths = rng.integers(1, most + 1, (of_heads, blocks))
    table[np.broadcast_to(np.arange(most) >= widths[..., None], table.shape)] = -1
    table = rng.permuted(table, axis=2) if rng.random() < 0.5 else table
    is_global = rng.random(blocks) < 0.2
    table[:, is_global] = -1
    return BlockPattern(table, is_global, size)


def random_pattern(rng: np.random.Generator, heads: int, size: int) -> tuple[BlockPattern, str]:
    """One pattern of any plan, with any options, and its name."""
    kind = rng.choice(["uniform", "uniform", "original", "huggingface", "table"])
    if kind == "table":
        blocks = int(rng.integers(1, 12))
        return random_table(rng, heads, blocks, size), f"table of {blocks}"
    random, seed = int(rng.integers(0, 4)), int(rng.integers(0, 100))
    if kind == "uniform":
        options = {
            "window_blocks": int(rng.choice([1, 3, 5])),
            "global_blocks": str(rng.choice(["first_last", "first_two", "none"])),
        }
        blocks = int(rng.integers(1, 20))
    else:
        options = {"training": bool(rng.random() < 0.5)} if kind == "huggingface" else {}
        options["global_blocks"] = str(rng.choice(["first_last", "first_two"]))
        blocks = int(rng.integers(5 + 2 * random, 18))
    what = f"{kind} of {blocks}, {random} random, seed {seed}, {options}"
    return bigbird_itc(blocks, size, random, heads, kind, seed, **options), what


class Sizes(NamedTuple):
    """What is drawn from."""

    head_dims: tuple[int, ...]
    block_sizes: tuple[int, ...]


ANY = Sizes((4, 8, 20, 32, 64), (2, 5, 8, 16, 32))
MULTIPLES_OF_16 = Sizes((16, 32, 64, 80, 96, 128), (16, 32, 48, 80))
"""What backend `native` takes."""


def random_case(seed: int, sizes: Sizes = ANY) -> Case:
    """Return the problem of a seed: shapes, pattern, padding and type are drawn."""
    rng = np.random.default_rng(seed)
    batch, heads = int(rng.integers(1, 4)), int(rng.integers(1, 5))
    dim, size = int(rng.choice(sizes.head_dims)), int(rng.choice(sizes.block_sizes))
    pattern, what = random_pattern(rng, heads, size)
    length = pattern.num_blocks * size - int(rng.integers(0, size)) * (rng.random() < 0.5)
    generator = torch.Generator().manual_seed(seed)
    q, k, v, weight = (
        torch.randn(batch, heads, length, dim, generator=generator, dtype=torch.float64)
        for _ in range(4)
    )
    padding = rng.choice(["none", "right", "holes", "all of one"])
    mask = None
    if padding == "right":
        lengths = torch.from_numpy(rng.integers(1, length + 1, (batch, 1)))
        mask = torch.arange(length) >= lengths
    elif padding != "none":
        mask = torch.from_numpy(rng.random((batch, length)) < 0.4)
        mask[-1] |= padding == "all of one"
    dtype = torch.float32 if rng.random() < 0.6 else torch.bfloat16
    q, k, v, weight = (x.to(dtype).double() for x in (q, k, v, weight))
    what = (
        f"seed {seed}: {(batch, heads, length, dim)}, blocks of {size}, {what}, {padding}, {dtype}"
    )
    return Case(q, k, v, weight, pattern, mask, dtype, what)


def results(case: Case, backend: str, dtype: torch.dtype, device: str = "cpu") -> list[Tensor]:
    """Return the output and the gradients of q, k and v, in float64 on the CPU."""
    tensors = [x.to(device, dtype).requires_grad_() for x in (case.q, case.k, case.v)]
    mask = None if case.mask is None else case.mask.to(device)
    out = attend(*tensors, case.pattern, mask, backend=backend)
    assert out.dtype == dtype
    gradients = torch.autograd.grad(out, tensors, case.weight.to(device, dtype))
    return [x.detach().cpu().double() for x in (out, *gradients)]


def excess(case: Case, found: list[Tensor], device: str = "cpu") -> float:
    """Return the largest error over the largest allowed, of output and gradients: at most 1 is good.

    Allowed is eight times the error of the dense oracle in the same type, and two epsilons of the
    largest value, both against the dense oracle in float64. The largest value is that of all four
    tensors: a query that sees one key alone has gradients of exactly zero, as differences.
    """
    exact = results(case, "dense", torch.float64)
    rounded = results(case, "dense", case.dtype, device)
    largest = max(truth.abs().max() for truth in exact)
    worst = 0.0
    for truth, dense, other in zip(exact, rounded, found, strict=True):
        assert other.isfinite().all(), case.what
        allowed = 8 * (dense - truth).abs().max() + 2 * torch.finfo(case.dtype).eps * largest
        error = (other - truth).abs().max()
        worst = max(worst, (error / allowed).item() if error else 0.0)
    return worst


def without_one_block(case: Case, seed: int) -> Case | None:
    """Return the case with one visible key block of one query block lost, or None if none can go."""
    rng = np.random.default_rng(seed)
    pattern = case.pattern
    distinct = [[len(set(row[row >= 0])) for row in head] for head in pattern.key_blocks]
    # With one alone, any number of times is the same.
    rows = np.flatnonzero(np.min(distinct, axis=0) > 1)
    if not len(rows):
        return None
    row = int(rng.choice(rows))
    table = pattern.key_blocks.copy()
    for head in range(pattern.num_heads):
        place = int(rng.choice(np.flatnonzero(table[head, row] >= 0)))
        table[head, row, place] = -1
    return replace(case, pattern=BlockPattern(table, pattern.is_global.copy(), pattern.block_size))
