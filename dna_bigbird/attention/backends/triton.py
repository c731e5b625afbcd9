"""The kernels of our own for GPUs, in Triton (`attention/kernels/triton/kernels.py`)."""

# B batch, H heads, T tokens, D head dimension

import torch
from torch import Tensor

from dna_bigbird.attention.kernels.triton.operator import (
    DTYPES,
    head_dim_obstacle,
    is_interpreted,
    package_obstacle,
    two_way_lists,
)
from dna_bigbird.attention.patterns import BlockPattern


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
