"""The signal that a cluster job is about to end, remembered from a command's first moment.

Without a handler SIGUSR1 ends a process. SLURM sends it once, at any time: also while the command
still reads its inputs, or writes its result.
"""

import signal
import threading
from typing import Any

SIGNAL = signal.SIGUSR1

_received = False


def listen() -> Any:
    """Remember the signal from now on, in the main thread.

    Returns:
        The handler before, for `signal.signal`; None in another thread, which may not listen.
    """
    if threading.current_thread() is threading.main_thread():
        return signal.signal(SIGNAL, _remember)
    return None


def is_received() -> bool:
    """Return True if the signal came since `forget`."""
    return _received


def forget() -> None:
    """Take the signal as answered."""
    global _received
    _received = False


def _remember(signum: int, frame: Any) -> None:
    global _received
    _received = True
