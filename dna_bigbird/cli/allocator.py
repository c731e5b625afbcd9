"""Memory settings of a command on the CPU; they take effect only before torch is imported."""

import ctypes
import os
import platform

# Numbers of <malloc.h>.
M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3
LARGEST_KEPT_BYTES = 1 << 30
KEPT_PRODUCTS = "64"


def keep_freed_memory() -> bool:
    """Keep freed memory for later use instead of returning it to the system.

    By default glibc returns every large block when a tensor is freed, and the system clears the same
    pages for the next tensor: 10 % of a training step of the base model on a CPU. Peak memory hardly
    grows.

    Returns:
        False if the C library does not support it.
    """
    if platform.libc_ver()[0] != "glibc":
        return False
    mallopt = ctypes.CDLL(None).mallopt
    settings = ((M_MMAP_THRESHOLD, LARGEST_KEPT_BYTES), (M_TRIM_THRESHOLD, 2**31 - 1))
    return all([mallopt(name, value) == 1 for name, value in settings])


def keep_few_products() -> None:
    """Limit how many matrix products oneDNN and PyTorch keep prepared.

    By default each keeps 1,024: 2 GB after 100 bfloat16 training steps on batches of different
    lengths. A step needs about 20, the same in every layer. Variables that the user has set stay.
    """
    for name in ("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "LRU_CACHE_CAPACITY"):
        os.environ.setdefault(name, KEPT_PRODUCTS)
