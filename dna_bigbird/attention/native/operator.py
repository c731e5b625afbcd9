"""The native kernel as PyTorch operators: `torch.ops.dna_bigbird.block_attention` and its backward.

With autograd and a fake implementation, so that torch.compile, checkpointing and autocast around
them work. Two derivatives of it are not possible.
"""

# B batch, H heads, T tokens, N blocks, D head dimension

import functools
import math

import numpy as np
import torch
from torch import Tensor

from dna_bigbird.attention.native.library import Problem, TensorView, library
from dna_bigbird.attention.patterns import BlockPattern

_LISTS = "Tensor row_starts, Tensor key_blocks, Tensor order, Tensor? hidden, int block_size"
torch.library.define(
    "dna_bigbird::block_attention", f"(Tensor q, Tensor k, Tensor v, {_LISTS}) -> (Tensor, Tensor)"
)
torch.library.define(
    "dna_bigbird::block_attention_backward",
    "(Tensor grad, Tensor q, Tensor k, Tensor v, Tensor out, Tensor log2_sum_exp, "
    f"{_LISTS}) -> (Tensor, Tensor, Tensor)",
)


@functools.lru_cache(maxsize=1024)
@torch.inference_mode(False)  # kept for training too, whoever asks first
def block_lists(pattern: BlockPattern) -> tuple[Tensor, Tensor, Tensor]:
    """Return a pattern as the kernel reads it, int32.

    Returns:
        row_starts (H, N + 1): where each query block's list begins in `key_blocks`, and ends;
        key_blocks: all lists, one after the other; a block that counts twice stands twice;
        order (H, N): the query blocks, longest list first.
    """
    table, N = pattern.key_blocks, pattern.num_blocks
    every = np.arange(N)
    lists = [
        every if pattern.is_global[row] else blocks[blocks >= 0]
        for head in table
        for row, blocks in enumerate(head)
    ]
    lengths = np.array([len(one) for one in lists]).reshape(len(table), N)
    ends = lengths.cumsum().reshape(lengths.shape)
    row_starts = np.concatenate([ends[:, :1] - lengths[:, :1], ends], axis=1)
    order = np.argsort(-lengths, axis=1, kind="stable")
    found = (row_starts, np.concatenate(lists), order)
    return tuple(torch.from_numpy(part.astype(np.int32)) for part in found)


@torch.library.impl("dna_bigbird::block_attention", "CPU")
def _forward(q, k, v, row_starts, key_blocks, order, hidden, block_size):
    q, k, v = (_readable(x) for x in (q, k, v))
    out, log2_sum_exp = _empty_results(q)
    if q.numel():
        problem = _problem(
            q, k, v, out, log2_sum_exp, row_starts, key_blocks, order, hidden, block_size
        )
        library().forward(problem)
    return out, log2_sum_exp


@torch.library.impl("dna_bigbird::block_attention_backward", "CPU")
def _backward(grad, q, k, v, out, log2_sum_exp, row_starts, key_blocks, order, hidden, block_size):
    grad, q, k, v = (_readable(x) for x in (grad, q, k, v))
    grads = _empty_gradients(q)
    if q.numel():
        problem = _problem(
            q, k, v, out, log2_sum_exp, row_starts, key_blocks, order, hidden, block_size
        )
        problem.grad = TensorView.of(grad)
        problem.grad_q, problem.grad_k, problem.grad_v = map(TensorView.of, grads)
        library().backward(problem)
    return grads


@torch.library.register_fake("dna_bigbird::block_attention")
def _fake_forward(q, k, v, row_starts, key_blocks, order, hidden, block_size):
    return _empty_results(q)


@torch.library.register_fake("dna_bigbird::block_attention_backward")
def _fake_backward(
    grad, q, k, v, out, log2_sum_exp, row_starts, key_blocks, order, hidden, block_size
):
    return _empty_gradients(q)


def _keep(ctx, inputs, output) -> None:
    q, k, v, row_starts, key_blocks, order, hidden, ctx.block_size = inputs
    ctx.save_for_backward(q, k, v, *output, row_starts, key_blocks, order, hidden)
    ctx.mark_non_differentiable(output[1])
    ctx.set_materialize_grads(False)


def _differentiate(ctx, grad, _):
    if grad is None:
        return (None,) * 8
    grads = torch.ops.dna_bigbird.block_attention_backward(grad, *ctx.saved_tensors, ctx.block_size)
    return *grads, None, None, None, None, None


torch.library.register_autograd("dna_bigbird::block_attention", _differentiate, setup_context=_keep)


def _readable(x: Tensor) -> Tensor:
    """Return x, or a copy that the kernel can read: rows in one piece, an even distance apart."""
    return x if x.stride(3) == 1 and x.stride(2) % 2 == 0 else x.contiguous()


def _empty_results(q: Tensor) -> tuple[Tensor, Tensor]:
    """Return room for the output and the log-sum-exp of the scores to base 2 (B, H, T)."""
    B, H, T, D = q.shape
    # In memory as (B, T, H, D), which the projection after it wants.
    return q.new_empty(B, T, H, D).transpose(1, 2), q.new_empty(B, H, T, dtype=torch.float32)


def _empty_gradients(q: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    q_grad, k_grad, v_grad = (q.new_empty(q.shape) for _ in range(3))
    return q_grad, k_grad, v_grad


def _problem(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    out: Tensor,
    log2_sum_exp: Tensor,
    row_starts: Tensor,
    key_blocks: Tensor,
    order: Tensor,
    hidden: Tensor | None,
    block_size: int,
) -> Problem:
    B, H, T, D = q.shape
    return Problem(
        B,
        H,
        T,
        D,
        block_size,
        order.shape[1],
        row_starts.data_ptr(),
        key_blocks.data_ptr(),
        order.data_ptr(),
        None if hidden is None else hidden.data_ptr(),
        1 / math.sqrt(D),
        q.dtype == torch.bfloat16,
        torch.get_num_threads(),
        *map(TensorView.of, (q, k, v, out)),
        log2_sum_exp.data_ptr(),
    )
