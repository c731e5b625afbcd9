"""Time the gather backend beside dense attention without a mask, interleaved, in one process.

    python benchmarks/attention.py --lengths 1024,4096,16384
    python benchmarks/attention.py --lengths 512 --batch 16 --heads 4 --head_dim 32 --block_size 32

The peer is PyTorch's fused `scaled_dot_product_attention` over all keys, not a naive one. Believe
the ratio, not the milliseconds: it comes from rounds in which both ran one after the other.
"""

import argparse
import platform
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

import torch
import torch.nn.functional as F

from dna_bigbird.attention import attend, patterns


def processor() -> str:
    """Return the name of the processor, or of the GPU if there is one in use."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def seconds(call: Callable[[], object], device: str) -> float:
    """Return the time of one call, the work it left on the GPU included."""
    if device == "cuda":
        torch.cuda.synchronize()
    started_at = time.perf_counter()
    call()
    if device == "cuda":
        torch.cuda.synchronize()
    return time.perf_counter() - started_at


def calls(options: argparse.Namespace, length: int) -> dict[str, Callable[[], object]]:
    """Return what is compared, each as a function without arguments."""
    shape = (options.batch, options.heads, length, options.head_dim)
    dtype = getattr(torch, options.dtype)
    generator = torch.Generator().manual_seed(0)
    q, k, v, weight = (torch.randn(shape, generator=generator) for _ in range(4))
    q, k, v = (x.to(options.device, dtype).requires_grad_(options.backward) for x in (q, k, v))
    weight = weight.to(options.device, dtype)
    pattern = patterns.bigbird_itc(
        -(-length // options.block_size), options.block_size, options.num_random, options.heads
    )

    def run(attention: Callable[[], torch.Tensor]) -> object:
        out = attention()
        return torch.autograd.grad(out, (q, k, v), weight) if options.backward else out

    return {
        "gather": lambda: run(lambda: attend(q, k, v, pattern, backend="gather")),
        "dense": lambda: run(lambda: F.scaled_dot_product_attention(q, k, v)),
    }


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    """Return the options."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--lengths", default="1024,4096", help="tokens, separated by commas")
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--heads", type=int, default=12)
    parser.add_argument("--head_dim", type=int, default=64)
    parser.add_argument("--block_size", type=int, default=64)
    parser.add_argument("--num_random", type=int, default=3)
    parser.add_argument("--dtype", choices=("float32", "bfloat16"), default="float32")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--forward", dest="backward", action="store_false", help="forward only")
    parser.add_argument("--rounds", type=int, default=7, help="at least 7")
    parser.add_argument("--threads", type=int, default=0, help="0 leaves PyTorch alone")
    options = parser.parse_args(arguments)
    if options.rounds < 7:
        parser.error(f"--rounds {options.rounds} is below 7: medians of fewer mislead")
    return options


def main(arguments: list[str] | None = None) -> None:
    """Print one line a length."""
    options = parse(arguments)
    if options.threads:
        torch.set_num_threads(options.threads)
    device = torch.cuda.get_device_name() if options.device == "cuda" else processor()
    print(f"# {device}; {torch.get_num_threads()} threads; {platform.system()}")
    print(f"# torch {torch.__version__}; Python {platform.python_version()}")
    print(
        f"# batch {options.batch}, {options.heads} heads of {options.head_dim}, blocks of "
        f"{options.block_size}, {options.num_random} random; {options.dtype}; "
        f"{'forward and backward' if options.backward else 'forward'}; "
        f"median [lowest, highest] of {options.rounds} interleaved rounds"
    )
    print("tokens\tgather_ms\tdense_sdpa_ms\tdense_over_gather")
    for length in map(int, options.lengths.split(",")):
        both = calls(options, length)
        times: dict[str, list[float]] = {name: [] for name in both}
        for round_number in range(options.rounds + 1):
            for name, call in both.items():
                elapsed_s = seconds(call, options.device)
                if round_number:  # the first one warms up
                    times[name].append(elapsed_s)
        ratios = [d / g for d, g in zip(times["dense"], times["gather"], strict=True)]
        cells = [f"{1000 * statistics.median(times[name]):.1f}" for name in ("gather", "dense")]
        spread = f"{statistics.median(ratios):.2f} [{min(ratios):.2f}, {max(ratios):.2f}]"
        print(length, *cells, spread, sep="\t")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
