"""Runs the command line within this process and holds it to its promise, whatever the input.

The promise: status 0 and an answer, or status 2, one line on standard error and nothing written.
Never another exception, never a hang.
"""

import contextlib
import faulthandler
import io
import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st

from dna_bigbird.cli.main import main
from dna_bigbird.core.errors import InputError

HANG_S = 120
"""A run of these sizes takes hundredths of a second; this ends one that would never end."""
QUIET = {
    "deadline": None,
    "database": None,
    "suppress_health_check": list(HealthCheck),
}
EXACT = ("--precision", "32-true", "--backend", "gather")


class Hang(BaseException):
    """Not an Exception, so that nothing takes it for bad input."""


@dataclass(frozen=True)
class Outcome:
    """What a run came to."""

    status: int
    out: str
    error: str
    """The one line of status 2, else empty."""


def bounded(examples: int) -> settings:
    """Return settings under which every run of the tests draws the same inputs."""
    return settings(max_examples=examples, derandomize=True, **QUIET)


def few(check: Callable, strategy: st.SearchStrategy, *, examples: int) -> None:
    """Hold some random inputs to a check, the same ones in every run of the tests."""

    @bounded(examples)
    @given(drawn=strategy)
    def run_all(drawn):
        check(drawn)

    run_all()


def many(check: Callable, *strategies, examples: int, start: int) -> None:
    """Hold many random inputs to a check; the same ones for the same `start`.

    Args:
        examples: How many, unless DNA_BIGBIRD_FUZZ_EXAMPLES says another number.
    """
    examples = int(os.environ.get("DNA_BIGBIRD_FUZZ_EXAMPLES", examples))
    print(f"seed {start}, {examples} examples")

    @seed(start)
    @settings(max_examples=examples, print_blob=True, **QUIET)
    @given(drawn=st.tuples(*strategies))
    def run_all(drawn):
        check(*drawn)

    run_all()


@contextlib.contextmanager
def _no_hang() -> Iterator[None]:
    def stop(*_):
        raise Hang(f"still running after {HANG_S} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(HANG_S)
    # Where C code never gives the interpreter a turn, the whole run ends with every stack.
    faulthandler.dump_traceback_later(2 * HANG_S, exit=True, file=sys.__stderr__)
    try:
        yield
    finally:
        faulthandler.cancel_dump_traceback_later()
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def answer(read: Callable[[], object]) -> object:
    """Return what a reader gives, or None if it refuses the input with one line.

    Raises:
        Exception: Any other error of it; `Hang`.
    """
    with _no_hang():
        try:
            return read()
        except InputError as error:
            refusal = str(error)
    assert len(refusal.splitlines()) == 1, refusal
    assert len(refusal) < 4000
    return None


def run(*argv: object, stdin: bytes = b"", reports: bool = False) -> Outcome:
    """Run `dna-bigbird` and return what it came to.

    Args:
        reports: The command also writes lines of progress to standard error.

    Raises:
        AssertionError: If it ends in another way than the promise allows, or says more or less than
            one line of error.
    """
    out, err, status = io.StringIO(), io.StringIO(), 0
    given_in, sys.stdin = sys.stdin, io.TextIOWrapper(io.BufferedReader(io.BytesIO(stdin)))
    try:
        with _no_hang(), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            try:
                main([str(a) for a in argv])
            except SystemExit as stop:
                status = stop.code
    finally:
        sys.stdin = given_in
    lines = [x for x in err.getvalue().splitlines() if not x.startswith("dna-bigbird: note: ")]
    if reports:
        lines = [x for x in lines if x.startswith(("dna-bigbird: ", "Traceback"))]
    assert status in (0, 2), (status, err.getvalue())
    if status == 0:
        assert lines == []
        return Outcome(0, out.getvalue(), "")
    assert len(lines) == 1, err.getvalue()
    assert lines[0].startswith("dna-bigbird: error: "), lines
    return Outcome(2, out.getvalue(), lines[0])


def run_to_file(*argv: object, output: Path, others: Sequence[str] = ()) -> Outcome:
    """Run with `--output`, the only file that the run may leave in its folder.

    Args:
        others: Names that may lie beside it after success, such as an index.
    """
    for old in output.parent.iterdir():
        old.unlink()
    outcome = run(*argv, "--output", output)
    left = {path.name for path in output.parent.iterdir()}
    if outcome.status == 0:
        assert output.name in left
        assert left <= {output.name, *others}
    else:
        assert left == set()
    return outcome
