"""Random features of the Performer: positive ones of the softmax kernel, and ReLU."""

# T tokens, D head dimension, M features

from dataclasses import dataclass
from typing import Literal

from torch import Tensor

from dna_bigbird.core.choices import check_fields

Kernel = Literal["softmax", "relu"]
Stabilizer = Literal["exponent", "projection"]
EPSILON = {"softmax": 1e-4, "relu": 1e-3}
"""Added to each feature by default (public code)."""
LEAST = -1e30
"""Stabiliser where there is no key: finite, so that differences are."""


@dataclass(frozen=True)
class Favor:
    """Which features: φ(x) = f(x) + ε, where f is computed from the scaled x' = x · D^(-1/4).

    softmax: f = exp(W x' - |x'|²/2 - c), so that φ(q) · φ(k) / M estimates exp(q · k / √D) times
    exp(-c) of the query and of the keys (Choromanski et al. 2021, Lemma 1). relu: f = max(W x', 0)
    (generalised attention, §2.2). The factor M^(-1/2) of each φ cancels in attention and is left out.

    The stabiliser c keeps the exponential from overflow. Each query has its own, the keys of a sequence
    and head have one, which covers the keys that a query reads: with causal attention those up to
    the query. Without ε it would cancel. No gradient passes through it.
    """

    kernel: Kernel = "softmax"
    epsilon: float | None = None
    """ε; None: 1e-4 for softmax, 1e-3 for relu."""
    stabilizer: Stabilizer = "projection"
    """'projection': c is the largest W x', as in the public code; of long vectors ε alone is left.
    'exponent': the largest W x' - |x'|²/2, so the largest feature is 1 + ε for vectors of any length."""

    def __post_init__(self) -> None:
        check_fields(self)
        if self.epsilon is not None and not 0 <= self.epsilon < 1:
            raise ValueError(f"epsilon must be at least 0 and below 1, got {self.epsilon}")

    @property
    def added(self) -> float:
        """What is added to each feature."""
        return EPSILON[self.kernel] if self.epsilon is None else self.epsilon

    def exponents(self, x: Tensor, w_MD: Tensor) -> Tensor:
        """Return W x' - |x'|²/2 for softmax, W x' for relu: (…, T, M), of x not scaled."""
        scaled = x * x.shape[-1] ** -0.25
        projected = scaled @ w_MD.T
        if self.kernel == "relu":
            return projected
        return (
            projected.sub_(_half_square(scaled))
            if not x.requires_grad
            else (projected - _half_square(scaled))
        )

    def tops(self, exponents: Tensor, x: Tensor) -> Tensor:
        """Return what each token alone would need as c: (…, T); zero for relu, which needs none."""
        if self.kernel == "relu":
            return exponents.new_zeros(exponents.shape[:-1])
        tops = exponents.detach().amax(-1)
        if self.stabilizer == "projection":
            tops = tops + _half_square(x.detach() * x.shape[-1] ** -0.25)[..., 0]
        return tops

    def values(self, exponents: Tensor, c: Tensor) -> Tensor:
        """Return f, without ε: (…, T, M); `exponents` is overwritten where nothing needs it."""
        if exponents.requires_grad:
            return exponents.relu() if self.kernel == "relu" else (exponents - c).exp()
        return exponents.relu_() if self.kernel == "relu" else exponents.sub_(c).exp_()

    def gradient(self, grad: Tensor, values: Tensor, x: Tensor, w_MD: Tensor) -> Tensor:
        """Return the gradient of x (…, T, D) from f and from its gradient, which is overwritten."""
        grad.mul_(values if self.kernel == "softmax" else values > 0)
        of_scaled = grad @ w_MD
        scale = x.shape[-1] ** -0.25
        if self.kernel == "softmax":
            of_scaled.addcmul_(grad.sum(-1, keepdim=True), x, value=-scale)
        return of_scaled.mul_(scale)


def _half_square(scaled: Tensor) -> Tensor:
    return scaled.square().sum(-1, keepdim=True) / 2
