"""Processor time and memory per token by length, and a table of it."""

import argparse
import functools
import statistics
import time
from collections.abc import Callable, Collection, Mapping

import torch

from benchmarks.lib import memory
from benchmarks.lib.timing import FAILURES, Case, Times, interleaved, ratio, reason

GOAL_PER_TOKEN = 1.5


def measure(
    options: argparse.Namespace,
    cases: list[Case],
    prepare: Callable[[argparse.Namespace, Case], Callable[[], object]],
) -> tuple[Times, dict[Case, str], dict[Case, int | str]]:
    """Return processor times, what cannot run with its reason, and peak memory in bytes.

    Args:
        prepare: Returns one case as a function without arguments; picklable.
    """
    make = functools.partial(prepare, options)
    peak = {} if options.no_memory else memory.peaks(make, cases, "cpu")
    times: Times = {}
    failed: dict[Case, str] = {}
    for tokens in options.lengths:  # one length at a time: the inputs of all would fill the memory
        calls = {}
        for case in cases:
            if case.tokens == tokens and not isinstance(peak.get(case), str):
                try:
                    calls[case] = make(case)
                except FAILURES as error:
                    failed[case] = reason(error)
        of_length, not_run = interleaved(calls, options.rounds, "cpu", clock=time.process_time)
        times |= of_length
        failed |= not_run
    return times, failed, peak


def row(
    case: Case, times: Times, failed: dict[Case, str], peak: dict[Case, int | str], reference: str
) -> list[object]:
    """Return one line of the table; the last column is the time divided by that of `reference`."""
    memory_of_case = peak.get(case, "")
    columns: list[object] = [case.tokens, case.name]
    if case not in times:
        return [*columns, f"not run: {failed.get(case) or memory_of_case}"]
    median = statistics.median(times[case])
    columns += [f"{median:.3f}", f"{1e6 * median / case.tokens:.1f}"]
    if isinstance(memory_of_case, int):
        columns += [f"{memory_of_case / 1e6:.0f}", f"{memory_of_case / 1e3 / case.tokens:.1f}"]
    else:
        columns += [memory_of_case, ""]
    relative = ratio(times, case, case._replace(name=reference))
    return [*columns, "" if relative is None or case.name == reference else str(relative)]


def print_table(
    cases: list[Case],
    times: Times,
    failed: dict[Case, str],
    peak: dict[Case, int | str],
    reference: str,
) -> None:
    """Print one line per case."""
    print("tokens", "variant", "median_s", "us per token", "peak_MB", "peak_kB per token",
          f"time / {reference}", sep="\t")  # fmt: skip
    for case in cases:
        print(*row(case, times, failed, peak, reference), sep="\t")


def print_growth(cases: list[Case], times: Times, peak: dict[Case, int | str]) -> None:
    """Print how many times more a token costs at each length than at the first."""
    cases = [case for case in cases if case in times]
    for case in cases[1:]:
        first = cases[0]
        medians = [statistics.median(times[x]) / x.tokens for x in (first, case)]
        text = f"time {medians[1] / medians[0]:.2f}"
        if isinstance(peak.get(first), int) and isinstance(peak.get(case), int):
            per_token = [peak[x] / x.tokens for x in (first, case)]
            text += f", memory {per_token[1] / per_token[0]:.2f}"
        print(f"# per token, {case.tokens} / {first.tokens} tokens: {text} (goal {GOAL_PER_TOKEN})")


def differentiated(
    output: Callable[[], torch.Tensor], inputs: tuple[torch.Tensor, ...]
) -> Callable[[], object]:
    """Return forward and backward as a function without arguments; an input may be unused."""

    def call() -> object:
        out = output()
        return torch.autograd.grad(out, inputs, torch.ones_like(out), allow_unused=True)

    return call


def report(
    options: argparse.Namespace,
    cases: list[Case],
    prepare: Callable[[argparse.Namespace, Case], Callable[[], object]],
    *,
    reference: str,
    peers: Mapping[str, str],
    growing: Collection[str],
    goal: float | None = None,
) -> None:
    """Measure all cases, and print the table, the time of peers and the growth per token.

    Args:
        peers: Our variant that each peer is compared with.
        growing: Variants whose growth is printed.
        goal: Of the ratios to peers.
    """
    times, failed, peak = measure(options, cases, prepare)
    print_table(cases, times, failed, peak, reference=reference)
    aim = "" if goal is None else f" (goal {goal:.0f})"
    for case in cases:
        own = case._replace(name=peers.get(case.name, ""))
        relative = ratio(times, case, own)
        if relative is not None:
            print(f"# {case.tokens} tokens: {case.name} / {own.name} {relative}{aim}")
    for name in growing:
        of_name = [case for case in cases if case.name == name]
        if len(of_name) > 1:
            print(f"# {name}:")
            print_growth(of_name, times, peak)
