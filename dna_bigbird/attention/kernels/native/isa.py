"""Which instruction sets the native kernel is compiled for, and which this processor has."""

import os
import platform
from pathlib import Path

import torch

from dna_bigbird.core.errors import InputError

ISAS = ("avx512_bf16", "avx512", "avx2", "portable")
"""Best first. 'portable' is what the compiler makes of plain C++, on any processor."""

_AVX512 = ("-mavx512f", "-mavx512bw", "-mavx512vl", "-mavx512dq")
FLAGS: dict[str, tuple[str, ...]] = {
    "avx512_bf16": (*_AVX512, "-mavx512bf16", "-mfma", "-mf16c"),
    "avx512": (*_AVX512, "-mfma", "-mf16c"),
    "avx2": ("-mavx2", "-mfma"),
    "portable": (),
}
"""Compiler options of each. Never -march=native: a home folder may be shared by several machines."""

VARIABLE = "DNA_BIGBIRD_NATIVE_ISA"
X86 = ("x86_64", "amd64")
CPUINFO = Path("/proc/cpuinfo")


def supported_isas(cpuinfo: Path = CPUINFO, machine: str | None = None) -> tuple[str, ...]:
    """Return what this processor can run, best first; always ends with 'portable'."""
    if (machine or platform.machine()).lower() not in X86:
        return ("portable",)
    flags = processor_flags(cpuinfo)
    if flags is None:
        return tuple(isa for isa in ISAS if _torch_has(isa))
    return tuple(isa for isa in ISAS if {_flag_of(option) for option in FLAGS[isa]} <= flags)


def best_isa() -> str:
    """Return DNA_BIGBIRD_NATIVE_ISA (InputError if the processor lacks it), else its best."""
    supported = supported_isas()
    chosen = os.environ.get(VARIABLE)
    if not chosen:
        return supported[0]
    if chosen not in supported:
        lack = "this processor lacks it" if chosen in ISAS else "there is none of that name"
        raise InputError(
            f"{VARIABLE} is {chosen!r}, but {lack}; expected one of {', '.join(supported)}, or unset it"
        )
    return chosen


def processor_flags(cpuinfo: Path = CPUINFO) -> set[str] | None:
    """Return what Linux lists of the first processor, x86 or Arm; None where nothing tells."""
    try:
        lines = cpuinfo.read_text(errors="replace").splitlines()
    except OSError:
        return None
    texts = (line.partition(":")[2] for line in lines if line.startswith(("flags", "Features")))
    text = next(texts, None)
    return None if text is None else set(text.split())


def _flag_of(option: str) -> str:
    """Return how Linux names what a compiler option needs."""
    name = option.removeprefix("-m")
    return {"avx512bf16": "avx512_bf16"}.get(name, name)


def _torch_has(isa: str) -> bool:
    level = torch.backends.cpu.get_cpu_capability()
    has_bf16 = getattr(torch.cpu, "_is_avx512_bf16_supported", lambda: False)
    return {
        "avx512_bf16": lambda: level == "AVX512" and has_bf16(),
        "avx512": lambda: level == "AVX512",
        "avx2": lambda: level in ("AVX2", "AVX512"),
        "portable": lambda: True,
    }[isa]()
