"""The native kernel as a PyTorch operator: `torch.ops.dna_bigbird.block_attention`; backend `native`."""

import functools
import math

import numpy as np
import torch
from torch import Tensor

from dna_bigbird.attention.kernels.native.library import Problem, TensorView, library
from dna_bigbird.attention.kernels.operators import define_operator, empty_gradients, empty_results
from dna_bigbird.attention.packing import Sequences
from dna_bigbird.attention.patterns import BlockPattern

# B batch, H heads, T tokens, N blocks, D head dimension


DTYPES = (torch.float32, torch.bfloat16)
MULTIPLE = 16
"""Of this the block size and the head dimension must be multiples."""
MOST_HEAD_DIM = 256


def shape_obstacle(head_dim: int, block_size: int) -> str | None:
    """Return why the kernel cannot compute heads and blocks of these sizes, or None if it can."""
    if head_dim % MULTIPLE or head_dim > MOST_HEAD_DIM:
        return f"takes head dimensions that are multiples of {MULTIPLE} up to {MOST_HEAD_DIM}, got {head_dim}"
    if block_size % MULTIPLE:
        return f"takes block sizes that are multiples of {MULTIPLE}, got {block_size}"
    return None


@functools.lru_cache(maxsize=1024)
@torch.inference_mode(False)  # kept for training too, also if inference asks first
def block_lists(pattern: BlockPattern) -> tuple[Tensor, Tensor, Tensor]:
    """Return (row_starts (H, N + 1), key_blocks, order (H, N)) int32, as the kernel reads them."""
    # A block that counts twice is listed twice. Order (H, N): the query blocks, longest list first.
    table, N = pattern.key_blocks, pattern.num_blocks
    every = np.arange(N)
    lists = [
        every if pattern.is_global[row] else blocks[blocks >= 0]
        for head in table
        for row, blocks in enumerate(head)
    ]
    lengths = np.array([len(listed) for listed in lists]).reshape(len(table), N)
    ends = lengths.cumsum().reshape(lengths.shape)
    row_starts = np.concatenate([ends[:, :1] - lengths[:, :1], ends], axis=1)
    order = np.argsort(-lengths, axis=1, kind="stable")
    arrays = (row_starts, np.concatenate(lists), order)
    return tuple(torch.from_numpy(part.astype(np.int32)) for part in arrays)


def _forward(q, k, v, row_starts, key_blocks, order, hidden, block_size):
    _check(q, k, v, row_starts, key_blocks, order, hidden, block_size)
    results = empty_results(q)
    lists = (row_starts, key_blocks, order)
    forward_into(*results, Sequences(q, k, v, lists, hidden, block_size))
    return results


def _backward(grad, q, k, v, out, log2_sum_exp, row_starts, key_blocks, order, hidden, block_size):
    grads = empty_gradients(q)
    lists = (row_starts, key_blocks, order)
    read = Sequences(q, k, v, lists, hidden, block_size)
    backward_into(grads, grad, out, log2_sum_exp, read)
    return grads


def forward_into(out: Tensor, log2_sum_exp: Tensor, read: Sequences) -> None:
    """Compute attention into `out` (B, H, T, D) and `log2_sum_exp` (B, H, T) float32."""
    if read.q.numel():
        library().forward(_problem(read, out, log2_sum_exp))


def backward_into(
    grads: tuple[Tensor, Tensor, Tensor],
    grad: Tensor,
    out: Tensor,
    log2_sum_exp: Tensor,
    read: Sequences,
) -> None:
    """Compute the gradients of q, k and v into `grads`, from what `forward_into` computed."""
    if read.q.numel():
        problem, grad = _problem(read, out, log2_sum_exp), _readable(grad)
        problem.grad = TensorView.of(grad)
        problem.grad_q, problem.grad_k, problem.grad_v = map(TensorView.of, grads)
        library().backward(problem)


def _check(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    row_starts: Tensor,
    key_blocks: Tensor,
    order: Tensor,
    hidden: Tensor | None,
    block_size: int,
) -> None:
    """Raise ValueError if the kernel would read outside of its tensors; it trusts the lists."""
    B, H, T, D = q.shape
    N = -(-T // block_size)
    why = shape_obstacle(D, block_size)
    if why:
        raise ValueError(f"the native kernel {why}")
    if not (q.shape == k.shape == v.shape and q.dtype == k.dtype == v.dtype):
        raise ValueError(
            f"q, k, v must have one shape and type, got {q.dtype} {tuple(q.shape)}, "
            f"{k.dtype} {tuple(k.shape)}, {v.dtype} {tuple(v.shape)}"
        )
    if q.dtype not in DTYPES:
        raise ValueError(f"q, k, v must be float32 or bfloat16, got {q.dtype}")
    lists = (row_starts, key_blocks, order)
    if row_starts.shape != (H, N + 1) or order.shape != (H, N):
        raise ValueError(
            f"the lists are of {tuple(order.shape)} heads and query blocks, expected {(H, N)}: "
            f"{T} tokens in blocks of {block_size}"
        )
    if any(x.dtype != torch.int32 or not x.is_contiguous() for x in lists):
        raise ValueError("the lists must be contiguous int32; see block_lists")
    if hidden is not None and (
        hidden.shape != (B, T) or hidden.dtype != torch.bool or not hidden.is_contiguous()
    ):
        raise ValueError(
            f"hidden must be contiguous bool {(B, T)}, got {hidden.dtype} {tuple(hidden.shape)}"
        )


def _readable(x: Tensor) -> Tensor:
    """Return x, or a copy that the kernel can read: rows in one piece, an even distance apart."""
    return x if x.stride(3) == 1 and x.stride(2) % 2 == 0 else x.contiguous()


def _problem(read: Sequences, out: Tensor, log2_sum_exp: Tensor) -> Problem:
    B, H, T, D = read.q.shape
    row_starts, key_blocks, order = read.lists
    tensors = [*map(_readable, (read.q, read.k, read.v)), out]
    problem = Problem(
        B,
        H,
        T,
        D,
        read.block_size,
        order.shape[1],
        row_starts.data_ptr(),
        key_blocks.data_ptr(),
        order.data_ptr(),
        None if read.hidden is None else read.hidden.data_ptr(),
        1 / math.sqrt(D),
        read.q.dtype == torch.bfloat16,
        torch.get_num_threads(),
        *map(TensorView.of, tensors),
        log2_sum_exp.data_ptr(),
    )
    problem.tensors = tensors  # copies must outlive the call
    return problem


define_operator(
    "block_attention",
    "Tensor row_starts, Tensor key_blocks, Tensor order, Tensor? hidden, int block_size",
    "CPU",
    _forward,
    _backward,
    empty_results,
)


def native(
    q_BHTD: Tensor,
    k_BHTD: Tensor,
    v_BHTD: Tensor,
    pattern: BlockPattern,
    key_padding_mask_BT: Tensor | None,
    dropout_p: float,
) -> Tensor:
    """Backend `native`, O(length); its first call compiles the kernel if that is not there yet."""
    # The same bytes as 0 and 1.
    hidden_BT = None if key_padding_mask_BT is None else key_padding_mask_BT.contiguous()
    out_BHTD, _ = torch.ops.dna_bigbird.block_attention(
        q_BHTD, k_BHTD, v_BHTD, *_lists(pattern), hidden_BT, pattern.block_size
    )
    return out_BHTD


@torch.compiler.assume_constant_result
def _lists(pattern: BlockPattern) -> tuple[Tensor, Tensor, Tensor]:
    """Return the lists of a pattern; torch.compile takes them as they are, for this pattern."""
    return block_lists(pattern)


def obstacle(q: Tensor, block_size: int, dropout_p: float) -> str | None:
    """Return why the kernel cannot compute queries (…, D), or None if it can."""
    if q.device.type != "cpu":
        return f"runs on a CPU, the tensors are on {q.device}"
    if q.dtype not in DTYPES:
        return f"computes float32 and bfloat16; the tensors are {q.dtype}"
    if dropout_p:
        return f"has no dropout, dropout_p is {dropout_p}; 'gather' has it"
    return shape_obstacle(q.shape[-1], block_size)
