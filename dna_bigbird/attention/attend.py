"""One call for every pattern and every backend."""

import torch
from torch import Tensor

from dna_bigbird.attention.autotune import ShapeClass, kept
from dna_bigbird.attention.backends.cpu_chunks import DTYPES as CPU_CHUNKS_DTYPES
from dna_bigbird.attention.backends.cpu_chunks import cpu_chunks
from dna_bigbird.attention.backends.dense import dense
from dna_bigbird.attention.backends.flex import flex
from dna_bigbird.attention.backends.gather import gather
from dna_bigbird.attention.kernels.native.library import is_there
from dna_bigbird.attention.kernels.native.operator import native, obstacle
from dna_bigbird.attention.kernels.triton.operator import obstacle as triton_obstacle
from dna_bigbird.attention.kernels.triton.operator import triton
from dna_bigbird.attention.patterns import BlockPattern
from dna_bigbird.core.choices import OLD_CHOICES

BACKENDS = {
    "dense": dense,
    "gather": gather,
    "cpu_chunks": cpu_chunks,
    "flex": flex,
    "native": native,
    "triton": triton,
}
OBSTACLES = {"native": obstacle, "triton": triton_obstacle}
"""Backends that are PyTorch operators, which torch.compile knows, and why they may not compute."""
CPU_CHUNKS_FROM = 1024
"""Tokens from which 'auto' takes 'cpu_chunks' on a CPU."""
MEASURED_DTYPES = (torch.float32, torch.bfloat16)


def attend(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    pattern: BlockPattern,
    key_padding_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    backend: str = "auto",
) -> Tensor:
    """Attend with a block-sparse pattern: one softmax per query over all keys it counts.

    Args:
        q, k, v: (batch, heads, length, head_dim). The last block may be ragged.
        pattern: For ceil(length / block_size) blocks and as many heads.
        key_padding_mask: (batch, length), True = padding, anywhere in the sequence.
        dropout_p: Dropout of the attention weights; the caller passes 0 in evaluation.
        backend: A name in `BACKENDS`, or 'auto': on a CPU 'native' if its kernel is built and takes
            the problem; else 'cpu_chunks' from 1,024 tokens on, 'gather' below; on a GPU what was
            measured to be the fastest there (`attention.autotune`), or 'gather' if nothing was;
            'gather' with dropout and for float16. The choice never changes the function; a named
            backend that cannot do what is asked is an error.

    Returns:
        (batch, heads, length, head_dim); zero for a query that sees no key. Under autocast in
        the type of autocast, as PyTorch's own attention.

    Raises:
        ValueError: If shapes, pattern and backend do not fit each other.
        NativeUnavailableError: If 'native' is named, is not built and cannot be.
    """
    device = q.device.type
    if torch.is_autocast_enabled(device):
        q, k, v = (x.to(torch.get_autocast_dtype(device)) for x in (q, k, v))
    check_heads(q, k, v, key_padding_mask)
    _, heads, length, _ = q.shape
    blocks = -(-length // pattern.block_size)
    if (heads, blocks) != (pattern.num_heads, pattern.num_blocks):
        raise ValueError(
            f"the pattern is for {pattern.num_heads} heads and {pattern.num_blocks} blocks of "
            f"{pattern.block_size}; got {heads} heads and {length} tokens = {blocks} blocks"
        )
    if not 0 <= dropout_p < 1:
        raise ValueError(f"dropout_p must be at least 0 and below 1, got {dropout_p}")
    backend = OLD_CHOICES.get(backend, backend)
    if backend != "auto" and backend not in BACKENDS:
        raise ValueError(f"backend must be one of auto, {', '.join(BACKENDS)}; got {backend!r}")
    arguments = (q, k, v, pattern, key_padding_mask, dropout_p)
    operator = operator_of(backend, q, pattern.block_size, dropout_p)
    if operator is not None:  # torch.compile goes on through it
        return BACKENDS[operator](*arguments)
    return _uncompiled(backend, *arguments)


def check_heads(q: Tensor, k: Tensor, v: Tensor, key_padding_mask: Tensor | None) -> None:
    """Raise ValueError if q, k and v are not alike, or the mask is not for them."""
    if q.shape != k.shape or q.shape != v.shape or q.dim() != 4:
        raise ValueError(
            f"q, k, v must have one shape (batch, heads, length, head_dim), got "
            f"{tuple(q.shape)}, {tuple(k.shape)}, {tuple(v.shape)}"
        )
    if not q.dtype == k.dtype == v.dtype:
        raise ValueError(f"q, k, v must be of one type, got {q.dtype}, {k.dtype}, {v.dtype}")
    mask, expected = key_padding_mask, (q.shape[0], q.shape[2])
    if mask is not None and (mask.shape != expected or mask.dtype != torch.bool):
        raise ValueError(
            f"key_padding_mask must be bool {expected}, True = padding; got {mask.dtype} "
            f"{tuple(mask.shape)}"
        )


@torch.compiler.disable
def _uncompiled(backend: str, q: Tensor, k: Tensor, v: Tensor, pattern: BlockPattern, *more):
    dropout_p = more[-1]
    if backend == "auto":
        training = torch.is_grad_enabled() and any(x.requires_grad for x in (q, k, v))
        backend = _fastest(q, pattern, dropout_p, training)
    with torch.autocast(q.device.type, enabled=False):
        return BACKENDS[backend](q, k, v, pattern, *more)


def operator_of(backend: str, q: Tensor, block_size: int, dropout_p: float) -> str | None:
    """Return the operator of PyTorch that computes this ('native', 'triton'), or None."""
    # torch.compile goes on through it.
    if backend in OBSTACLES:
        if why := OBSTACLES[backend](q, block_size, dropout_p):
            raise ValueError(f"backend '{backend}' {why}")
        return backend
    is_native = backend == "auto" and obstacle(q, block_size, dropout_p) is None and is_there()
    return "native" if is_native else None


def _fastest(q: Tensor, pattern: BlockPattern, dropout_p: float, training: bool) -> str:
    """Return the backend of 'auto' where it is not 'native' (docs/results/attention-backends.md)."""
    is_sparse = not pattern.covers_everything
    if q.device.type == "cuda" and is_sparse and not dropout_p and q.dtype in MEASURED_DTYPES:
        return kept(ShapeClass.of(q.dtype, q.shape[3], pattern.block_size, q.shape[2], training))
    has_chunks = q.device.type == "cpu" and q.dtype in CPU_CHUNKS_DTYPES and not dropout_p
    # Its threads disturb PyTorch's own, which a short sequence is not worth.
    return "cpu_chunks" if has_chunks and q.shape[2] >= CPU_CHUNKS_FROM else "gather"
