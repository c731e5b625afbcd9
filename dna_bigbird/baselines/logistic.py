"""Ridge logistic regression for many labels at once; scikit-learn's is the oracle of its tests.

All labels share one matrix product, which makes a hundred labels as quick as a few.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit

# N rows, D features, K directions in which the features vary, L labels

MAX_ITERATIONS = 300
TOLERANCE = 1e-5
"""Largest remaining slope of the objective, after scaling; labels' objectives are means over rows."""


class RidgeLogistic:
    """The rows to fit on, turned once to their principal directions.

    Along those, and scaled by its expected curvature, each weight is nearly independent of the
    others, so that the search takes tens of steps where k-mer counts as they are take hundreds.
    The turning changes neither the objective nor its solution.
    """

    def __init__(self, features_ND: NDArray) -> None:
        self._spread_K, self._directions_DK = _principal(np.asarray(features_ND, dtype=np.float64))
        turned_NK = features_ND @ self._directions_DK
        self._matrix = np.column_stack([turned_NK, np.ones(len(features_ND))])

    def fit(
        self, labels_NL: NDArray, penalty: float, start: NDArray | None = None
    ) -> NDArray[np.float64]:
        """Return weights (D + 1, L), the intercept in the last row.

        Each label's objective is its mean log loss plus `penalty / 2` times its squared weights,
        without the intercept; C in scikit-learn is `1 / (N * penalty)`.

        Args:
            labels_NL: 0 and 1, both in every column, or NaN: such a cell is left out.
            start: Weights to start from, such as those for a stronger penalty.
        """
        matrix, rows = self._matrix, len(self._matrix)
        share_L, weight_NL = positive_share(labels_NL), cell_weights(labels_NL)
        labels_NL = np.nan_to_num(labels_NL)
        ridge = np.full((matrix.shape[1], 1), penalty)
        ridge[-1] = 0.0
        spread = np.append(self._spread_K, 1.0)[:, None]
        scale = 1 / np.sqrt(spread * share_L * (1 - share_L) + ridge)
        if start is None:
            turned = np.zeros(scale.shape)
            turned[-1] = np.log(share_L / (1 - share_L))
        else:
            turned = np.vstack([self._directions_DK.T @ start[:-1], start[-1]])
        if not labels_NL.shape[1]:
            return self._turned_back(turned)

        def objective(flat: NDArray) -> tuple[float, NDArray]:
            weights = scale * flat.reshape(scale.shape)
            logits = matrix @ weights
            loss = (weight_NL * np.logaddexp(0.0, logits)).sum()
            loss = (loss - (weight_NL * labels_NL * logits).sum()) / rows
            error_NL = weight_NL * (expit(logits) - labels_NL)
            slope = matrix.T @ error_NL / rows + ridge * weights
            return loss + (ridge * weights**2).sum() / 2, (scale * slope).ravel()

        minimum = minimize(
            objective,
            (turned / scale).ravel(),
            jac=True,
            method="L-BFGS-B",
            options={"maxiter": MAX_ITERATIONS, "gtol": TOLERANCE, "ftol": 0.0, "maxcor": 20},
        )
        return self._turned_back(scale * minimum.x.reshape(scale.shape))

    def _turned_back(self, weights: NDArray) -> NDArray[np.float64]:
        return np.vstack([self._directions_DK @ weights[:-1], weights[-1]])


def _principal(features_ND: NDArray) -> tuple[NDArray, NDArray]:
    """Return the mean squares (K,) along the principal directions, and these (D, K), of length 1."""
    rows, size = features_ND.shape
    if size <= rows:
        spread, directions = np.linalg.eigh(features_ND.T @ features_ND / rows)
    else:  # the smaller of the two products has the same spread
        spread, sides = np.linalg.eigh(features_ND @ features_ND.T / rows)
    varies = spread > 1e-9 * max(float(spread[-1]), 1e-300)
    spread = spread[varies]
    if size <= rows:
        return spread, directions[:, varies]
    return spread, features_ND.T @ (sides[:, varies] / np.sqrt(rows * spread))


def cell_weights(labels_NL: NDArray) -> NDArray[np.float64]:
    """Return 0 for a cell whose label is NaN, and for the others of a label what keeps its mean weight 1."""
    is_measured_NL = ~np.isnan(labels_NL)
    if is_measured_NL.all():
        return np.ones(1)
    return is_measured_NL * (len(labels_NL) / is_measured_NL.sum(axis=0).clip(min=1))


def positive_share(labels_NL: NDArray) -> NDArray:
    """Return the share of positives of each label among the cells that are not NaN; 0 without any."""
    measured_L = (~np.isnan(labels_NL)).sum(axis=0)
    return (np.nansum(labels_NL, axis=0) / measured_L.clip(min=1)).astype(labels_NL.dtype)


def predict_logistic(features_ND: NDArray, weights: NDArray) -> NDArray[np.float64]:
    """Return probabilities, (N, L)."""
    return expit(features_ND @ weights[:-1] + weights[-1])


def log_loss(labels_NL: NDArray, probabilities_NL: NDArray) -> float:
    """Return the mean log loss in nats over measured cells; probabilities are kept off 0 and 1."""
    p = np.clip(probabilities_NL, 1e-12, 1 - 1e-12)
    nats = -np.where(labels_NL == 1, np.log(p), np.log1p(-p))
    nats = nats if (measured := ~np.isnan(labels_NL)).all() else nats[measured]
    return float(nats.mean()) if nats.size else 0.0
