"""Hold the native CPU kernel against what is asked of it, interleaved, in one process.

    python -m benchmarks.speed native --threads 2           # every row, about 6 minutes

Cases: the library's attention without its dense tail (`hf-strip`) and PyTorch's fused attention over
all keys (`dense`), float32, made as in attention.py; `native`, float32; `native-bfloat16`;
`native-1-thread`; and `fma-peak`, float32 multiply-adds in registers and nothing else
(fma_peak.cpp), which says how much of the processor the kernel uses. Batch 1, 12 heads of 64, blocks
of 64, three random. All cases of forward take turns, then those of training: a process that has
trained keeps more freed memory, with which the peer takes 157 ms forward, not 215.
"""

import argparse
import ctypes
import functools
import sys
from collections.abc import Callable
from pathlib import Path

import torch

from benchmarks.lib import memory
from benchmarks.lib.options import add_common, start
from benchmarks.lib.table import print_cases
from benchmarks.lib.targets import native_targets, print_targets
from benchmarks.lib.timing import FORWARD, TRAINING, Case, header, interleaved, load
from benchmarks.speed import attention
from dna_bigbird.attention import patterns
from dna_bigbird.attention.kernels.native.build import build
from dna_bigbird.attention.kernels.native.isa import best_isa
from dna_bigbird.attention.kernels.native.operator import block_lists

PEAK = Case(0, FORWARD, "fma-peak")
CASES = (
    *(Case(1024, FORWARD, name) for name in ("native", "dense")),
    *(
        Case(4096, mode, name)
        for mode in (FORWARD, TRAINING)
        for name in ("native", "native-1-thread", "native-bfloat16", "hf-strip", "dense")
    ),
    PEAK,
    Case(65536, FORWARD, "native"),
    Case(65536, FORWARD, "native-bfloat16"),
)
MEMORY = Case(16384, TRAINING, "native")


def operations(tokens: int) -> float:
    """Return the floating-point operations of the two products, forward, without the softmax."""
    shape = attention.ISSUE_SHAPE
    size, heads = shape["block_size"], shape["heads"]
    pattern = patterns.bigbird_itc(-(-tokens // size), size, shape["num_random"], heads)
    _, key_blocks, _ = block_lists(pattern)
    return 4.0 * key_blocks.numel() * size * size * shape["head_dim"]


class Peak:
    """Multiply-adds of all threads; `operations` of one call."""

    ROUNDS = 2_000_000

    def __init__(self) -> None:
        source = Path(__file__).with_name("fma_peak.cpp")
        self._call = ctypes.CDLL(str(build(best_isa(), source=source))).dna_bigbird_fma
        self._call.restype = ctypes.c_double
        self._call.argtypes = (ctypes.c_int, ctypes.c_int64)
        self.operations = self._call(1, 1) * self.ROUNDS * torch.get_num_threads()

    def __call__(self) -> None:
        self._call(torch.get_num_threads(), self.ROUNDS)


def prepare(options: argparse.Namespace, case: Case) -> Callable[[], object]:
    """Return one case as a function without arguments."""
    shape = argparse.Namespace(**{**vars(options), **attention.ISSUE_SHAPE})
    name, _, variant = case.name.partition("-")
    if name != "native":
        return attention.prepare(shape, case)
    if variant == "bfloat16":
        shape.dtype = variant
    call = attention.prepare(shape, case._replace(name="native"))
    if variant != "1-thread":
        return call
    threads = torch.get_num_threads()

    def alone() -> None:
        torch.set_num_threads(1)
        try:
            call()
        finally:
            torch.set_num_threads(threads)

    return alone


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    """Return the options."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--no_memory", action="store_true", help="do not measure peak memory")
    parser.add_argument(
        "--at_least_ms", type=float, default=50, help="shorter calls are repeated in each round"
    )
    add_common(parser, only_cpu=True)
    options = parser.parse_args(arguments)
    start(parser, options)
    return options


def main(arguments: list[str] | None = None) -> None:
    """Print the tables."""
    options = parse(arguments)
    print("\n".join(header("cpu")))
    print(
        f"# instruction set {best_isa()}; median [lowest, highest] of {options.rounds} rounds; "
        "peak_MB: above q, k, v and the output's gradient; the results count"
    )
    sys.stdout.flush()
    peak_memory = {}
    if not options.no_memory:
        peak_memory = memory.peaks(functools.partial(prepare, options), [MEMORY], "cpu")
    peak = Peak()
    times, failed = {}, {}
    for mode in (FORWARD, TRAINING):
        calls = {
            case: peak if case == PEAK else prepare(options, case)
            for case in CASES
            if case.mode == mode
        }
        timed = interleaved(calls, options.rounds, "cpu", at_least_s=options.at_least_ms / 1000)
        times |= timed[0]
        failed |= timed[1]
    print_cases([case for case in CASES if case != PEAK], times, failed, {}, ("hf-strip", "dense"))
    print(f"# float32 multiply-adds: {peak.operations / min(times[PEAK]) / 1e9:.0f} GFLOP/s")
    print(f"# load after the run {load()}")
    work = {tokens: operations(tokens) / peak.operations for tokens in (4096, 65536)}
    print_targets(native_targets(times, PEAK, work, peak_memory.get(MEMORY)))


if __name__ == "__main__":
    main()
