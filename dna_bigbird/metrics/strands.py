"""How far the predictions of the two strands of a sequence agree."""

import numpy as np
from numpy.typing import NDArray

from dna_bigbird.models.label_types import MULTI_CLASS, REGRESSION

# N rows, L labels, classes or targets


def strand_agreement(
    label_type: str, forward_NL: NDArray, reverse_NL: NDArray
) -> dict[str, float | None]:
    """Return the flip rate and the correlation of the scores of both strands; None is not defined.

    Args:
        forward_NL: Probabilities or targets of the sequences as they are.
        reverse_NL: Of their reverse complements.

    Returns:
        `flip_rate`: share of rows with another likeliest class; of labels, share of values on the other
        side of one half; absent for targets. `correlation`: Pearson's over rows and columns, without the
        first class, which follows from the others.

    Example:
        >>> forward, reverse = np.array([[0.9], [0.2], [0.6]]), np.array([[0.8], [0.1], [0.3]])
        >>> agreement = strand_agreement("binary", forward, reverse)
        >>> [round(agreement[name], 3) for name in ("flip_rate", "correlation")]
        [0.333, 0.948]
    """
    agreement: dict[str, float | None] = {}
    if label_type == MULTI_CLASS:
        agreement["flip_rate"] = float((forward_NL.argmax(1) != reverse_NL.argmax(1)).mean())
        forward_NL, reverse_NL = forward_NL[:, 1:], reverse_NL[:, 1:]
    elif label_type != REGRESSION:
        agreement["flip_rate"] = float(((forward_NL >= 0.5) != (reverse_NL >= 0.5)).mean())
    is_defined = min(forward_NL.std(), reverse_NL.std()) > 0
    correlation = np.corrcoef(forward_NL.ravel(), reverse_NL.ravel())[0, 1] if is_defined else None
    agreement["correlation"] = None if correlation is None else float(correlation)
    return agreement
