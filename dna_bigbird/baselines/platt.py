"""Probabilities from the scores of support vector machines: Platt 1999."""

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit

# N rows, L labels

SMALLEST_SLOPE = 0.01
"""Per standard deviation of the scores; above 0, so that the order of rows is kept."""


def fit_sigmoid(scores_NL: NDArray, labels_NL: NDArray) -> tuple[NDArray, NDArray]:
    """Return slopes and biases (L,) with the smallest log loss of expit(slope * score + bias).

    As Platt proposes, the targets are (P + 1) / (P + 2) and 1 / (N + 2) instead of 1 and 0, for P
    positive and N negative rows; so a label without positive rows has a finite bias.
    """
    scores_NL, labels_NL = np.asarray(scores_NL, np.float64), np.asarray(labels_NL) == 1
    positive_L, negative_L = labels_NL.sum(axis=0), (~labels_NL).sum(axis=0)
    targets_NL = np.where(labels_NL, (positive_L + 1) / (positive_L + 2), 1 / (negative_L + 2))
    mean_L, scale_L = scores_NL.mean(axis=0), np.maximum(scores_NL.std(axis=0), 1e-9)
    scaled_NL = (scores_NL - mean_L) / scale_L

    def objective(flat: NDArray) -> tuple[float, NDArray]:
        slope_L, bias_L = flat.reshape(2, -1)
        logits_NL = scaled_NL * slope_L + bias_L
        error_NL = (expit(logits_NL) - targets_NL) / len(targets_NL)
        loss = (np.logaddexp(0, logits_NL) - targets_NL * logits_NL).mean(axis=0).sum()
        return loss, np.concatenate([(error_NL * scaled_NL).sum(axis=0), error_NL.sum(axis=0)])

    labels = scores_NL.shape[1]
    bounds = [(SMALLEST_SLOPE, None)] * labels + [(None, None)] * labels
    start = np.concatenate([np.ones(labels), np.zeros(labels)])
    minimum = minimize(objective, start, jac=True, method="L-BFGS-B", bounds=bounds)
    slope_L, bias_L = minimum.x.reshape(2, -1)
    return slope_L / scale_L, bias_L - slope_L * mean_L / scale_L
