"""`dna-bigbird doctor`."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

from dna_bigbird.core.choices import checked
from dna_bigbird.core.errors import InputError
from dna_bigbird.core.progress import progress_bar
from dna_bigbird.core.results import Result
from dna_bigbird.core.tables import as_columns
from dna_bigbird.genome.bedtools import HOW_TO_INSTALL
from dna_bigbird.training.machine import ABSENT, Machine

if TYPE_CHECKING:
    from dna_bigbird.attention.autotune import Device, Row, ShapeClass

# What is slow on a machine, why, and what to do about it.

BUILD = "dna-bigbird doctor --build-native"
HEAD_DIM, BLOCK_SIZES, TOKENS = 64, (64, 128), (512, 4096, 16384)


@checked()
def advice(machine: Machine, is_built: bool) -> list[str]:
    """Return one line for everything that is slow."""
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
    without = "leakage and chromatin-set --check_every have no cross-check"
    line = f"bedtools is missing, so {without}: {HOW_TO_INSTALL}"
    return [line] if versions["bedtools"] == ABSENT else []


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


@dataclass(frozen=True)
class Diagnosis(Result):
    """What works on this machine, what is slow, and what to do."""

    text: str
    """Verdict, tables and advice; after a build only the path of the native kernel."""


@checked()
def doctor(build_native: bool = False, measure: bool = False) -> Diagnosis:
    """Report what this machine has, which attention backends work on it, and what is slow and why.

    The first line is the verdict, the last lines say what to do. It changes nothing; with
    --build_native it builds the native CPU kernel and writes only its path, with --measure it times
    the attention backends on the GPU.

    Args:
        measure: Time the attention backends on the GPU, print the table, and keep the fastest for
            'auto' in training and prediction. Minutes, most of them for compiling.
        build_native: Build the native CPU kernel for this processor, unless it is there already,
            and write its path to standard output. Needs a C++ compiler and ninja.

    Examples:
        dna-bigbird doctor
        dna-bigbird doctor --build_native
        dna-bigbird doctor --measure
    """
    if build_native:
        return Diagnosis(str(build_native_kernel()))
    if measure:
        return Diagnosis(measured_table())
    from dna_bigbird.training.machine import this_machine, versions

    machine, installed = this_machine(), versions()
    native_state, is_built = native()
    slow = advice(machine, is_built)
    lines = [verdict(machine, slow), ""]
    lines.append(table("versions", installed))
    lines.append(table("machine", described(machine) | folders()))
    lines.append(table("attention", backends(machine) | {"native": native_state}))
    lines.append("advice")
    todo = slow + missing(installed) or ["nothing is slow that need not be"]
    return Diagnosis("\n".join([*lines, *(f"  - {line}" for line in todo)]))


def verdict(machine: Machine, slow: list[str]) -> str:
    """Return in one line where and how predictions are computed here, and whether that is slow."""
    threads = f"{machine.threads} CPU thread{'s' if machine.threads > 1 else ''}"
    where = f"on {machine.gpus[0] if machine.gpus else threads}"
    how = f"predictions are computed {where} in {'bf16' if machine.predicts_in_bf16 else 'float32'}"
    if not slow:
        return f"ready: {how}"
    return f"works: {how}; slower than need be: {slow[0]}"


def table(title: str, rows: dict[str, str]) -> str:
    """Return a heading and one line per row."""
    return "\n".join([title, as_columns(rows, "  "), ""])


def described(machine: Machine) -> dict[str, str]:
    """Return the machine's facts in words."""
    variable = os.environ.get("OMP_NUM_THREADS", "not set")
    return {
        "processor": f"{machine.processor} ({machine.architecture})",
        "processors": f"{machine.usable} usable, {machine.physical} physical",
        "threads": f"{machine.threads} (OMP_NUM_THREADS {variable})",
        "instruction sets": ", ".join(machine.isas),
        "bf16 dot products": "yes" if machine.has_bf16 else "no",
        "libraries of PyTorch": f"oneDNN {_yes(machine.has_onednn)}, MKL {_yes(machine.has_mkl)}",
        "GPU": "; ".join(machine.gpus) or "none that PyTorch can use",
    }


def folders() -> dict[str, str]:
    """Return memory, the folders that are written to, and the path of the bundled model."""
    from dna_bigbird.attention.kernels.native.build import cache_folder
    from dna_bigbird.bundles.bundled import bundled_model
    from dna_bigbird.training.machine import free_space, memory

    try:
        bundled = str(bundled_model())
    except InputError:
        bundled = "none in this installation"
    return {
        "memory": memory(),
        "cache": str(cache_folder()),
        "disk": f"here {free_space(Path())}, cache {free_space(cache_folder())}",
        "model without --model": bundled,
    }


def backends(machine: Machine) -> dict[str, str]:
    """Return for every backend but native whether it works here, and why not."""
    from torch.torch_version import TorchVersion

    from dna_bigbird.training.machine import flex_obstacle, triton_obstacle

    obstacle, no_triton = flex_obstacle(machine), triton_obstacle(machine)
    if machine.gpus and TorchVersion(machine.torch) < (2, 12):
        obstacle = "on a GPU it needs torch 2.12 or newer"
    where = "forward and backward on the GPU" if machine.gpus else "forward only on a CPU"
    flex, triton = f"works, {where}", "works on the GPU"
    return {
        "dense": "works; for tests and short sequences",
        "gather": "works",
        "cpu_chunks": "works on the CPU",
        "flex": f"does not work: {obstacle}" if obstacle else f"{flex}; compiled at first use",
        "triton": f"does not work: {no_triton}"
        if no_triton
        else f"{triton}; compiled at first use",
        "etc": "BigBird-ETC has forms of its own, auto and dense, which work; none of them is native",
    }


def native() -> tuple[str, bool]:
    """Return the state of the native kernel in words, and whether it is built."""
    from dna_bigbird.attention.kernels.native.build import (
        NativeUnavailableError,
        built,
        find_compiler,
        path_with_ninja,
    )
    from dna_bigbird.attention.kernels.native.isa import best_isa

    isa = best_isa()
    library = built(isa)
    if library is not None:
        return f"built for {isa}: {library}", True
    try:
        compiler = find_compiler()
        path_with_ninja()
    except NativeUnavailableError as error:
        return f"not built: {error}", False
    return f"not built; {compiler} can build it for {isa}: {BUILD}", False


def build_native_kernel() -> Path:
    from dna_bigbird.attention.kernels.native.build import build
    from dna_bigbird.attention.kernels.native.isa import best_isa

    return build(best_isa(), verbose=True)


def measured_table() -> str:
    """Measure the attention backends on the GPU and return the table."""
    import torch

    from dna_bigbird.attention.autotune import Device
    from dna_bigbird.attention.autotune_timing import measure_on_gpu

    if not torch.cuda.is_available():
        raise InputError(
            "--measure times attention backends on a GPU, and PyTorch finds none here; on a CPU there "
            "is nothing to measure. See: dna-bigbird doctor"
        )
    return measure_backends(Device.here(), measure_on_gpu)


def measure_backends(device: "Device", measured: Callable[["ShapeClass"], list["Row"]]) -> str:
    """Measure every class of problems, keep what was found, and return the table."""
    from dna_bigbird.attention.autotune import ShapeClass, choose, keep

    shapes = [  # predictions first, for their kernels compile faster
        ShapeClass("bfloat16", HEAD_DIM, block_size, tokens, training)
        for training, block_size, tokens in product((False, True), BLOCK_SIZES, TOKENS)
    ]
    lines = [f"attention backends on {device.name}, driver {device.driver}, torch {device.torch}"]
    lines.append("")
    for shape in progress_bar(shapes, desc="measuring", unit=" problems"):
        rows = measured(shape)
        keep(shape, device, rows)
        lines.append(f"{shape}: {choose(shape, device, None).backend}")
        for row in rows:
            result = f"{1000 * row.seconds:.3f} ms" if row.seconds is not None else row.reason
            lines.append(f"  {row.backend:<8} {result}")
    end = "kept for training with attention_backend auto and for predictions"
    return "\n".join([*lines, "", end])


def _yes(has: bool) -> str:
    return "yes" if has else "no"
