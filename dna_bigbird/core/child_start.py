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

PR_SET_PDEATHSIG = 1  # <linux/prctl.h>
POLL_S = 0.5


def end_with_parent(parent: int, by_signal: bool) -> None:
    """End this process when its parent does, however that ends, and at once if it is gone already."""
    # A thread waits for the end of the parent. It cannot run while another thread loads a library; the
    # signal of Linux can (`by_signal`), which comes when the *thread* that started this process ends.
    if by_signal and sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    try:
        watched = os.pidfd_open(parent)
    except (AttributeError, OSError):  # not Linux, an old one, or not allowed
        watched = None
    if os.getppid() != parent:  # asked last: the parent may have ended before the lines above
        os._exit(1)
    threading.Thread(target=_wait, args=(parent, watched), daemon=True).start()


def _wait(parent: int, watched: int | None) -> None:
    if watched is None:
        while os.getppid() == parent:
            time.sleep(POLL_S)
    else:
        poll = select.poll()
        poll.register(watched, select.POLLIN)
        poll.poll()
    os._exit(1)
