"""Options that the benchmarks share."""

import argparse
from collections.abc import Callable

import torch

from benchmarks.lib import memory
from benchmarks.lib.timing import MIN_ROUNDS, MODES


def names(allowed: tuple[str, ...]) -> Callable[[str], tuple[str, ...]]:
    """Return a parser of names that are separated by commas."""

    def parse(text: str) -> tuple[str, ...]:
        parts = tuple(part for part in text.split(",") if part)
        for name in parts:
            if name not in allowed:
                raise argparse.ArgumentTypeError(f"{name!r} is not one of {', '.join(allowed)}")
        return parts

    return parse


def lengths(text: str) -> tuple[int, ...]:
    """Parse numbers of tokens that are separated by commas."""
    return tuple(int(part) for part in text.split(","))


def add_common(parser: argparse.ArgumentParser, *, only_cpu: bool = False) -> None:
    """Add the options that every benchmark has; with `only_cpu` those of one fixed problem."""
    if only_cpu:
        parser.set_defaults(device="cpu")
    else:
        parser.add_argument("--batch", type=int, default=1)
        parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
        parser.add_argument("--modes", type=names(MODES), default=MODES)
    parser.add_argument("--rounds", type=int, default=MIN_ROUNDS, help=f"at least {MIN_ROUNDS}")
    parser.add_argument("--threads", type=int, default=0, help="0 leaves PyTorch alone")
    parser.add_argument(
        "--memory_limit_gb",
        type=float,
        default=0.8 * memory.available_bytes() / 1e9,
        help="CPU: what needs more is reported as not fitting (default: 0.8 of what is free)",
    )


def add_cpu_time(parser: argparse.ArgumentParser) -> None:
    """Add the option of benchmarks that can also count processor time."""
    parser.add_argument(
        "--cpu_time",
        action="store_true",
        help="processor time of all threads instead of the clock: for a busy machine, with "
        "GOMP_SPINCOUNT=0 so that waiting threads do not count",
    )


def start(parser: argparse.ArgumentParser, options: argparse.Namespace) -> None:
    """Check and apply the options of `add_common`."""
    if options.rounds < MIN_ROUNDS:
        parser.error(f"--rounds {options.rounds} is below {MIN_ROUNDS}: medians of fewer mislead")
    if options.device == "cuda" and not torch.cuda.is_available():
        parser.error("--device cuda: PyTorch finds no GPU here")
    if options.threads:
        torch.set_num_threads(options.threads)
    if options.device == "cpu":
        memory.limit(int(options.memory_limit_gb * 1e9))
