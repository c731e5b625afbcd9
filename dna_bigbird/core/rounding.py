"""Metrics as they are written to files."""

import math

import numpy as np


def rounded(metrics: dict) -> dict:
    """Return metrics as they are written: six digits after the decimal point, NaN and infinity as None.

    Example:
        >>> rounded({"auroc": 0.12345678, "auprc": float("nan"), "n": 3, "split": "test"})
        {'auroc': 0.123457, 'auprc': None, 'n': 3, 'split': 'test'}
    """

    def value(x):
        if isinstance(x, dict):
            return rounded(x)
        if isinstance(x, float | np.floating):
            return round(float(x), 6) if math.isfinite(x) else None
        return int(x) if isinstance(x, np.integer) else x

    return {key: value(x) for key, x in metrics.items()}
