"""Linear support vector machines for many labels at once, from products of rows alone.

The objective of scikit-learn's `LinearSVC` (squared hinge loss), which is the oracle of its tests;
its features would not fit into memory. Newton's method in the primal: Chapelle 2007. All labels
share each product.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

# N rows, L labels

MAX_STEPS, MAX_INNER_STEPS = 50, 200
TOLERANCE = 1e-3
"""Largest remaining error of a coefficient, relative to the largest possible one, 2 times its cost."""
STEP_LENGTHS = 0.5 ** np.arange(12)

Product = Callable[[NDArray], NDArray]


def fit_squared_hinge(
    product: Product,
    signs_NL: NDArray[np.float32],
    costs_NL: NDArray[np.float32],
    start_NL: NDArray[np.float32] | None = None,
) -> NDArray[np.float32]:
    """Return coefficients of the rows (N, L): a label's weights are the sum of its rows times these.

    A label's objective is half of its squared weights plus the sum over rows of
    costs * max(0, 1 - signs * score) ** 2.

    Args:
        product: Multiplies (N, L) by the matrix of the products of all rows, (N, N).
        signs_NL: -1 or 1.
        costs_NL: Of errors, above 0: `C` of scikit-learn.
        start_NL: Coefficients to start from, such as those for smaller costs.
    """
    coefficients = np.zeros_like(signs_NL) if start_NL is None else start_NL
    scores = product(coefficients)
    for _ in range(MAX_STEPS):
        active = (signs_NL * scores < 1).astype(np.float32)
        errors = coefficients - 2 * costs_NL * active * (signs_NL - scores)
        if np.abs(errors / costs_NL).max(initial=0) < 2 * TOLERANCE:
            break
        target = _solve(product, active, signs_NL, costs_NL, coefficients)
        step, change = target - coefficients, product(target) - scores
        length = _step_length(coefficients, scores, step, change, signs_NL, costs_NL)
        coefficients, scores = coefficients + length * step, scores + length * change
    return coefficients


def _solve(
    product: Product, active: NDArray, signs: NDArray, costs: NDArray, start: NDArray
) -> NDArray:
    """Return the best coefficients if the active rows stay so: conjugate gradients per label."""

    def multiply(x: NDArray) -> NDArray:
        return active * product(x) + x / (2 * costs)

    solution = active * start
    residual = active * signs - multiply(solution)
    direction, square = residual, (residual**2).sum(axis=0)
    goal = (0.1 * TOLERANCE) ** 2 * (active.sum(axis=0) + 1)
    for _ in range(MAX_INNER_STEPS):
        if (square <= goal).all():
            break
        image = multiply(direction)
        length = np.where(
            square > goal, square / np.maximum((direction * image).sum(axis=0), 1e-30), 0
        )
        solution, residual = solution + length * direction, residual - length * image
        before, square = square, (residual**2).sum(axis=0)
        direction = residual + square / np.maximum(before, 1e-30) * direction
    return solution


def _step_length(
    coefficients: NDArray,
    scores: NDArray,
    step: NDArray,
    change: NDArray,
    signs: NDArray,
    costs: NDArray,
) -> NDArray:
    """Return for each label the step length of `STEP_LENGTHS` with the lowest objective."""
    objectives = []
    for length in STEP_LENGTHS:
        at, moved = coefficients + length * step, scores + length * change
        loss = costs * np.maximum(0, 1 - signs * moved) ** 2
        objectives.append((at * moved / 2 + loss).sum(axis=0, dtype=np.float64))
    return STEP_LENGTHS[np.argmin(objectives, axis=0)].astype(np.float32)
