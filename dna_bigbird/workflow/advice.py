"""What is slow on a machine, why, and what to do about it."""

import os

from dna_bigbird.core.choices import checked
from dna_bigbird.genome.bedtools import HOW_TO_INSTALL
from dna_bigbird.training.machine import ABSENT, Machine

BUILD = "dna-bigbird doctor --build-native"


@checked()
def advice(machine: Machine, is_built: bool) -> list[str]:
    """Return one line for everything that is slow.

    Args:
        is_built: The native CPU kernel is there.
    """
    is_x86 = machine.architecture.lower() in ("x86_64", "amd64")
    has_avx2, has_avx512 = (name in machine.isas for name in ("avx2", "avx512"))
    faults = [
        (is_x86 and not has_avx2, "this processor has no AVX2: everything is slow on it"),
        (
            is_x86 and has_avx2 and not has_avx512,
            "this processor has no AVX-512: it computes half as many numbers at a time",
        ),
        (
            not machine.has_bf16 and not machine.gpus,
            "this processor has no bf16 dot products: float32 is faster on it than bf16",
        ),
        (
            not machine.has_onednn,
            f"PyTorch {machine.torch} lacks oneDNN: bf16 layers are slow; install another build",
        ),
        (
            is_x86 and not machine.has_mkl,
            f"PyTorch {machine.torch} lacks MKL: float32 layers may be slow; install another build",
        ),
        (
            machine.has_nvidia_driver and not machine.gpus,
            f"there is an NVIDIA driver, but PyTorch {machine.torch} can use no GPU: install a "
            "build for CUDA; nvidia-smi says what the driver sees",
        ),
    ]
    first = [line for line in (_native(machine, is_built), _threads(machine)) if line]
    return first + [line for is_found, line in faults if is_found]


def missing(versions: dict[str, str]) -> list[str]:
    """Return one line for every optional program that is not there."""
    if versions["bedtools"] != ABSENT:
        return []
    return [
        "bedtools is missing, so leakage and chromatin-set --check_every have no second opinion: "
        f"{HOW_TO_INSTALL}"
    ]


def _native(machine: Machine, is_built: bool) -> str:
    if not is_built:
        return (
            f"without the native kernel attention takes several times as long on the CPU: {BUILD}"
        )
    if os.environ.get("DNA_BIGBIRD_NATIVE_ISA") not in (None, "", machine.isas[0]):
        return f"DNA_BIGBIRD_NATIVE_ISA keeps the native kernel from {machine.isas[0]}; unset it"
    return ""


def _threads(machine: Machine) -> str:
    best = min(machine.usable, machine.physical)
    if machine.threads > machine.usable:
        return (
            f"{machine.threads} threads on {machine.usable} processors wait for each other: "
            f"OMP_NUM_THREADS={best}"
        )
    if machine.threads > best:
        return (
            f"{machine.threads} threads on {best} physical processors: matrix products gain nothing "
            f"from the second thread of a processor: OMP_NUM_THREADS={best}"
        )
    if machine.threads < best:
        return (
            f"{machine.threads} of {best} processors are used: OMP_NUM_THREADS={best}, unless the "
            "others have other work"
        )
    return ""
