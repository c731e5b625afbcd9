"""Signals that end a run: Ctrl-C, SIGTERM, and SIGUSR1 of a cluster job that is about to end.

A command takes them as exceptions (`interrupting`), a training remembers them until its step is over
(`remember`), and both leave the handlers of other programs as they were.
"""

import contextlib
import signal
import threading
import weakref
from collections.abc import Iterator
from typing import Any

from dna_bigbird.core.errors import Interrupted

SAVE = signal.SIGUSR1
"""Without a handler it ends a process. SLURM sends it once, at any time: also while a command still reads."""
ENDING = (signal.SIGINT, signal.SIGTERM)

_received: set[int] = set()
_raised: weakref.ref[Interrupted] | None = None


def interrupt() -> None:
    """Let Ctrl-C and SIGTERM raise Interrupted from now on, and SIGUSR1 be remembered, in a command."""
    _begin()
    _received.clear()
    _handle({signal.SIGINT: _raise, signal.SIGTERM: _raise, SAVE: _remember})


@contextlib.contextmanager
def interrupting() -> Iterator[None]:
    """Let Ctrl-C and SIGTERM raise Interrupted in the block, which may `remember` them instead."""
    _begin()
    before = _handle({signal.SIGINT: _raise, signal.SIGTERM: _raise, SAVE: signal.getsignal(SAVE)})
    try:
        yield
    finally:
        _received.difference_update(ENDING)
        for number, handler in before.items():
            signal.signal(number, handler)


def remember(*numbers: int) -> None:
    """Remember these signals from now on; a second Ctrl-C raises Interrupted."""
    _handle(dict.fromkeys(numbers, _remember))


def received(*numbers: int) -> int:
    """Return the most urgent of these signals that came: the exit status that ends the run, SIGUSR1, or 0."""
    came = _received.intersection(numbers)
    return max((_status(x) if x in ENDING else x for x in came), default=0)


def forget() -> None:
    """Take SIGUSR1 as answered."""
    _received.discard(SAVE)


def interrupted(status: int) -> Interrupted:
    """Return what to raise; until it is handled, further signals are ignored."""
    global _raised
    stop = Interrupted("interrupted", status)
    _raised = weakref.ref(stop)  # gone if a library has swallowed it
    return stop


def ignore() -> None:
    """Let Ctrl-C and SIGTERM change nothing any more: the process is about to end."""
    _handle(dict.fromkeys(ENDING, signal.SIG_IGN))


def status_of(stop: BaseException) -> int:
    """Return the exit status for a KeyboardInterrupt: 130, or 143 for SIGTERM."""
    return getattr(stop, "status", _status(signal.SIGINT))


def _begin() -> None:
    global _raised
    _raised = None


def _status(number: int) -> int:
    return 128 + number


def _handle(handlers: dict[int, Any]) -> dict[int, Any]:
    """Set handlers, and return those before; a signal that is ignored (nohup) stays ignored."""
    if threading.current_thread() is not threading.main_thread():
        return {}
    before = {x: signal.getsignal(x) for x in handlers}
    kept = (signal.SIG_IGN, None)  # None: not set from Python
    changed = {x: old for x, old in before.items() if old not in kept}
    for number in changed:
        signal.signal(number, handlers[number])
    return changed


def _raise(number: int, frame: object) -> None:
    if _raised is None or _raised() is None:
        raise interrupted(_status(number))
    # The first one is still being handled: a second would cut its cleaning up short.


def _remember(number: int, frame: object) -> None:
    if number == signal.SIGINT and number in _received:
        raise interrupted(_status(number))
    _received.add(number)
