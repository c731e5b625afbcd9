"""Muon for matrices and AdamW for all other weights, as one optimizer."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from dna_bigbird.models.precision import float32_products_are_rounded


class Lamb(torch.optim.Optimizer):
    """Algorithm 2 of arXiv 1904.00962, with the identity as its scaling function."""

    # With Adam's corrected moments m and v an update is u = m / (√v + ε) + decay · w, and a weight
    # moves by rate · |w| / |u| · u, with norms of the whole tensor; by rate · u if one of the norms
    # is 0. Groups without `adapts` (biases and norms, as in the published code) always move by rate
    # · u.

    def __init__(
        self,
        groups: list[dict[str, Any]],
        lr: float,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-6,
    ) -> None:
        super().__init__(
            groups, {"lr": lr, "betas": betas, "eps": eps, "weight_decay": 0.0, "adapts": True}
        )

    @torch.no_grad()
    def step(self, closure: Callable[[], torch.Tensor] | None = None) -> torch.Tensor | None:
        """Update every parameter that has a gradient."""
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            for parameter in group["params"]:
                if parameter.grad is not None:
                    self._update(parameter, group)
        return loss

    def _update(self, parameter: torch.Tensor, group: dict[str, Any]) -> None:
        state, gradient = self.state[parameter], parameter.grad
        if not state:
            state["step"] = 0
            state["exp_avg"] = torch.zeros_like(parameter)
            state["exp_avg_sq"] = torch.zeros_like(parameter)
        beta1, beta2 = group["betas"]
        state["step"] += 1
        step = state["step"]
        mean = state["exp_avg"].lerp_(gradient, 1 - beta1)
        square = state["exp_avg_sq"].mul_(beta2).addcmul_(gradient, gradient, value=1 - beta2)
        root = (square / (1 - beta2**step)).sqrt_().add_(group["eps"])
        update = (mean / (1 - beta1**step)).div_(root).add_(parameter, alpha=group["weight_decay"])
        ratio = 1.0
        if group["adapts"]:
            of_weight, of_update = parameter.norm(), update.norm()
            is_defined = (of_weight > 0) & (of_update > 0)
            ratio = torch.where(is_defined, of_weight / of_update, 1.0)
        parameter.sub_(update * (group["lr"] * ratio))


MOMENTUM = 0.95
COEFFICIENTS = (3.4445, -4.7750, 2.0315)
ITERATIONS = 5
SMALLEST_NORM = 1e-7


def orthogonalised(matrix: Tensor) -> Tensor:
    """Return a matrix of about the same singular vectors, singular values between 0.7 and 1.2."""
    # Five Newton-Schulz steps of the quintic X -> a X + b X X'X + c X X'X X'X with the coefficients
    # of torch.optim.Muon (Jordan et al. 2024), in the type of the matrix. Singular values below a
    # thousandth of the norm stay smaller.
    is_tall = matrix.shape[0] > matrix.shape[1]
    x = matrix.T if is_tall else matrix
    x = x / x.norm().clamp(min=SMALLEST_NORM)
    is_long = x.shape[1] >= 2 * x.shape[0]
    x = _by_square(x) if is_long and not _rounds_factors(x) else _by_steps(x)
    return x.T if is_tall else x


def _by_steps(x: Tensor) -> Tensor:
    a, b, c = COEFFICIENTS
    for _ in range(ITERATIONS):
        square = x @ x.T
        x = torch.addmm(x, torch.addmm(square, square, square, beta=b, alpha=c), x, beta=a)
    return x


def _by_square(x: Tensor) -> Tensor:
    """Do the same on S = X X', which is small: X_k = Q_k ... Q_1 X with Q = a I + b S + c S S."""
    # Takes 0.56 of the operations where X is four times as long as wide. Not with rounded factors:
    # singular values that are lost in S would grow.
    a, b, c = COEFFICIENTS
    square, product = x @ x.T, None
    for iteration in range(ITERATIONS):
        step = torch.addmm(square, square, square, beta=b, alpha=c)
        step.diagonal().add_(a)
        product = step if product is None else step @ product
        if iteration + 1 < ITERATIONS:
            square = step @ (step @ square)
    return product @ x


def _rounds_factors(x: Tensor) -> bool:
    """Return True if products may round their factors to fewer bits than float32 has."""
    if x.dtype == torch.float64:
        return False
    return x.dtype != torch.float32 or x.device.type != "cpu" or float32_products_are_rounded()


class Float32Muon(torch.optim.Muon):
    """torch.optim.Muon with its Newton-Schulz steps in float32 instead of bfloat16."""

    # Without bfloat16 products in hardware those take many times as long; and a run in float32
    # should round nothing to bfloat16.

    @torch.no_grad()
    def step(self, closure: Callable | None = None) -> None:
        """Update the matrices once."""
        for group in self.param_groups:
            for matrix in group["params"]:
                if matrix.grad is not None:
                    self._update(matrix, group)

    def _update(self, matrix: Tensor, group: dict[str, Any]) -> None:
        state = self.state[matrix]
        if "momentum_buffer" not in state:
            state["momentum_buffer"] = torch.zeros_like(matrix)
        mean = state["momentum_buffer"].lerp_(matrix.grad, 1 - group["momentum"])
        update = orthogonalised(matrix.grad.lerp(mean, group["momentum"]))
        rate = group["lr"] * 0.2 * max(matrix.shape) ** 0.5
        matrix.mul_(1 - group["lr"] * group["weight_decay"]).sub_(update, alpha=rate)


class MuonWithAdamW(torch.optim.Optimizer):
    """One optimizer that updates the groups with `is_muon` by Muon and the others by AdamW."""

    # An update of an m x n matrix by Muon is scaled by 0.2 sqrt(max(m, n)), which gives it the root
    # mean square of a usual update by AdamW (Liu et al. 2025, Muon is Scalable for LLM Training),
    # so both rates are of one size.

    def __init__(
        self,
        groups: list[dict],
        *,
        lr: float,
        betas: tuple[float, float],
        eps: float,
        in_float32: bool,
    ) -> None:
        muon_type = Float32Muon if in_float32 else torch.optim.Muon
        muon = muon_type(
            [group for group in groups if group["is_muon"]],
            lr=lr,
            momentum=MOMENTUM,
            adjust_lr_fn="match_rms_adamw",
        )
        adamw = torch.optim.AdamW(
            [group for group in groups if not group["is_muon"]],
            lr=lr,
            betas=betas,
            eps=eps,
            fused=True,
        )
        self.parts = (muon, adamw)
        super().__init__([*muon.param_groups, *adamw.param_groups], {})
        self._share()

    def __getstate__(self) -> dict:
        return super().__getstate__() | {"parts": self.parts}

    def __setstate__(self, state: dict) -> None:
        super().__setstate__(state)
        self._share()

    def _share(self) -> None:
        """Let both optimizers work on the groups and the state of this one."""
        # Schedules write the rate into `param_groups` of this optimizer, and Lightning saves and loads its state.
        # Both parts must read the same dictionaries; `load_state_dict` makes new ones and calls `__setstate__`.
        # Parts with groups of their own would go on with the rates of the start, and save no momentum.
        for is_muon, part in zip((True, False), self.parts, strict=True):
            part.param_groups = [g for g in self.param_groups if g["is_muon"] == is_muon]
            part.state = self.state

    @torch.no_grad()
    def step(self, closure: Callable | None = None) -> float | None:
        """Update all weights once; returns what `closure` returns."""
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for part in self.parts:
            part.step()
        return loss
