"""`dna-bigbird doctor`."""

import os
from pathlib import Path

from dna_bigbird.choices import checked
from dna_bigbird.pipeline.advice import BUILD, advice, missing
from dna_bigbird.pipeline.machine import Machine


@checked()
def doctor(build_native: bool = False) -> None:
    """Say what this machine has, which attention backends work on it, and what is slow and why.

    The first line is the verdict, the last ones are what to do. It changes nothing, unless it is to
    build the native CPU kernel; then it says only where that is.

    Args:
        build_native: Build the native CPU kernel for this processor, unless it is there already,
            and write its path to standard output. Needs a C++ compiler and ninja.

    Examples:
        dna-bigbird doctor
        dna-bigbird doctor --build_native
    """
    if build_native:
        print(_build())
        return
    from dna_bigbird.pipeline.machine import this_machine, versions

    machine, found = this_machine(), versions()
    native_state, is_built = native()
    slow = advice(machine, is_built)
    print(verdict(machine, slow), end="\n\n")
    print(table("versions", found))
    print(table("machine", described(machine) | places()))
    print(table("attention", backends(machine) | {"native": native_state}))
    print("advice")
    for line in slow + missing(found) or ["nothing is slow that need not be"]:
        print(f"  - {line}")


def verdict(machine: Machine, slow: list[str]) -> str:
    """Return in one line where and how predictions are computed here, and whether that is slow."""
    threads = f"{machine.threads} CPU thread{'s' if machine.threads > 1 else ''}"
    where = f"on {machine.gpus[0] if machine.gpus else threads}"
    how = f"predictions are computed {where} in {'bf16' if machine.predicts_in_bf16 else 'float32'}"
    if not slow:
        return f"ready: {how}"
    return f"works: {how}; slower than need be: {slow[0]}"


def table(title: str, rows: dict[str, str]) -> str:
    """Return a heading and one line a row."""
    width = max(map(len, rows))
    return "\n".join([title, *(f"  {name:<{width}}  {value}" for name, value in rows.items()), ""])


def described(machine: Machine) -> dict[str, str]:
    """Return the machine's facts in words."""
    wanted = os.environ.get("OMP_NUM_THREADS", "not set")
    return {
        "processor": f"{machine.processor} ({machine.architecture})",
        "processors": f"{machine.usable} usable, {machine.physical} physical",
        "threads": f"{machine.threads} (OMP_NUM_THREADS {wanted})",
        "instruction sets": ", ".join(machine.isas),
        "bf16 dot products": "yes" if machine.has_bf16 else "no",
        "libraries of PyTorch": f"oneDNN {_yes(machine.has_onednn)}, MKL {_yes(machine.has_mkl)}",
        "GPU": "; ".join(machine.gpus) or "none that PyTorch can use",
    }


def places() -> dict[str, str]:
    """Return memory, folders that are written to, and where the model of the package is."""
    from dna_bigbird.attention.native.build import cache_folder
    from dna_bigbird.bundles.bundled import bundled_model
    from dna_bigbird.errors import InputError
    from dna_bigbird.pipeline.machine import free_space, memory

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
    from dna_bigbird.pipeline.machine import flex_obstacle

    obstacle = flex_obstacle(machine)
    where = "forward and backward on the GPU" if machine.gpus else "forward only on a CPU"
    return {
        "dense": "works; for tests and short sequences",
        "gather": "works",
        "merged": "works on the CPU",
        "flex": f"does not work: {obstacle}"
        if obstacle
        else f"works, {where}; compiled at first use",
    }


def native() -> tuple[str, bool]:
    """Return the state of the native kernel in words, and whether it is built."""
    from dna_bigbird.attention.native.build import built
    from dna_bigbird.attention.native.isa import best_isa
    from dna_bigbird.attention.native.tools import (
        NativeUnavailableError,
        find_compiler,
        path_with_ninja,
    )

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


def _build() -> str:
    """Build the native kernel and return its path.

    Raises:
        NativeUnavailableError: If it cannot be built here.
    """
    from dna_bigbird.attention.native.build import build
    from dna_bigbird.attention.native.isa import best_isa

    return str(build(best_isa(), verbose=True))


def _yes(has: bool) -> str:
    return "yes" if has else "no"
