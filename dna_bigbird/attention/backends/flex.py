"""FlexAttention: PyTorch's own block-sparse kernel, compiled, from the same table.

One call computes all rows: plain attention for the global rows is equal within noise from 1,024 to
16,384 tokens on a CPU. No mask function is evaluated: the kernel cuts a ragged last block itself.
Padding and repeats go through a score function, compiled in only where they occur: a block that is
listed k times would not count k times, because CUDA kernels read no more blocks than there are.
What torch 2.13 generates for an H100 agrees with `dense` to 1e-6 in Triton's interpreter.
"""

import contextlib
import functools
import types
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn.attention.flex_attention import BlockMask, flex_attention, noop_mask

from dna_bigbird.attention.patterns import BlockPattern

# H heads, N blocks


# Widths of lists are multiples of these, so that one kernel serves most lengths. A block reads 8 others in the
# paper's pattern: window 3, random 3, global 2. By how many it is read varies, since random blocks are drawn by
# the rows: the global rows, the window, and any number round `num_random` of others.
KEY_PLACES = 16
READER_PLACES = 32


class Lists(NamedTuple):
    """What each line (query or key block) of each head reads, or is read by, as in `BlockMask`."""

    # Lines that list everything share one list, the others have a short one each: O(blocks) integers.

    num_all: Tensor
    """(1, H, N): the number of blocks for a line that lists everything, else 0."""
    all: Tensor
    """(1, H, N, N): 0 … N - 1 for every line, in N integers."""
    num: Tensor
    """(1, H, N): how many blocks each of the other lines lists."""
    listed: Tensor
    """(1, H, N, most): which, ascending. On the CPU (1, H, N, N), in hardly more integers."""


class Tables(NamedTuple):
    """What a kernel must know of a pattern."""

    keys: Lists
    """The key blocks of each query block."""
    queries: Lists | None
    """The query blocks of each key block, for the backward pass."""
    repeats: tuple[Tensor, Tensor] | None
    """(repeats of a row × H, N): key blocks counted more than once or -1; logs of how often."""


@functools.lru_cache(maxsize=1024)
@torch.inference_mode(False)  # kept for training too, also if inference asks first
def tables(pattern: BlockPattern, device: torch.device, backward: bool) -> Tables:
    """Turn a pattern into tables, once per pattern and device."""
    distinct, counts = _distinct(pattern.key_blocks)
    head, row, slot = np.nonzero(distinct >= 0)
    column = distinct[head, row, slot]
    whole_rows = np.broadcast_to(pattern.is_global, distinct.shape[:2])
    keys = _lists(head, row, column, whole_rows, KEY_PLACES, device)
    queries = _readers(head, row, column, pattern, device) if backward else None
    return Tables(keys, queries, _repeats(distinct, counts, device))


def _distinct(table: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return each row's different blocks, ascending, -1 elsewhere, and how often each occurs."""
    ordered = np.sort(np.where(table < 0, table.shape[1], table), axis=2)
    first = np.diff(ordered, axis=2, prepend=-1) > 0
    run = first.cumsum(axis=2) - 1
    length = np.zeros(table.shape, dtype=np.int64)
    np.add.at(length, (*np.indices(table.shape)[:2], run), 1)
    listed = first & (ordered < table.shape[1])
    counts = np.where(listed, np.take_along_axis(length, run, axis=2), 0)
    return np.where(listed, ordered, -1), counts


def _readers(
    head: np.ndarray,
    row: np.ndarray,
    column: np.ndarray,
    pattern: BlockPattern,
    device: torch.device,
) -> Lists:
    """Transpose: which query blocks read each key block, the global ones included."""
    global_rows = np.flatnonzero(pattern.is_global)
    num_readers = np.zeros((pattern.num_heads, pattern.num_blocks), dtype=np.int64)
    np.add.at(num_readers, (head, column), 1)
    whole = num_readers + len(global_rows) == pattern.num_blocks
    few = ~whole[head, column]
    few_head, few_column = np.nonzero(~whole)
    return _lists(
        np.concatenate([head[few], few_head.repeat(len(global_rows))]),
        np.concatenate([column[few], few_column.repeat(len(global_rows))]),
        np.concatenate([row[few], np.tile(global_rows, len(few_column))]),
        whole,
        READER_PLACES,
        device,
    )


def _lists(
    head: np.ndarray,
    line: np.ndarray,
    other: np.ndarray,
    whole: np.ndarray,
    divisor: int,
    device: torch.device,
) -> Lists:
    """Build the lists of (head, line, other); `whole` (H, N) marks lines that list everything."""
    # torch.compile makes a kernel of its own for a size of 1 and for each overlapping stride, so there
    # are at least two lines, and `divisor` in each or a multiple. Lists are ascending: a kernel that
    # stops after as many tokens as there are must have met the ragged block last.
    heads, blocks = whole.shape
    lines = max(blocks, 2)
    flat = head * lines + line
    order = np.lexsort((other, flat))
    num = np.bincount(flat, minlength=heads * lines)
    rank = np.arange(len(flat)) - (num.cumsum() - num)[flat[order]]
    most = divisor * max(-(-int(num.max(initial=0)) // divisor), 1)
    # The CPU kernel wants a width of all blocks, though it reads only what is listed: an
    # overlapping view costs nothing. The tail keeps its last row inside the storage.
    listed = np.zeros(heads * lines * most + lines, dtype=np.int32)
    listed[flat[order] * most + rank] = other[order]
    width = lines if device.type == "cpu" else most
    num_all = np.zeros((1, heads, lines), dtype=np.int32)
    num_all[0, :, :blocks] = np.where(whole, blocks, 0)
    lists = (
        torch.from_numpy(num_all).to(device),
        torch.arange(lines, dtype=torch.int32, device=device).expand(1, heads, lines, lines),
        torch.from_numpy(num.astype(np.int32).reshape(1, heads, lines)).to(device),
        torch.from_numpy(listed)
        .to(device)
        .as_strided((1, heads, lines, width), (heads * lines * most, lines * most, most, 1)),
    )
    # Sizes that never change for a model: 0 is 1, 1 the heads. 2 are the blocks, which follow the length. 3 is the
    # width: on a GPU a multiple of `divisor`, mostly the same; on the CPU the number of blocks again.
    fixed = [(0, 1)] * 3 + [(0, 1) if device.type == "cpu" else (0, 1, 3)]
    return Lists(*map(_fix, lists, fixed))


def _repeats(
    distinct: np.ndarray, counts: np.ndarray, device: torch.device
) -> tuple[Tensor, Tensor] | None:
    """Return the blocks that a row counts more than once: usually none, or one per row."""
    heads, blocks, _ = distinct.shape
    again = counts > 1
    most = int(again.sum(axis=2).max(initial=0))
    if not most:
        return None
    head, row, slot = np.nonzero(again)
    number = again.cumsum(axis=2)[head, row, slot] - 1
    line = number * heads + head
    block = np.full((most * heads, max(blocks, 2)), -1, dtype=np.int32)
    log_times = np.zeros(block.shape, dtype=np.float32)
    block[line, row] = distinct[head, row, slot]
    log_times[line, row] = np.log(counts[head, row, slot])
    block, log_times = (_fix(torch.from_numpy(x).to(device), (0,)) for x in (block, log_times))
    return block, log_times


def _fix(x: Tensor, sizes: tuple[int, ...]) -> Tensor:
    """Tell torch.compile which sizes never change, or it takes 12 heads and 12 blocks for one."""
    torch._dynamo.mark_static(x, sizes)
    return x


# B batch, H heads, T tokens, D head dimension, N blocks, F heads as often as a row has repeats


DTYPES = (torch.float32, torch.bfloat16, torch.float16)
NO_LISTS = (None, None, None, None)


def flex(
    q_BHTD: Tensor,
    k_BHTD: Tensor,
    v_BHTD: Tensor,
    pattern: BlockPattern,
    key_padding_mask_BT: Tensor | None,
    dropout_p: float,
) -> Tensor:
    """Backend `flex`, O(length) in time and memory; see `attend` for the arguments.

    On the CPU forward only; it needs a C++ compiler at run time. On CUDA forward and backward, for
    block sizes that 32 divides. The first call compiles (some 5 to 20 seconds on a CPU). Later ones
    of other lengths do not, but each dtype, a batch of one and of more, a batch with padding and a
    pattern with repeats have a kernel of their own.
    """
    training = torch.is_grad_enabled() and any(x.requires_grad for x in (q_BHTD, k_BHTD, v_BHTD))
    _check(q_BHTD, pattern.block_size, dropout_p, training)
    table = tables(pattern, q_BHTD.device, training)
    _, H, _, D = q_BHTD.shape
    repeats = 0 if table.repeats is None else len(table.repeats[0]) // H
    masked = key_padding_mask_BT is not None
    variant = (q_BHTD.dtype, H, D, pattern.block_size, masked, repeats, training)
    compiled = _compiled(q_BHTD.device.type, variant, training and pattern.block_size % 128 != 0)
    with torch.set_grad_enabled(training), _failure_in_one_line():
        return compiled(
            *(_as_input(x) for x in (q_BHTD, k_BHTD, v_BHTD)),
            *table,
            key_padding_mask_BT,
            str(pattern.block_size),
        )


def _check(q: Tensor, block_size: int, dropout_p: float, training: bool) -> None:
    if q.device.type != "cpu" and torch.__version__ < (2, 12):
        # Its kernel reads our second lists with the strides of the first: other blocks, and no error.
        raise ValueError(
            f"backend 'flex' gives wrong results on {q.device.type} with torch {torch.__version__}, "
            "which reads other blocks than listed; use triton or gather, or torch 2.12 or newer"
        )
    if dropout_p:
        raise ValueError("backend 'flex' has no dropout of the weights; use gather or dense")
    if q.dtype not in DTYPES:
        raise ValueError(f"backend 'flex' has no {q.dtype}; use dense, gather or cpu_chunks")
    if q.device.type == "cpu" and training:
        raise ValueError(
            "backend 'flex' has no backward pass on the CPU; train with cpu_chunks or gather, or "
            "predict within torch.no_grad()"
        )
    if q.device.type == "cpu" and q.dtype != torch.float32 and block_size % 2:
        # torch 2.13 on a processor with AMX returns nan or 1e37 for blocks of 5, 7 and 9 tokens.
        raise ValueError(
            f"backend 'flex' needs an even block size for {q.dtype} on a CPU, got {block_size}; use "
            "gather, cpu_chunks or float32"
        )
    has_short_vectors = torch.backends.cpu.get_cpu_capability() == "AVX2"
    if q.device.type == "cpu" and has_short_vectors and block_size == 8 and q.shape[3] <= 16:
        # torch 2.13: blocks of 4, 5, 7, 12 and 15 tokens and heads of 20 and more are right.
        raise ValueError(
            "backend 'flex' gives wrong results on a CPU with AVX2 alone for a block size of 8 and heads of 16 "
            "or less; use cpu_chunks or gather"
        )
    if q.device.type != "cpu" and (block_size % 32 or q.shape[3] < 16):
        raise ValueError(
            f"backend 'flex' needs a block size that 32 divides and heads of 16 or more on "
            f"{q.device.type}, got {block_size} and {q.shape[3]}; use gather"
        )


def _as_input(x: Tensor) -> Tensor:
    """Return a tensor object of its own, for a kernel must not get one twice, with fixed heads."""
    # Compiled first for 12 heads and 12 blocks, a kernel would otherwise take both for one number.
    return _fix(x.view_as(x) if torch.is_grad_enabled() else x.detach(), (1, 3))


@functools.lru_cache(maxsize=256)
def _compiled(device_type: str, variant: tuple, search_tiles: bool) -> Callable[..., Tensor]:
    """Return `_attend`, to be compiled once for a variant and used for all lengths."""
    # torch.compile keeps 8 kernels for a piece of code and then gives up; a copy of the code for each
    # variant keeps their number small. `fullgraph` makes giving up an error: without compilation
    # FlexAttention would write the whole score matrix.
    # On a GPU a tile must divide the block, and the stored ones suit blocks of 128. The backward one
    # cannot be given (pytorch issue 176025), but a search tries smaller ones.
    code = _attend.__code__.replace(co_name=f"flex {device_type} {variant}")
    copy = types.FunctionType(code, _attend.__globals__)
    options = {"max_autotune": True} if search_tiles else None
    return torch.compile(copy, dynamic=True, fullgraph=True, options=options)


def _attend(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    keys: Lists,
    queries: Lists | None,
    repeats: tuple[Tensor, Tensor] | None,
    hidden_BT: Tensor | None,
    block_size: str,
) -> Tensor:
    """What is compiled. A query that sees no key gives zero: the kernels take care of it."""
    # The block size is text, because torch.compile would make a variable of a number.
    size, heads = int(block_size), q.shape[1]

    def score_mod(score: Tensor, b: Tensor, h: Tensor, query: Tensor, key: Tensor) -> Tensor:
        if repeats is not None:
            block_FN, log_times_FN = repeats
            for first in range(0, block_FN.shape[0], heads):
                repeated = block_FN[first + h, query // size] == key // size
                more = log_times_FN[first + h, query // size]
                score = torch.where(repeated, score + more, score)
        if hidden_BT is not None:
            score = torch.where(hidden_BT[b, key], -float("inf"), score)
        return score

    mask = BlockMask(
        (q.shape[2], k.shape[2]),
        *keys,
        *(NO_LISTS if queries is None else queries),
        BLOCK_SIZE=(size, size),
        mask_mod=noop_mask,
    )
    plain = hidden_BT is None and repeats is None
    options = {} if q.device.type == "cpu" else _options(size)
    return flex_attention(q, k, v, None if plain else score_mod, mask, kernel_options=options)


def _options(block_size: int) -> dict[str, int | bool]:
    """Return options of the GPU kernels."""
    # The kernel for fewer than 128 queries has rules of its own.
    options: dict[str, int | bool] = {"FORCE_USE_FLEX_ATTENTION": True}
    if block_size % 128:
        options["fwd_BLOCK_M"] = options["fwd_BLOCK_N"] = block_size & -block_size
    return options


@contextlib.contextmanager
def _failure_in_one_line() -> Iterator[None]:
    """Say in one line that compiling failed; what the compiler says is pages."""
    try:
        yield
    except Exception as error:
        if not type(error).__module__.startswith(("torch._dynamo", "torch._inductor")):
            raise
        reason = str(getattr(error, "inner_exception", error)).strip().split("\n", 1)[0]
        raise RuntimeError(
            f"backend 'flex' could not compile its kernel ({reason}); on a CPU it needs AVX2 and a "
            "compiler such as g++ with Python's headers, on a GPU Triton: else use cpu_chunks or gather"
        ) from error
