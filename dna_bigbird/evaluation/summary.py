"""All metrics of a labelled set in one flat dictionary: one label, or many labels in groups."""

import warnings
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dna_bigbird.evaluation.binary import RankedLabel, best_f1_threshold, confusion
from dna_bigbird.evaluation.bootstrap import REPLICATES, percentile_interval, replicate

# R bootstrap draws, N rows, L labels


def choose_thresholds(labels_NL: NDArray, scores_NL: NDArray) -> NDArray[np.float64]:
    """Return for every label the threshold with the highest F1; give it validation rows."""
    columns = range(labels_NL.shape[1])
    return np.array([best_f1_threshold(labels_NL[:, i], scores_NL[:, i]) for i in columns])


def summarise(
    labels_NL: NDArray,
    scores_NL: NDArray,
    thresholds_L: ArrayLike,
    groups: Sequence[str],
    *,
    seed: int,
    units: ArrayLike | None = None,
    replicates: int = REPLICATES,
) -> dict[str, float | int]:
    """Return the metrics of a set with one label (`auroc`, …) or with many (`macro_auroc`, …).

    The keys are defined in docs/metrics.md; each `_low` and `_high` is a 95 % bootstrap interval.

    Args:
        thresholds_L: Chosen on validation (`choose_thresholds`).
        groups: Group of each label.
        units: (N,), rows that are drawn together in the bootstrap, such as a positive and the
            negative made from it; each row alone by default.
    """
    labels_NL, scores_NL = np.asarray(labels_NL), np.asarray(scores_NL)
    if labels_NL.shape != scores_NL.shape or labels_NL.ndim != 2:
        raise ValueError(f"labels have shape {labels_NL.shape}, scores {scores_NL.shape}")
    draws = {"seed": seed, "units": units, "replicates": replicates}
    if labels_NL.shape[1] == 1:
        threshold = float(np.asarray(thresholds_L)[0])
        return _one_label(labels_NL[:, 0], scores_NL[:, 0], threshold, draws)
    return _many_labels(labels_NL, scores_NL, list(groups), draws)


def _one_label(labels: NDArray, scores: NDArray, threshold: float, draws: dict) -> dict:
    ranked = RankedLabel(labels, scores)
    names = ("auroc", "auprc", "f1", "mcc", "precision", "recall")

    def statistic(weights_RN: NDArray | None) -> NDArray:
        at = confusion(labels, scores, threshold, weights_RN)
        return np.stack(
            [*ranked.areas(weights_RN), at.f1(), at.mcc(), at.precision(), at.recall()], axis=1
        )

    point = statistic(None)[0]
    drawn = replicate(statistic, len(labels), **draws)
    metrics: dict = {}
    for i, name in enumerate(names):
        metrics |= _with_interval(name, point[i], drawn[:, i])
    positives = int(labels.sum())
    return metrics | {"threshold": threshold, "n": len(labels), "n_positive": positives}


def _many_labels(labels_NL: NDArray, scores_NL: NDArray, groups: list[str], draws: dict) -> dict:
    ranked = _ranked(labels_NL, scores_NL)

    def statistic(weights_RN: NDArray | None) -> NDArray:
        """AUROC and AUPRC of every label, (R, 2, L)."""
        return np.array([x.areas(weights_RN) for x in ranked]).transpose(2, 1, 0)

    point = statistic(None)
    drawn = replicate(statistic, len(labels_NL), **draws)
    metrics: dict = {}
    for place, name in enumerate(("auroc", "auprc")):
        key, values, every = f"macro_{name}", point[:, place], drawn[:, place]
        metrics |= _with_interval(key, _over(np.nanmean, values)[0], _over(np.nanmean, every))
    for group in dict.fromkeys(groups):
        here = [i for i, x in enumerate(groups) if x == group]
        for place, name in enumerate(("auroc", "auprc")):
            values, every = point[:, place][:, here], drawn[:, place][:, here]
            for key, average in (("median", np.nanmedian), ("mean", np.nanmean)):
                metrics |= _with_interval(
                    f"{key}_{name}_{group}", _over(average, values)[0], _over(average, every)
                )
    undefined = int(np.isnan(point[0, 0]).sum())
    return metrics | {
        "n": len(labels_NL),
        "n_positive": int(labels_NL.sum()),
        "n_labels": labels_NL.shape[1],
        "n_labels_undefined": undefined,
    }


def compare(
    labels_NL: NDArray,
    scores_NL: NDArray,
    other_NL: NDArray,
    *,
    seed: int,
    units: ArrayLike | None = None,
    replicates: int = REPLICATES,
) -> dict[str, float]:
    """Return how much the (macro) AUROC and AUPRC of the first scores exceed the other's.

    Both are scored on the same draws, so the interval is that of the difference.
    """
    pairs = list(zip(_ranked(labels_NL, scores_NL), _ranked(labels_NL, other_NL), strict=True))

    def statistic(weights_RN: NDArray | None) -> NDArray:
        columns = [np.subtract(a.areas(weights_RN), b.areas(weights_RN)) for a, b in pairs]
        return _over(np.nanmean, np.array(columns).transpose(2, 1, 0))

    point = statistic(None)[0]
    drawn = replicate(statistic, len(labels_NL), seed=seed, units=units, replicates=replicates)
    return _with_interval("auroc_gain", point[0], drawn[:, 0]) | _with_interval(
        "auprc_gain", point[1], drawn[:, 1]
    )


def per_label(
    labels_NL: NDArray,
    scores_NL: NDArray,
    names: Sequence[str],
    groups: Sequence[str],
    *,
    baselines: Mapping[str, NDArray] | None = None,
    thresholds_L: ArrayLike | None = None,
) -> list[dict[str, str | int | float]]:
    """Return one row a label: label, group, n, n_positive, auroc, auprc, then the same of each baseline.

    With thresholds also f1, mcc, precision and recall. Scores are rounded to six digits; what is
    not defined is NaN.
    """
    rows = []
    for i, (name, group) in enumerate(zip(names, groups, strict=True)):
        labels = np.asarray(labels_NL)[:, i]
        row = {"label": name, "group": group, "n": len(labels), "n_positive": int(labels.sum())}
        sources = {"": scores_NL} | {f"{key}_": x for key, x in (baselines or {}).items()}
        for prefix, values in sources.items():
            ranked = RankedLabel(labels, np.asarray(values)[:, i])
            for key, area in zip(("auroc", "auprc"), ranked.areas(), strict=True):
                row[prefix + key] = round(float(area[0]), 6)
        if thresholds_L is not None:
            at = confusion(labels, np.asarray(scores_NL)[:, i], float(np.asarray(thresholds_L)[i]))
            for key in ("f1", "mcc", "precision", "recall"):
                row[key] = round(float(getattr(at, key)()[0]), 6)
        rows.append(row)
    return rows


def _ranked(labels_NL: NDArray, scores_NL: NDArray) -> list[RankedLabel]:
    labels_NL, scores_NL = np.asarray(labels_NL), np.asarray(scores_NL)
    return [RankedLabel(labels_NL[:, i], scores_NL[:, i]) for i in range(labels_NL.shape[1])]


def _over(average, values: NDArray) -> NDArray[np.float64]:
    """Average over labels (the last axis), leaving out what is not defined."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # no label is defined: NaN is the answer
        return average(values, axis=-1)


def _with_interval(name: str, point: float, drawn: NDArray) -> dict[str, float]:
    low, high = percentile_interval(drawn) if np.isfinite(point) else (np.nan, np.nan)
    return {name: float(point), f"{name}_low": float(low), f"{name}_high": float(high)}
