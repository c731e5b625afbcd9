"""Steps of `doctor`: the facts about the machine; nothing is changed."""

import importlib.metadata
import importlib.util
import os
import platform
import re
import shutil
import subprocess
import sysconfig
from dataclasses import dataclass
from pathlib import Path

from dna_bigbird.core.limits import usable_processors

PACKAGES = (
    "torch", "numpy", "scipy", "h5py", "safetensors", "sentencepiece", "tokenizers",
    "pytorch-lightning", "scikit-learn", "matplotlib", "snakemake", "pybedtools", "pyfaidx",
    "pysam", "pyBigWig", "transformers", "ninja",
)  # fmt: skip
"""All that computes, reads or writes; transformers and ninja are optional."""
ABSENT = "–"
PROC, SYS = Path("/proc"), Path("/sys")
GIB = 2**30


@dataclass(frozen=True)
class Machine:
    """The facts that the advice is based on."""

    processor: str
    architecture: str
    usable: int
    """Processors this process may use, hyper-threads counted, as affinity and cgroup allow."""
    physical: int
    """Processors of the machine without hyper-threads."""
    threads: int
    """Threads PyTorch computes with."""
    isas: tuple[str, ...]
    """Instruction sets of the native kernel that this processor has, best first."""
    has_bf16: bool
    """Whether the processor has bf16 dot products, and PyTorch uses them."""
    predicts_in_bf16: bool
    """Whether --precision auto chooses bf16 on the GPU, or on the CPU if there is no GPU."""
    has_onednn: bool
    has_mkl: bool
    gpus: tuple[str, ...]
    has_nvidia_driver: bool
    torch: str
    """Version of PyTorch."""


def this_machine() -> Machine:
    """Return the facts about this machine and this PyTorch."""
    import torch

    from dna_bigbird.attention.kernels.native.isa import supported_isas
    from dna_bigbird.models.precision import has_bf16_products

    gpus = range(torch.cuda.device_count()) if torch.cuda.is_available() else ()
    return Machine(
        processor=processor_name(),
        architecture=platform.machine(),
        usable=usable_processors(),
        physical=physical_processors(),
        threads=torch.get_num_threads(),
        isas=supported_isas(),
        has_bf16=has_bf16_products("cpu"),
        predicts_in_bf16=has_bf16_products("cuda" if gpus else "cpu"),
        has_onednn=torch.backends.mkldnn.is_available(),
        has_mkl=torch.backends.mkl.is_available(),
        gpus=tuple(_gpu(torch.cuda.get_device_properties(i)) for i in gpus),
        has_nvidia_driver=(PROC / "driver/nvidia/version").exists(),
        torch=torch.__version__,
    )


def versions() -> dict[str, str]:
    """Return the version of Python, of the packages that matter, and of bedtools; '–' if absent."""
    import torch

    from dna_bigbird import __version__

    installed = {"dna-bigbird": __version__, "Python": platform.python_version()}
    for name in PACKAGES:
        try:
            installed[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            installed[name] = ABSENT
    installed["torch"] = torch.__version__  # with the build, which the metadata of a wheel may lack
    installed["bedtools"] = _output_of("bedtools", "--version").removeprefix("bedtools v") or ABSENT
    return installed


def processor_name(cpuinfo: Path = PROC / "cpuinfo") -> str:
    """Return the name of the processor."""
    names = re.findall(r"^model name\s*: *(.+)$", _text(cpuinfo), flags=re.MULTILINE)
    return names[0].strip() if names else platform.processor() or platform.machine()


def physical_processors(cpuinfo: Path = PROC / "cpuinfo") -> int:
    """Count physical processors, without hyper-threads; all processors where the system does not say."""
    text = _text(cpuinfo)
    sockets = re.findall(r"^physical id\s*: *(\d+)$", text, flags=re.MULTILINE)
    cores = re.findall(r"^core id\s*: *(\d+)$", text, flags=re.MULTILINE)
    return len(set(zip(sockets, cores, strict=False))) or os.cpu_count() or 1


def memory(meminfo: Path = PROC / "meminfo", cgroup: Path = SYS / "fs/cgroup") -> str:
    """Return free and total main memory, and a container's limit."""
    kib = dict(re.findall(r"^(MemTotal|MemAvailable):\s*(\d+) kB$", _text(meminfo), re.MULTILINE))
    if len(kib) < 2:
        return "unknown"
    free, total = (int(kib[name]) * 1024 / GIB for name in ("MemAvailable", "MemTotal"))
    limit = _text(cgroup / "memory.max").strip()
    within = f"; limit {int(limit) / GIB:.1f} GiB" if limit.isdigit() else ""
    return f"{free:.1f} of {total:.1f} GiB free{within}"


def free_space(folder: Path) -> str:
    """Return the free space where a folder is, or would be made, and whether it can be written to."""
    folder = folder.absolute()
    while not folder.exists():
        folder = folder.parent
    writable = "" if os.access(folder, os.W_OK) else "; it cannot be written to"
    return f"{shutil.disk_usage(folder).free / GIB:.1f} GiB free{writable}"


def triton_obstacle(machine: Machine) -> str:
    """Return why the backend triton does not run here, or an empty text."""
    if not machine.gpus:
        return "it runs on a GPU"
    return "" if importlib.util.find_spec("triton") else "Triton is missing"


def flex_obstacle(machine: Machine) -> str:
    """Return why the backend flex does not compile here, or an empty text."""
    if machine.gpus:
        return triton_obstacle(machine)
    if machine.isas == ("portable",) and machine.architecture.lower() in ("x86_64", "amd64"):
        return "this processor has no AVX2"
    try:
        from torch._inductor.cpp_builder import get_cpp_compiler

        get_cpp_compiler()
    except Exception:  # PyTorch's own classes, in its own places
        return "no C++ compiler"
    headers = Path(sysconfig.get_path("include")) / "Python.h"
    if not headers.exists():
        return f"Python's headers are missing ({headers}): apt-get install python3-dev"
    return ""


def _gpu(properties) -> str:
    memory_gib = properties.total_memory / GIB
    return f"{properties.name}, {memory_gib:.0f} GiB, sm_{properties.major}{properties.minor}"


def _text(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""


def _output_of(program: str, *arguments: str) -> str:
    path = shutil.which(program)
    if path is None:
        return ""
    done = subprocess.run([path, *arguments], capture_output=True, text=True, check=False)
    return done.stdout.strip()
