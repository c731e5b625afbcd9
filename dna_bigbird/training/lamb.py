"""LAMB: Adam's update of each matrix, scaled to the size of the matrix (You et al. 2020)."""

from collections.abc import Callable
from typing import Any

import torch


class Lamb(torch.optim.Optimizer):
    """Algorithm 2 of arXiv 1904.00962, with the identity as its scaling function.

    With Adam's corrected moments m and v an update is u = m / (√v + ε) + decay · w, and a weight moves by
    rate · |w| / |u| · u, with norms of the whole tensor; by rate · u if one of the norms is 0. Groups
    without `adapts` (biases and norms, as in the published code) always move by rate · u.

    Args:
        groups: Parameter groups; `weight_decay` and `adapts` may differ.
    """

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
