"""Artificial negatives made from a positive sequence, as DeePromoter and GENA-LM do."""

import numpy as np
from numpy.typing import NDArray

PARTS = 20
REPLACED = 12
"""Parts of a negative that differ from its positive; the other 8 stay where and as they are."""

ARTIFICIAL = {
    "random_base": "cut into 20 parts, 12 of them redrawn base by base (DeePromoter, BigBird)",
    "permuted": "cut into 20 parts, 12 of them shuffled among themselves (GENA-LM)",
}
NEGATIVES = ARTIFICIAL | {
    "genomic": "real windows away from every start site, similar in GC and repeat content",
    "background": "real windows away from every start site, of any content",
}
MATCHED = "genomic"
"""Windows of the genome that are like the positive; those of other types are not."""


def part_borders(length_bp: int) -> NDArray[np.int64]:
    """Return the 21 borders of the 20 parts: each `length // 20` long, the last takes the rest.

    Raises:
        ValueError: If the sequence is shorter than 20 bp.

    Example:
        >>> part_borders(47)[[0, 1, 2, 19, 20]].tolist()
        [0, 2, 4, 38, 47]
    """
    part_bp = length_bp // PARTS
    if part_bp < 1:
        raise ValueError(f"a window of {length_bp} bp cannot be cut into {PARTS} parts")
    return np.append(np.arange(PARTS) * part_bp, length_bp)


def make_negative(
    positive: NDArray[np.uint8], method: str, rng: np.random.Generator
) -> NDArray[np.uint8]:
    """Return a negative of the same length.

    `random_base` redraws 12 of the 20 parts with A, C, G, T equally likely. `permuted` moves 12
    parts among their own places; what the last part has beyond `length // 20` stays at the end,
    so that the 8 kept parts are not shifted.

    Args:
        positive: ASCII bases, (length,).

    Raises:
        ValueError: If the kind is unknown or the sequence shorter than 20 bp.
    """
    borders = part_borders(len(positive))
    changed = np.sort(rng.choice(PARTS, size=REPLACED, replace=False))
    negative = positive.copy()
    if method == "random_base":
        for part in changed:
            size = borders[part + 1] - borders[part]
            negative[borders[part] : borders[part + 1]] = rng.choice(
                np.frombuffer(b"ACGT", np.uint8), size=size
            )
    elif method == "permuted":
        part_bp = len(positive) // PARTS
        for target, source in zip(changed, rng.permutation(changed), strict=True):
            piece = positive[borders[source] : borders[source] + part_bp]
            negative[borders[target] : borders[target] + part_bp] = piece
    else:
        raise ValueError(f"unknown negatives {method!r}; there are: {', '.join(ARTIFICIAL)}")
    return negative
