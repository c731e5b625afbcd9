"""ROC and precision-recall curves as thin tables, for drawing.

A curve of a million rows is drawn from at most 200 of its points; scores such as the AUROC are
computed from all rows elsewhere (`evaluation/binary.py`), never from these points.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from sklearn.metrics import precision_recall_curve, roc_curve

from dna_bigbird.core.tables import Table

COLUMNS = ("label", "source", "curve", "x", "y")
MICRO = "micro-average"
MACRO = "macro-average"
CHANCE = "chance"


@dataclass(frozen=True)
class CurvePoint:
    """One point: ROC is false against true positive rate, PR is recall against precision."""

    label: str
    source: str
    curve: str
    x: float
    y: float


def curve_rows(
    labels: np.ndarray,
    scores: Mapping[str, np.ndarray],
    names: Sequence[str],
    *,
    max_points: int = 200,
    labels_up_to: int = 30,
) -> list[CurvePoint]:
    """Return thinned ROC and PR curves of every label, their averages, and the chance lines.

    Args:
        scores: (rows, labels) by source. A row where any source of a label is not finite is left
            out of that label for all sources, and so is one where the label was not measured (NaN).
        labels_up_to: With more labels only the averages are returned: `macro-average` (the mean of
            the curves at equal x) and `micro-average` (all cells pooled), of two or more labels
            that have positives and negatives.
    """
    labels = np.asarray(labels)
    if labels.ndim != 2 or labels.shape[1] != len(names):
        raise ValueError(f"labels are {labels.shape}, expected (rows, {len(names)})")
    scores = {source: np.asarray(values) for source, values in scores.items()}
    for source, values in scores.items():
        if values.shape != labels.shape:
            raise ValueError(f"scores of {source!r} are {values.shape}, labels {labels.shape}")
    usable = np.isfinite(labels)
    for values in scores.values():
        usable &= np.isfinite(values)
    positives = ((labels == 1) & usable).sum(axis=0)
    defined = [i for i in range(len(names)) if 0 < positives[i] < usable[:, i].sum()]

    points: list[CurvePoint] = []
    if len(names) <= labels_up_to:
        unique = _numbered(names)
        for i in defined:
            keep = usable[:, i]
            truth = labels[keep, i]
            for source, values in scores.items():
                points += _both(unique[i], source, truth, values[keep, i], max_points)
            points += _chance(unique[i], float(truth.mean()))
    if len(defined) < 2:
        return points
    for source, values in scores.items():
        points += _macro(labels, values, usable, defined, source, max_points)
        pooled = _pooled(labels, values, usable, defined)
        points += _both(MICRO, source, *pooled[:2], max_points, pooled[2])
    prevalence = positives[defined] / usable[:, defined].sum(axis=0)
    points += _chance(MACRO, float(prevalence.mean()))
    points += _chance(MICRO, float(positives[defined].sum() / usable[:, defined].sum()))
    return points


def write_curves(points: Iterable[CurvePoint]) -> str:
    """Return `curves.tsv`: one point per row, six digits, with a header."""
    rows = [vars(p) | {"x": f"{p.x:.6g}", "y": f"{p.y:.6g}"} for p in points]
    return Table(rows, COLUMNS).to_tsv()


def roc_points(
    labels: np.ndarray, scores: np.ndarray, weights: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Return the false and true positive rate at every threshold, from (0, 0) to (1, 1)."""
    false_rate, true_rate, _ = roc_curve(
        labels, scores, drop_intermediate=True, sample_weight=weights
    )
    return false_rate, true_rate


def pr_points(
    labels: np.ndarray, scores: np.ndarray, weights: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Return recall and precision at every threshold, recall rising."""
    precision, recall, _ = precision_recall_curve(labels, scores, sample_weight=weights)
    recall, precision = recall[::-1], precision[::-1]
    # scikit-learn's precision 1 at recall 0 was not measured; the highest threshold's was.
    return recall, np.concatenate([precision[1:2], precision[1:]])


def thin(x: np.ndarray, y: np.ndarray, max_points: int) -> tuple[np.ndarray, np.ndarray]:
    """Keep at most `max_points` of a curve, evenly along its drawn length, both ends included.

    Example:
        >>> x, y = thin(np.arange(5.0), np.zeros(5), 3)
        >>> x.tolist()
        [0.0, 2.0, 4.0]
    """
    if max_points < 2:
        raise ValueError(f"max_points is {max_points}, a curve needs at least 2")
    if len(x) <= max_points:
        return x, y
    along = np.concatenate([[0.0], np.cumsum(np.hypot(np.diff(x), np.diff(y)))])
    targets = np.linspace(0.0, along[-1], max_points)
    keep = np.unique(np.searchsorted(along, targets, side="left").clip(0, len(x) - 1))
    keep[-1] = len(x) - 1
    return x[keep], y[keep]


def _both(
    label: str,
    source: str,
    truth: np.ndarray,
    values: np.ndarray,
    max_points: int,
    weights: np.ndarray | None = None,
) -> list[CurvePoint]:
    rows = _points(label, source, "roc", *thin(*roc_points(truth, values, weights), max_points))
    curve = pr_points(truth, values, weights)
    return rows + _points(label, source, "pr", *thin(*curve, max_points))


def _pooled(
    labels: np.ndarray, values: np.ndarray, usable: np.ndarray, defined: list[int]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return labels, scores and numbers of all cells; about equal scores are one."""
    # 200 million cells of a large set would take tens of GB to sort; the upper 16 bits of a
    # float32 distinguish scores to within 0.8 % of their size.
    times = np.zeros((2, 1 << 16), dtype=np.int64)
    for i in defined:
        keep = usable[:, i]
        bits = (values[keep, i].astype(np.float32) + np.float32(0)).view(np.uint32) >> 16
        for truth in (0, 1):
            times[truth] += np.bincount(bits[labels[keep, i] == truth], minlength=1 << 16)
    truth, bits = np.nonzero(times)
    scores = (bits.astype(np.uint32) << 16).view(np.float32)
    return truth, scores.astype(np.float64), times[truth, bits]


def _macro(
    labels: np.ndarray,
    values: np.ndarray,
    usable: np.ndarray,
    defined: list[int],
    source: str,
    max_points: int,
) -> list[CurvePoint]:
    """Average the curves at equal x; the area under each is then the mean of the labels' areas."""
    grid = np.linspace(0.0, 1.0, min(max_points - 1, 101))
    roc, pr = np.zeros((2, len(grid)))
    for i in defined:
        keep = usable[:, i]
        false_rate, true_rate = roc_points(labels[keep, i], values[keep, i])
        roc += np.interp(grid, false_rate, true_rate)
        recall, precision = pr_points(labels[keep, i], values[keep, i])
        # At the first threshold that reaches this recall: average precision is a step sum.
        reached = np.searchsorted(recall, grid, side="left").clip(0, len(recall) - 1)
        pr += precision[reached]
    roc_x = np.concatenate([[0.0], grid])  # a curve may rise at false positive rate 0
    roc_y = np.concatenate([[0.0], roc / len(defined)])
    return _points(MACRO, source, "roc", roc_x, roc_y) + _points(
        MACRO, source, "pr", grid, pr / len(defined)
    )


def _chance(label: str, prevalence: float) -> list[CurvePoint]:
    ends = np.array([0.0, 1.0])
    return _points(label, CHANCE, "roc", ends, ends) + _points(
        label, CHANCE, "pr", ends, np.full(2, prevalence)
    )


def _points(label: str, source: str, curve: str, x: np.ndarray, y: np.ndarray) -> list[CurvePoint]:
    return [CurvePoint(label, source, curve, float(a), float(b)) for a, b in zip(x, y, strict=True)]


def _numbered(names: Sequence[str]) -> list[str]:
    counts = [names[: i + 1].count(name) for i, name in enumerate(names)]
    return [name if n == 1 else f"{name} ({n})" for name, n in zip(names, counts, strict=True)]
