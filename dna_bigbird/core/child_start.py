"""The first instructions of a process that must not outlive the one that started it.

`child_processes` has them executed from this file before anything else, when no path of ours is set
yet: only Python's own library may be imported here.
"""

import ctypes
import os
import select
import signal
import sys
import threading
import time
from collections.abc import Callable

PR_SET_PDEATHSIG = 1  # <linux/prctl.h>
POLL_S = 0.5


def end_with_parent(parent: int, by_signal: bool, _worker: int = 0) -> None:
    """End this process when its parent does, however that ends, and at once if it is gone already."""
    # A thread waits for the end of the parent. It cannot run while another thread loads a library; the
    # signal of Linux can (`by_signal`), which comes when the *thread* that started this process ends.
    if by_signal and sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    watched = open_pidfd(parent)
    if os.getppid() != parent:  # asked last: the parent may have ended before the lines above
        os._exit(1)
    threading.Thread(target=_wait, args=(parent, watched), daemon=True).start()


def open_pidfd(pid: int) -> int | None:
    """Return a descriptor that tells the end of a process; None if there is none here."""
    try:
        return os.pidfd_open(pid)
    except (AttributeError, OSError):  # not Linux, an old one, or not allowed
        return None


def wait_for_end(watched: int | None, is_alive: Callable[[], bool]) -> None:
    """Wait for the end of a process; without a descriptor, ask again and again."""
    if watched is None:
        while is_alive():
            time.sleep(POLL_S)
    else:
        poll = select.poll()
        poll.register(watched, select.POLLIN)
        poll.poll()


def _wait(parent: int, watched: int | None) -> None:
    wait_for_end(watched, lambda: os.getppid() == parent)
    os._exit(1)
