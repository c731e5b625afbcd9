"""How a command uses memory on the CPU; to be called before torch is imported."""

import ctypes
import os
import platform

# Numbers of <malloc.h>.
M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3
LARGEST_KEPT_BYTES = 1 << 30
KEPT_PRODUCTS = "64"


def keep_freed_memory() -> bool:
    """Let freed memory be used again instead of going back to the system.

    By default glibc returns every large block when a tensor dies, and the system clears the same
    pages again for the next one: a tenth of a training step of the base model on a CPU. The most
    that is held at any time hardly grows.

    Returns:
        False where the C library has no such switch.
    """
    if platform.libc_ver()[0] != "glibc":
        return False
    mallopt = ctypes.CDLL(None).mallopt
    settings = ((M_MMAP_THRESHOLD, LARGEST_KEPT_BYTES), (M_TRIM_THRESHOLD, 2**31 - 1))
    return all([mallopt(name, value) == 1 for name, value in settings])


def keep_few_products() -> None:
    """Let oneDNN, and PyTorch in front of it, forget products of shapes that do not come again.

    Each keeps the last 1,024 matrix products that it prepared: two gigabytes after a hundred
    bfloat16 training steps on batches of ever new lengths. A step needs about twenty, in every
    layer the same ones. The user's own values of the variables are left alone.
    """
    for name in ("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "LRU_CACHE_CAPACITY"):
        os.environ.setdefault(name, KEPT_PRODUCTS)
