"""How long `dna-bigbird COMMAND --help` takes, next to a bare interpreter and to the standard library's option parser.

    python -m tools.help
    python -m tools.help --commands predict,embed --rounds 15 --cpu_time

Each call is a process of its own. Every round calls all commands and both peers in turn, every
second round backwards, after a round that warms up the disk cache. A ratio is the time of a command
divided by that of the peer, round by round.
"""

import argparse
import resource
import subprocess
import sys
from collections.abc import Callable, Sequence
from functools import partial

from benchmarks.lib.options import add_cpu_time, names
from benchmarks.lib.timing import MIN_ROUNDS, Case, header, interleaved, ratio, spread
from dna_bigbird.cli.commands import every_command

LIMIT_S = 0.5
"""What the help of a command may take on two free cores."""
PYTHON = "python -c pass"
PARSER = "import argparse"
PEERS = {PYTHON: ["-c", "pass"], PARSER: ["-c", PARSER]}
OVERVIEW = "overview"
"""`dna-bigbird --help`."""


def call_of(name: str) -> Callable[[], object]:
    """Return a function that starts a peer, or the help of a command, and waits for its end."""
    words = [] if name == OVERVIEW else name.split()
    arguments = PEERS.get(name) or ["-m", "dna_bigbird", *words, "--help"]
    argv = [sys.executable, *arguments]
    return partial(subprocess.run, argv, check=True, stdout=subprocess.DEVNULL)


def processor_seconds() -> float:
    """Return the processor time of all processes that were started and have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def main(argv: Sequence[str] | None = None) -> None:
    """Measure and print the table."""
    commands = (OVERVIEW, *every_command())
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--commands", type=names(commands), default=commands)
    parser.add_argument("--rounds", type=int, default=MIN_ROUNDS, help=f"at least {MIN_ROUNDS}")
    add_cpu_time(parser)
    options = parser.parse_args(argv)
    cases = {name: Case(0, "help", name) for name in (*PEERS, *options.commands)}
    calls = {case: call_of(name) for name, case in cases.items()}
    clock = {"clock": processor_seconds} if options.cpu_time else {}
    print(*header("cpu"), sep="\n")
    times, _ = interleaved(calls, options.rounds, "cpu", **clock)
    print("command", "median_s", *(f"this / {peer}" for peer in PEERS), sep="\t")
    for name, case in cases.items():
        ratios = [ratio(times, case, cases[peer]) for peer in PEERS]
        print(name, f"{spread(times[case]).median:.3f}", *ratios, sep="\t")
    slow = [name for name, case in cases.items() if spread(times[case]).median > LIMIT_S]
    print(f"# slower than {LIMIT_S} s: {', '.join(slow) or 'none'}")


if __name__ == "__main__":
    main()
