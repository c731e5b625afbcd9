"""Memory for intermediates that a thread keeps: fresh memory costs more than filling it."""

import math
import threading

import torch
from torch import Tensor

_of_thread = threading.local()


def workspace(name: str, shape: tuple[int, ...], dtype: torch.dtype) -> Tensor:
    """Return uninitialised memory, the same for the same name and type in the same thread.

    It grows to the largest size asked for, a few megabytes per thread.
    """
    size, key = math.prod(shape), f"{name} {dtype}"
    kept = getattr(_of_thread, key, None)
    if kept is None or kept.numel() < size:
        with torch.inference_mode(False):  # kept for training too, also if inference asks first
            kept = torch.empty(size, dtype=dtype)
        setattr(_of_thread, key, kept)
    return kept[:size].view(shape)
