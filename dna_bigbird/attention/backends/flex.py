"""FlexAttention: PyTorch's own block-sparse kernel, compiled, from the same table.

One call computes all rows, global ones too. Measured on a CPU against a second way, in which plain
attention takes the global rows: equal within noise from 1,024 to 16,384 tokens (at 4,096 both 99 ms
with one thread, 12 heads of 64), so the simpler one stays.

No mask function is evaluated: the kernel cuts a ragged last block itself. Padding and repeats go
through a score function, which is compiled in only where they occur. Listing a block k times would
not count it k times everywhere: the CUDA kernels, forward and backward, read no more blocks than
the sequence has.

No GPU was available. What torch 2.13 generates for an H100 was run in Triton's interpreter instead
(float32, blocks of 32 and 64, holes, repeats): output and gradients agree with `dense` to 1e-6.
"""

# B batch, H heads, T tokens, D head dimension, N blocks, F heads as often as a row has repeats

import contextlib
import functools
import types
from collections.abc import Callable, Iterator

import torch
from torch import Tensor
from torch.nn.attention.flex_attention import BlockMask, flex_attention, noop_mask

from dna_bigbird.attention.backends.flex_tables import Lists, tables
from dna_bigbird.attention.patterns import BlockPattern

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

    Raises:
        ValueError: If there is dropout, another dtype than float32, bfloat16 and float16, a
            gradient to compute on the CPU, or a block size or head dimension that CUDA lacks.
        RuntimeError: If the kernel cannot be compiled, for instance without a C++ compiler.
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
    if dropout_p:
        raise ValueError("backend 'flex' has no dropout of the weights; use gather or dense")
    if q.dtype not in DTYPES:
        raise ValueError(f"backend 'flex' has no {q.dtype}; use dense, gather or merged")
    if q.device.type == "cpu" and training:
        raise ValueError(
            "backend 'flex' has no backward pass on the CPU; train with merged or gather, or "
            "predict within torch.no_grad()"
        )
    if q.device.type == "cpu" and q.dtype != torch.float32 and block_size % 2:
        # torch 2.13 on a processor with AMX returns nan or 1e37 for blocks of 5, 7 and 9 tokens.
        raise ValueError(
            f"backend 'flex' needs an even block size for {q.dtype} on a CPU, got {block_size}; use "
            "gather, merged or float32"
        )
    if q.device.type != "cpu" and (block_size % 32 or q.shape[3] < 16):
        raise ValueError(
            f"backend 'flex' needs a block size that 32 divides and heads of 16 or more on "
            f"{q.device.type}, got {block_size} and {q.shape[3]}; use gather"
        )


def _as_input(x: Tensor) -> Tensor:
    """Return a tensor object of its own, for a kernel must not get one twice, with fixed heads.

    Compiled first for 12 heads and 12 blocks, a kernel would otherwise take both for one number.
    """
    x = x.view_as(x) if torch.is_grad_enabled() else x.detach()
    torch._dynamo.mark_static(x, [1, 3])
    return x


@functools.lru_cache(maxsize=256)
def _compiled(device_type: str, variant: tuple, search_tiles: bool) -> Callable[..., Tensor]:
    """Return `_attend`, to be compiled once for a variant and used for all lengths.

    torch.compile keeps 8 kernels for a piece of code and then gives up; a copy of the code for each
    variant keeps their number small. `fullgraph` makes giving up an error: without compilation
    FlexAttention would write the whole score matrix.

    Args:
        search_tiles: On a GPU a tile must divide the block. The stored ones suit blocks of 128. For
            others `_options` gives the forward tile; the backward one cannot be given (pytorch
            issue 176025), but a search tries smaller ones.
    """
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
    """What is compiled. A query that sees no key gives zero: the kernels take care of it.

    Args:
        block_size: As text, for torch.compile would make a variable of a number.
    """
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
            "compiler such as g++ with Python's headers, on a GPU Triton: else use merged or gather"
        ) from error
