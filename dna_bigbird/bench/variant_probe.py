"""Logistic regression on features of variants, each chromosome scored by a fit on the others.

The protocol of TraitGym (`run_classifier` and `train_logistic_regression` in workflow/rules of its repository): standardised
features, classes of equal weight, the strength of the penalty chosen by average precision on folds of
chromosomes within the training rows.
"""

import warnings
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from dna_bigbird.bench.suites.suite import VariantRow

# N variants, D features

STRENGTHS = np.logspace(-8, 0, 10)
"""Values of C that are tried."""
INNER_FOLDS = 5
STRETCHES = 4
"""Parts of a single chromosome: the authors' `pos_quarter`."""
ONE_CHROMOSOME = (
    "the probe scores quarters of the only chromosome, each by a fit on the other three: neighbouring "
    "variants may be in both"
)


def probe_folds(variants: Sequence[VariantRow]) -> NDArray[np.int64]:
    """Return the fold of each variant, (N,): its chromosome, or a quarter of the positions of a single one."""
    names = [variant.chromosome or variant.chrom for variant in variants]
    folds = np.unique(names, return_inverse=True)[1]
    if folds.max() > 0:
        return folds
    positions = np.unique([variant.pos for variant in variants])
    quarters = np.array_split(positions, min(STRETCHES, len(positions)))
    firsts = [quarter[0] for quarter in quarters]
    return np.searchsorted(firsts, [variant.pos for variant in variants], side="right") - 1


def probe_scores(
    features_ND: NDArray, labels_N: NDArray[np.bool_], folds_N: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return the probability of each variant by a fit on the other folds, (N,).

    One half where the other folds have one class only.
    """
    scores = np.full(len(labels_N), 0.5)
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # inner folds without a positive; fits at the last step
        for fold in np.unique(folds_N):
            test = folds_N == fold
            train = ~test
            if 0 < labels_N[train].sum() < train.sum():
                model = _fit(features_ND[train], labels_N[train], folds_N[train])
                scores[test] = model.predict_proba(features_ND[test])[:, 1]
    return scores


def _fit(features_ND: NDArray, labels_N: NDArray, folds_N: NDArray):
    """Return the regression with the best strength; the median strength if the rows are of one fold."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import GridSearchCV, GroupKFold
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    pipeline = make_pipeline(
        StandardScaler(), LogisticRegression(class_weight="balanced", random_state=42)
    )
    number = len(np.unique(folds_N))
    if number < 2:
        middle = float(STRENGTHS[len(STRENGTHS) // 2])
        return pipeline.set_params(logisticregression__C=middle).fit(features_ND, labels_N)
    search = GridSearchCV(
        pipeline,
        {"logisticregression__C": STRENGTHS},
        scoring="average_precision",
        cv=GroupKFold(min(INNER_FOLDS, number)),
    )
    return search.fit(features_ND, labels_N, groups=folds_N)
