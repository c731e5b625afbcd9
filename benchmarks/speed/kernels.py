"""Time several versions of the native kernel's source, interleaved, in one process.

    git worktree add /tmp/before HEAD~1
    python -m benchmarks.speed kernels --threads 1 \
        /tmp/before/dna_bigbird/attention/kernels/native/kernel.cpp dna_bigbird/attention/kernels/native/kernel.cpp

A ratio is the time of the first one divided by that of the line. Batch 1, 12 heads of 64, blocks of
64, three random. Versions with another interface.h than this checkout's cannot be compared.
"""

import argparse
from collections.abc import Callable
from pathlib import Path

from benchmarks.lib.options import add_common, lengths, names, start
from benchmarks.lib.table import print_cases
from benchmarks.lib.timing import MODES, Case, header, interleaved
from benchmarks.speed import attention
from dna_bigbird.attention.kernels.native import operator
from dna_bigbird.attention.kernels.native.build import build
from dna_bigbird.attention.kernels.native.isa import best_isa
from dna_bigbird.attention.kernels.native.library import Library


def prepare(options: argparse.Namespace, case: Case, kernel: Library) -> Callable[[], object]:
    """Return one case as a function without arguments that uses this kernel."""
    shape = argparse.Namespace(**attention.ISSUE_SHAPE)
    shape.dtype = options.dtype
    call = attention.prepare(shape, case._replace(name="native"))

    def with_kernel() -> object:
        operator.library = lambda: kernel
        return call()

    return with_kernel


def main(arguments: list[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("sources", type=Path, nargs="+", help="kernel.cpp of each version")
    parser.add_argument("--lengths", type=lengths, default=(4096,), help="tokens, with commas")
    parser.add_argument("--dtype", choices=("float32", "bfloat16"), default="float32")
    parser.add_argument("--modes", type=names(MODES), default=MODES)
    add_common(parser, only_cpu=True)
    options = parser.parse_args(arguments)
    start(parser, options)
    print("\n".join(header("cpu")))
    print(f"# instruction set {best_isa()}; {options.dtype}; median of {options.rounds} rounds")
    kernels = {str(path): Library(build(best_isa(), source=path)) for path in options.sources}
    cases = [
        Case(tokens, mode, name)
        for tokens in options.lengths
        for mode in options.modes
        for name in kernels
    ]
    calls = {case: prepare(options, case, kernels[case.name]) for case in cases}
    usual = operator.library
    try:
        times, failed = interleaved(calls, options.rounds, "cpu")
    finally:
        operator.library = usual
    print_cases(cases, times, failed, {}, [str(options.sources[0])])


if __name__ == "__main__":
    main()
