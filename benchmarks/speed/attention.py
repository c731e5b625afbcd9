"""Time attention alone: our backends and named peers, interleaved, in one process.

    python -m benchmarks.speed attention                    # 1,024 and 4,096 tokens, a few minutes
    python -m benchmarks.speed attention --issue_table      # every row with a target, about 15 minutes
    python -m benchmarks.speed attention --device cuda --dtype bfloat16 --block_size 128 \
        --lengths 4096,16384,65536,262144             # not tried where this was written: no GPU

How the peers are made is described in peers.py. A ratio is the peer's time divided by ours, round by
round; believe it, not the milliseconds. Keys and queries are of random normal numbers.
"""

import argparse
import functools
import sys
from collections.abc import Callable

import torch

from benchmarks.lib import memory, peers
from benchmarks.lib.options import add_common, lengths, names, start
from benchmarks.lib.table import print_cases
from benchmarks.lib.targets import attention_targets, print_targets
from benchmarks.lib.timing import (
    FAILURES,
    FORWARD,
    MODES,
    TRAINING,
    Case,
    Times,
    header,
    interleaved,
    load,
    reason,
)
from dna_bigbird.attention import attend, patterns
from dna_bigbird.attention.attend import BACKENDS

# The whole score matrix for the tests; as a peer, `dense` is PyTorch's fused attention.
OURS = ("auto", *(name for name in BACKENDS if name != "dense"))
LIMITS = {
    "cpu": {"dense": 16384, "hf": 4096, "hf-strip": 16384},
    "cuda": {"hf": 16384, "hf-strip": 65536},
}
# The issue's table: mode, tokens, and who takes part in addition to `auto` ("ours": every backend).
ISSUE_CASES: tuple[tuple[str, int, tuple[str, ...]], ...] = (
    *((mode, tokens, ("dense",)) for mode in MODES for tokens in (128, 256, 512, 1024)),
    (TRAINING, 4096, ("ours", "dense", "hf-strip", "hf")),
    (TRAINING, 16384, ("ours", "dense", "hf-strip")),
    (FORWARD, 4096, ("ours", "dense", "hf-strip", "hf")),
    (FORWARD, 65536, ("ours",)),
)
ISSUE_SHAPE = {
    "batch": 1,
    "heads": 12,
    "head_dim": 64,
    "block_size": 64,
    "num_random": 3,
    "dtype": "float32",
    "device": "cpu",
}


@functools.lru_cache(maxsize=8)
def inputs(shape: peers.Shape, dtype: str, device: str) -> tuple[torch.Tensor, ...]:
    """Return q, k, v and the gradient of the output, each (batch, heads, tokens, head_dim)."""
    generator = torch.Generator().manual_seed(0)
    size = (shape.batch, shape.heads, shape.tokens, shape.head_dim)
    drawn = (torch.randn(size, generator=generator) for _ in range(4))
    return tuple(x.to(device, getattr(torch, dtype)) for x in drawn)


def prepare(options: argparse.Namespace, case: Case) -> Callable[[], object]:
    """Return one case as a function without arguments.

    Raises:
        peers.UnavailableError: If the peer cannot run here.
    """
    shape = peers.Shape(
        options.batch,
        options.heads,
        case.tokens,
        options.head_dim,
        options.block_size,
        options.num_random,
    )
    q, k, v, weight = inputs(shape, options.dtype, options.device)
    training = case.mode == TRAINING
    if case.name in OURS:
        blocks = -(-shape.tokens // shape.block_size)
        pattern = patterns.bigbird_itc(blocks, shape.block_size, shape.num_random, shape.heads)

        def attention(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
            return attend(q, k, v, pattern, backend=case.name)
    else:
        attention = peers.attention(case.name, shape, q.dtype, options.device, training=training)
    if not training:

        def forward() -> torch.Tensor:
            with torch.no_grad():
                return attention(q, k, v)

        return forward
    q, k, v = (x.detach().requires_grad_() for x in (q, k, v))
    return lambda: torch.autograd.grad(attention(q, k, v), (q, k, v), weight)


def chosen(options: argparse.Namespace) -> list[Case]:
    """Return the cases of this run, what is compared next to each other."""
    if not options.issue_table:
        names = (*options.backends, *options.peers)
        return [Case(t, m, n) for m in options.modes for t in options.lengths for n in names]
    cases = []
    for mode, tokens, names in ISSUE_CASES:
        for name in ("auto", *names):
            cases += [Case(tokens, mode, n) for n in (OURS[1:] if name == "ours" else (name,))]
    return cases


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    """Return the options."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--issue_table", action="store_true", help="the cases that have a target")
    parser.add_argument("--lengths", type=lengths, default=(1024, 4096), help="tokens, with commas")
    parser.add_argument("--backends", type=names(OURS), default=OURS, help=",".join(OURS))
    parser.add_argument(
        "--peers",
        type=names(peers.ATTENTION_PEERS),
        help=f"of {','.join(peers.ATTENTION_PEERS)}; default: all that exist on the device",
    )
    parser.add_argument("--heads", type=int, default=12)
    parser.add_argument("--head_dim", type=int, default=64)
    parser.add_argument("--block_size", type=int, default=64)
    parser.add_argument("--num_random", type=int, default=3)
    parser.add_argument("--dtype", choices=("float32", "bfloat16"), default="float32")
    parser.add_argument(
        "--at_least_ms", type=float, default=50, help="shorter calls are repeated in each round"
    )
    parser.add_argument("--no_memory", action="store_true", help="do not measure peak memory")
    for peer in ("dense", "hf", "hf-strip"):
        parser.add_argument(
            f"--{peer.replace('-', '_')}_limit", type=int, help=f"tokens up to which {peer} runs"
        )
    add_common(parser)
    options = parser.parse_args(arguments)
    if options.peers is None:
        every = peers.ATTENTION_PEERS
        options.peers = (
            every if options.device == "cuda" else tuple(p for p in every if p != "flash")
        )
    start(parser, options)
    return options


def too_long(options: argparse.Namespace, case: Case) -> str | None:
    """Return why a peer is left out at this length, or None."""
    option = f"{case.name.replace('-', '_')}_limit"
    limit = getattr(options, option, None) or LIMITS[options.device].get(case.name)
    return f"longer than --{option} {limit}" if limit and case.tokens > limit else None


def measure(
    options: argparse.Namespace, cases: list[Case]
) -> tuple[Times, dict[Case, str], dict[Case, int | str]]:
    """Return times, what cannot run with its reason, and peak memory in bytes."""
    failed: dict[Case, str] = {}
    for case in cases:
        why = too_long(options, case)
        if why:
            failed[case] = why
    make = functools.partial(prepare, options)
    peak: dict[Case, int | str] = {}
    if not options.no_memory:
        peak = memory.peaks(make, [case for case in cases if case not in failed], options.device)
    calls = {}
    for case in cases:
        if case not in failed:
            try:
                calls[case] = make(case)
            except FAILURES as error:
                failed[case] = reason(error)
    at_least_s = options.at_least_ms / 1000
    times, not_run = interleaved(calls, options.rounds, options.device, at_least_s=at_least_s)
    return times, failed | not_run, peak


def main(arguments: list[str] | None = None) -> None:
    """Print the tables."""
    options = parse(arguments)
    print("\n".join(header(options.device)))
    print(
        f"# batch {options.batch}, {options.heads} heads of {options.head_dim}, blocks of "
        f"{options.block_size}, {options.num_random} random; {options.dtype}; "
        f"median [lowest, highest] of {options.rounds} interleaved rounds"
    )
    print("# peak_MB: above q, k, v and the output's gradient; the results count")
    sys.stdout.flush()
    cases = chosen(options)
    times, failed, peak = measure(options, cases)
    columns = [name for name in peers.ATTENTION_PEERS if any(case.name == name for case in cases)]
    print_cases(cases, times, failed, peak, columns, options.batch)
    print(f"# load after the run {load()}")
    if all(getattr(options, name) == value for name, value in ISSUE_SHAPE.items()):
        print_targets(attention_targets(times, OURS[1:]))
        print(
            "# the targets are for 2 processors; this run had", torch.get_num_threads(), "threads"
        )


if __name__ == "__main__":
    main()
