"""One call for every pattern and every backend."""

import torch
from torch import Tensor

from dna_bigbird.attention.backends.dense import dense
from dna_bigbird.attention.backends.gather import gather
from dna_bigbird.attention.backends.merged import merged
from dna_bigbird.attention.patterns import BlockPattern

BACKENDS = {"dense": dense, "gather": gather, "merged": merged}


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
        backend: 'dense' (the oracle, O(length²)), 'gather' (O(length)), or 'auto': the fastest
            that serves every pattern, now 'gather'. The choice never changes the function.

    Returns:
        (batch, heads, length, head_dim); zero for a query that sees no key.

    Raises:
        ValueError: If shapes, pattern and backend do not fit each other.
    """
    if q.shape != k.shape or q.shape != v.shape or q.dim() != 4:
        raise ValueError(
            f"q, k, v must have one shape (batch, heads, length, head_dim), got "
            f"{tuple(q.shape)}, {tuple(k.shape)}, {tuple(v.shape)}"
        )
    batch, heads, length, _ = q.shape
    blocks = -(-length // pattern.block_size)
    if (heads, blocks) != (pattern.num_heads, pattern.num_blocks):
        raise ValueError(
            f"the pattern is for {pattern.num_heads} heads and {pattern.num_blocks} blocks of "
            f"{pattern.block_size}; got {heads} heads and {length} tokens = {blocks} blocks"
        )
    if key_padding_mask is not None and (
        key_padding_mask.shape != (batch, length) or key_padding_mask.dtype != torch.bool
    ):
        raise ValueError(
            f"key_padding_mask must be bool {(batch, length)}, True = padding; got "
            f"{key_padding_mask.dtype} {tuple(key_padding_mask.shape)}"
        )
    if not 0 <= dropout_p < 1:
        raise ValueError(f"dropout_p must be at least 0 and below 1, got {dropout_p}")
    name = "gather" if backend == "auto" else backend
    if name not in BACKENDS:
        raise ValueError(f"backend must be one of auto, {', '.join(BACKENDS)}; got {backend!r}")
    return BACKENDS[name](q, k, v, pattern, key_padding_mask, dropout_p)
