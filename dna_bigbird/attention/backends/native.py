"""The kernel of our own for CPUs, in C++ (`attention/kernels/native/kernel.cpp`)."""

# B batch, H heads, T tokens, D head dimension

import torch
from torch import Tensor

from dna_bigbird.attention.kernels.native.operator import DTYPES, block_lists, shape_obstacle
from dna_bigbird.attention.patterns import BlockPattern


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
