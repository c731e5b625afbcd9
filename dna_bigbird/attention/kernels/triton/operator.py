"""The Triton kernels as a PyTorch operator: `dna_bigbird::triton_block_attention`; backend `triton`.

Triton is imported at the first call.
"""

import contextlib
import functools
import importlib.util
import math

import numpy as np
import torch
from torch import Tensor

from dna_bigbird.attention.kernels.native.operator import block_lists
from dna_bigbird.attention.kernels.operators import define_operator, empty_gradients, empty_results
from dna_bigbird.attention.packing import Sequences
from dna_bigbird.attention.patterns import BlockPattern

# B batch, H heads, T tokens, N blocks, D head dimension


@functools.lru_cache(maxsize=1024)
@torch.inference_mode(False)  # kept for training too, also if inference asks first
def two_way_lists(pattern: BlockPattern, device: torch.device) -> tuple[Tensor, Tensor, Tensor]:
    """Return (starts, blocks, order) as `block_lists`, of both directions: (2, …) int32."""
    # First the key blocks that each query block reads, then the query blocks that read each key block.
    starts, blocks, order = (part.numpy() for part in block_lists(pattern))
    H, N = order.shape
    lengths = np.diff(starts, axis=1).ravel()
    key_of_slot = np.repeat(np.arange(H), lengths.reshape(H, N).sum(axis=1)) * N + blocks
    row_of_slot = np.repeat(np.arange(H * N) % N, lengths)
    readers = row_of_slot[np.argsort(key_of_slot, kind="stable")]
    counts = np.bincount(key_of_slot, minlength=H * N).reshape(H, N)
    ends = counts.cumsum().reshape(H, N)
    reader_starts = np.concatenate([ends[:, :1] - counts[:, :1], ends], axis=1)
    reader_order = np.argsort(-counts, axis=1, kind="stable")
    pairs = ((starts, reader_starts), (blocks, readers), (order, reader_order))
    return tuple(torch.from_numpy(np.stack(pair).astype(np.int32)).to(device) for pair in pairs)


DTYPES = (torch.float32, torch.bfloat16)
MOST_HEAD_DIM = 128


def package_obstacle() -> str | None:
    """Return what is not installed, or None."""
    if importlib.util.find_spec("triton") is None:
        return "needs the package triton, which PyTorch for CUDA installs; use 'gather'"
    return None


def head_dim_obstacle(head_dim: int) -> str | None:
    """Return why the kernels cannot compute heads of this size, or None if they can."""
    if head_dim > MOST_HEAD_DIM:
        return f"takes head dimensions up to {MOST_HEAD_DIM}, got {head_dim}"
    return None


def is_interpreted() -> bool:
    """Return True if Triton interprets the kernels on the CPU (TRITON_INTERPRET=1), for tests."""
    from dna_bigbird.attention.kernels.triton import kernels

    return type(kernels.forward).__name__ == "InterpretedFunction"


def tuning(dtype: torch.dtype, head_dim: int, block_size: int) -> tuple[int, int, int]:
    """Return the tokens of a tile, num_warps and num_stages that fit on an H100. Not tuned."""
    most = 64 if dtype == torch.bfloat16 else 32
    tile = min(most, power_of_2(block_size))
    return tile, 8 if head_dim > 64 else 4, 2


def power_of_2(number: int) -> int:
    """Return the smallest side of a tile that holds a number: a power of 2, at least 16."""
    return max(16, 1 << (number - 1).bit_length())


def _forward(q, k, v, starts, blocks, order, hidden, block_size):
    _check(q, k, v, order, hidden, block_size)
    results = empty_results(q)
    forward_into(*results, Sequences(q, k, v, (starts, blocks, order), hidden, block_size))
    return results


def _backward(grad, q, k, v, out, log2_sum_exp, starts, blocks, order, hidden, block_size):
    grads = empty_gradients(q)
    read = Sequences(q, k, v, (starts, blocks, order), hidden, block_size)
    backward_into(grads, grad, out, log2_sum_exp, read)
    return grads


def forward_into(out: Tensor, log2_sum_exp: Tensor, read: Sequences) -> None:
    """As `native.operator.forward_into`; `read` has `two_way_lists`."""
    rows = tuple(part[0] for part in read.lists)
    tensors = (*map(_readable, (read.q, read.k, read.v)), out)
    _launch("forward", tensors, (log2_sum_exp,), rows, read)


def backward_into(
    grads: tuple[Tensor, ...], grad: Tensor, out: Tensor, log2_sum_exp: Tensor, read: Sequences
) -> None:
    """As `native.operator.backward_into`."""
    inputs = tuple(map(_readable, (grad, read.q, read.k, read.v)))
    vectors = (log2_sum_exp, torch.empty_like(log2_sum_exp))
    rows, readers = zip(*read.lists, strict=True)
    _launch("backward_of_queries", (*inputs, out, grads[0]), vectors, rows, read)
    _launch("backward_of_keys", (*inputs, *grads[1:]), vectors, readers, read)


def _check(
    q: Tensor, k: Tensor, v: Tensor, order: Tensor, hidden: Tensor | None, block_size: int
) -> None:
    """Raise ValueError if the kernels would read outside of their tensors; lists are trusted."""
    B, H, T, D = q.shape
    if why := head_dim_obstacle(D):
        raise ValueError(f"the Triton kernel {why}")
    if not (q.shape == k.shape == v.shape and q.dtype == k.dtype == v.dtype and q.dtype in DTYPES):
        raise ValueError(
            "q, k, v must have one shape, all float32 or all bfloat16, got "
            + ", ".join(f"{x.dtype} {tuple(x.shape)}" for x in (q, k, v))
        )
    if order.shape != (2, H, -(-T // block_size)):
        raise ValueError(
            f"the lists are of {tuple(order.shape)} directions, heads and blocks, expected "
            f"{(2, H, -(-T // block_size))}: {T} tokens in blocks of {block_size}"
        )
    if hidden is not None and (hidden.shape != (B, T) or not hidden.is_contiguous()):
        raise ValueError(f"hidden must be contiguous {(B, T)}, got {tuple(hidden.shape)}")
    tensors = [x for x in (q, k, v, order, hidden) if x is not None]
    if {x.device for x in tensors} != {q.device}:
        raise ValueError(
            f"all tensors must be on {q.device}, got {[str(x.device) for x in tensors]}"
        )


def _readable(x: Tensor) -> Tensor:
    """Return x, or a copy that the kernels can read: each row in one piece."""
    return x if x.stride(3) == 1 else x.contiguous()


def _launch(
    kernel: str,
    tensors: tuple[Tensor, ...],
    vectors: tuple[Tensor, ...],
    lists: tuple[Tensor, ...],
    read: Sequences,
) -> None:
    """Run a kernel over all tiles; arguments in the order of the kernel's."""
    from dna_bigbird.attention.kernels.triton import kernels

    B, H, T, D = tensors[0].shape
    N, block_size, hidden = lists[2].shape[1], read.block_size, read.hidden
    tile, warps, stages = tuning(tensors[0].dtype, D, block_size)
    programs = B * H * N * -(-block_size // tile)
    if hidden is not None:
        hidden = hidden.view(torch.uint8)  # the same bytes as 0 and 1
    on_device = torch.cuda.device(tensors[0].device) if tensors[0].is_cuda else None
    if not programs:
        return
    with on_device or contextlib.nullcontext():
        getattr(kernels, kernel)[(programs,)](
            *tensors, *vectors, hidden, *lists, *(x.stride()[:3] for x in tensors),
            H, N, T, 1 / math.sqrt(D), block_size, D, tile, power_of_2(D),
            num_warps=warps, num_stages=stages,
        )  # fmt: skip


define_operator(
    "triton_block_attention",
    "Tensor starts, Tensor blocks, Tensor order, Tensor? hidden, int block_size",
    ("CPU", "CUDA"),
    _forward,
    _backward,
    empty_results,
)


def triton(
    q_BHTD: Tensor,
    k_BHTD: Tensor,
    v_BHTD: Tensor,
    pattern: BlockPattern,
    key_padding_mask_BT: Tensor | None,
    dropout_p: float,
) -> Tensor:
    """Backend `triton`, O(length); each dtype, block size and head dimension is compiled once."""
    hidden_BT = None if key_padding_mask_BT is None else key_padding_mask_BT.contiguous()
    out_BHTD, _ = torch.ops.dna_bigbird.triton_block_attention(
        q_BHTD, k_BHTD, v_BHTD, *_lists(pattern, q_BHTD.device), hidden_BT, pattern.block_size
    )
    return out_BHTD


@torch.compiler.assume_constant_result
def _lists(pattern: BlockPattern, device: torch.device) -> tuple[Tensor, Tensor, Tensor]:
    """Return the lists of a pattern; torch.compile takes them as they are, for this pattern."""
    return two_way_lists(pattern, device)


def obstacle(q: Tensor, block_size: int, dropout_p: float) -> str | None:
    """Return why the kernels cannot compute queries (…, D), or None; any block size will do."""
    if why := _machine_obstacle(q.device.type):
        return why
    if q.dtype not in DTYPES:
        return f"computes float32 and bfloat16; the tensors are {q.dtype}"
    if dropout_p:
        return f"has no dropout, dropout_p is {dropout_p}; 'gather' has it"
    return head_dim_obstacle(q.shape[-1])


@torch.compiler.assume_constant_result
def _machine_obstacle(device_type: str) -> str | None:
    """Return what is missing on this machine for tensors on this device, or None."""
    if why := package_obstacle():
        return why
    if device_type != "cuda" and not (device_type == "cpu" and is_interpreted()):
        return f"runs on a GPU, the tensors are on {device_type}; use 'gather'"
    return None
