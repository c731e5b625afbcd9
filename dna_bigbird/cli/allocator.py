"""How the C library hands out memory to a command."""

import ctypes
import platform

# Numbers of <malloc.h>.
M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3
LARGEST_KEPT_BYTES = 1 << 30


def keep_freed_memory() -> bool:
    """Let freed memory be used again instead of going back to the system.

    By default glibc returns every large block when a tensor dies, and the system clears the same
    pages again for the next one: a tenth of a training step of the base model on a CPU. The most that
    is held at any time hardly grows.

    Returns:
        False where the C library has no such switch.
    """
    if platform.libc_ver()[0] != "glibc":
        return False
    mallopt = ctypes.CDLL(None).mallopt
    settings = ((M_MMAP_THRESHOLD, LARGEST_KEPT_BYTES), (M_TRIM_THRESHOLD, 2**31 - 1))
    return all([mallopt(name, value) == 1 for name, value in settings])
