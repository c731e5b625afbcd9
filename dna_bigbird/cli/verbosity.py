"""`--quiet` and `--verbose`: how much a command says on standard error. No result depends on them."""

import contextlib
import resource
import sys
import time
import traceback
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from dna_bigbird.cli.streams import errors_only
from dna_bigbird.core.errors import InputError
from dna_bigbird.core.progress import progress_shown

QUIET = ("-q", "--quiet")
VERBOSE = ("-v", "--verbose")
SWITCHES = {
    QUIET: "Show errors only: no notes, no progress, no summary of a result in files.",
    VERBOSE: "Show times and memory at the end, and the traceback of an error.",
}
"""Names of the switches -> their help."""


@dataclass(frozen=True)
class Verbosity:
    """What a command says in addition to its results and errors."""

    quiet: bool = False
    verbose: bool = False


def take_verbosity(argv: Sequence[str]) -> tuple[Verbosity, list[str]]:
    """Return what the switches ask for, and the arguments without them.

    Example:
        >>> take_verbosity(["predict", "-q", "--fasta", "x"])
        (Verbosity(quiet=True, verbose=False), ['predict', '--fasta', 'x'])
    """
    words = set(argv)
    verbosity = Verbosity(not words.isdisjoint(QUIET), not words.isdisjoint(VERBOSE))
    if verbosity.quiet and verbosity.verbose:
        raise InputError("--quiet and --verbose exclude each other; leave one out")
    return verbosity, [word for word in argv if word not in QUIET + VERBOSE]


@contextlib.contextmanager
def applied(verbosity: Verbosity) -> Iterator[None]:
    """Show no notes or bars in the block if quiet; a traceback, times and memory if verbose."""
    if verbosity.quiet:
        with errors_only(), progress_shown(False):
            yield
        return
    if not verbosity.verbose:
        yield
        return
    started_at = time.perf_counter()
    try:
        yield
    except Exception:
        traceback.print_exc()
        raise
    finally:
        print(f"dna-bigbird: {_used(time.perf_counter() - started_at)}", file=sys.stderr)


def _used(elapsed_s: float) -> str:
    """Return the time and memory of this process, as one line."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    unit = 1 if sys.platform == "darwin" else 1024
    return (
        f"time: {elapsed_s:.1f} s; processor: {used.ru_utime + used.ru_stime:.1f} s; "
        f"peak memory: {used.ru_maxrss * unit / 2**20:,.0f} MiB"
    )
