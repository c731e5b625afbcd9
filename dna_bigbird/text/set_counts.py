"""Counts of a set: what was left out, and which examples occur in another set."""

import hashlib
import re
from collections.abc import Iterable


def left_out(counts: dict[str, int]) -> str:
    """Return what was left out or changed, for the end of a line.

    Example:
        >>> left_out({"empty": 1200, "repeated": 0})
        ' (empty 1,200)'
    """
    reasons = "; ".join(f"{reason} {count:,}" for reason, count in counts.items() if count)
    return f" ({reasons})" if reasons else ""


def count_metrics(counts: dict[str, int]) -> dict[str, int]:
    """Return counts as entries of metrics.json.

    Example:
        >>> count_metrics({"answer not in the evidence": 16})
        {'n_answer_not_in_the_evidence': 16}
    """
    return {f"n_{re.sub(r'[^A-Za-z0-9]+', '_', k).strip('_')}": v for k, v in counts.items()}


def count_shared(examples: Iterable, others: Iterable) -> int:
    """Return how many examples are equal to one of the others.

    Example:
        >>> count_shared(["a", "b", "b"], ["b", "c"])
        2
    """
    known = set(map(_digest, others))
    return sum(_digest(example) in known for example in examples)


def _digest(example: object) -> bytes:
    return hashlib.sha256(repr(example).encode()).digest()
