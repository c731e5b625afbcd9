"""What a window attends to, and how its work is cut into pieces that a device computes well."""

# B sequences, T tokens, G global keys

import math
from typing import NamedTuple

import torch
from torch import Tensor

MOST_SCORES = {"cpu": 2**18, "cuda": 2**26}
"""Scores of a unit: a megabyte stays in the cache of a CPU; a GPU should be occupied."""
BLOCKS = (256, 128, 64)
"""Queries of a block, as many as the scores allow: larger ones compute more outside of the band."""


class Windows(NamedTuple):
    """Who reads whom, of sequences whose windows have no dilation.

    Attributes:
        no_window: (B, T) bool, tokens that are in no window and have none.
        first_readers: (B, G) int64, the first token that reads a global key, and all after it do; T
            for unused entries.
        left, right: Keys of a window on either side.
    """

    no_window: Tensor
    first_readers: Tensor
    left: int
    right: int


class Cut(NamedTuple):
    """How the work is cut; the result does not depend on it, but the masks of dropout do."""

    unit: int
    block: int

    @classmethod
    def of(cls, q: Tensor, windows: Windows) -> "Cut":
        """Return the cut that a device computes well."""
        heads, T = q.shape[0] * q.shape[1], q.shape[2]
        most = MOST_SCORES.get(q.device.type, MOST_SCORES["cuda"])
        keys = min(windows.left + windows.right, T) + windows.first_readers.shape[1]
        threads = torch.get_num_threads() if q.device.type == "cpu" else 1
        unit = min(math.ceil(heads / threads), max(1, most // (BLOCKS[-1] * (BLOCKS[-1] + keys))))
        unit = math.ceil(heads / math.ceil(heads / unit))
        block = next((b for b in BLOCKS if unit * b * (b + keys) <= most), BLOCKS[-1])
        return cls(unit, block)
