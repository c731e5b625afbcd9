"""The arithmetic of the models: float32 or bfloat16 autocast, and who multiplies float32."""

import contextlib
import os
from collections.abc import Iterator

import torch

from dna_bigbird.attention.kernels.native.isa import processor_flags

FLOAT32, BFLOAT16 = "32-true", "bf16-mixed"
BF16_FLAGS = {"avx512_bf16", "amx_bf16", "bf16"}
"""Dot products of bfloat16, as Linux names them: AVX-512, AMX, Arm."""
ISA_LIMITS = ("ONEDNN_MAX_CPU_ISA", "DNNL_MAX_CPU_ISA")
"""Environment variables by which oneDNN leaves instructions of the processor unused; the first
one counts."""
LIMITS_WITHOUT_BF16 = {
    "sse41",
    "avx",
    "avx2",
    "avx2_vnni",
    "avx2_vnni_2",
    "avx512_core",
    "avx512_core_vnni",
}


def resolve_precision(precision: str, device: str) -> str:
    """Return '32-true' or 'bf16-mixed'; 'auto' is the latter where the device is made for it."""
    if precision != "auto":
        return precision
    return BFLOAT16 if has_bf16_products(device) else FLOAT32


def resolve_muon_precision(muon_precision: str, precision: str, device: str) -> str:
    """Return 'float32' or 'bfloat16' for Muon's products; 'auto' is 'float32' with '32-true'."""
    if muon_precision != "auto":
        return muon_precision
    return "bfloat16" if precision != FLOAT32 and has_bf16_products(device) else "float32"


def has_bf16_products(device: str) -> bool:
    """Return True if a device multiplies bfloat16 in hardware, not via float32."""
    # On a CPU oneDNN multiplies; a limit of its instructions in the environment counts.
    if device == "cuda":
        return torch.cuda.is_bf16_supported(including_emulation=False)
    if device != "cpu" or not torch.backends.mkldnn.is_available():
        return False
    limit = next((os.environ[name] for name in ISA_LIMITS if name in os.environ), "")
    if limit.lower() in LIMITS_WITHOUT_BF16:
        return False
    return not BF16_FLAGS.isdisjoint(processor_flags() or ())


def float32_products_are_rounded() -> bool:
    """Return True if products of float32 on this CPU round their factors now; see float32_matmul."""
    setting = torch.backends.mkldnn.matmul.fp32_precision
    return setting == "bf16" and torch.cpu._is_amx_tile_supported()


@contextlib.contextmanager
def float32_matmul(by: str) -> Iterator[None]:
    """Choose who multiplies float32 matrices on the CPU, and put the choice back."""
    # 'onednn' allows oneDNN to round the factors to bfloat16. Processors with AMX do so; on others it is
    # oneDNN's plain float32, about twice as fast as MKL's on AMD.
    setting = torch.backends.mkldnn.matmul
    before = setting.fp32_precision
    if by == "onednn":
        setting.fp32_precision = "bf16"
    try:
        yield
    finally:
        if by == "onednn":
            setting.fp32_precision = before
