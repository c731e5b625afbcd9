"""The optimizer of the paper's code (specification §1.6) and its learning-rate schedule."""

import torch
from torch import nn

from dna_bigbird.tasks.config import TrainConfig

BETAS = (0.9, 0.999)
EPSILON = 1e-6


def learning_rate_factor(step: int, *, warmup_steps: int, max_steps: int) -> float:
    """Return the share of the largest learning rate that optimizer step `step` uses.

    Args:
        step: Optimizer steps already done: 0 for the first update.

    With W warm-up steps of N: `step / W` before W, then `(N - step) / (N - W)`, so 1 at W and
    0 at N and after.

    Example:
        >>> [learning_rate_factor(s, warmup_steps=10, max_steps=30) for s in (0, 5, 10, 20, 30)]
        [0.0, 0.5, 1.0, 0.5, 0.0]
    """
    if step < warmup_steps:
        return step / warmup_steps
    return max(0.0, (max_steps - step) / (max_steps - warmup_steps))


def parameter_groups(model: nn.Module, weight_decay: float) -> list[dict]:
    """Split parameters into those that decay and those that do not.

    Biases and the gains of LayerNorms, that is all vectors, are spared; kernels and embeddings
    (matrices) decay. A tied weight counts once.
    """
    trained = [p for p in model.parameters() if p.requires_grad]
    return [
        {"params": [p for p in trained if p.ndim >= 2], "weight_decay": weight_decay},
        {"params": [p for p in trained if p.ndim < 2], "weight_decay": 0.0},
    ]


def groups_with_rates(model: nn.Module, config: TrainConfig) -> list[dict]:
    """Return the parameter groups, cut once more if what stands on the encoder has its own rate."""
    groups = parameter_groups(model, config.weight_decay)
    if not config.head_learning_rate:
        return groups
    in_encoder = {id(p) for p in model.encoder.parameters()}
    rates = ((True, config.learning_rate), (False, config.head_learning_rate))
    return [
        group
        | {"params": [p for p in group["params"] if (id(p) in in_encoder) == part], "lr": rate}
        for part, rate in rates
        for group in groups
    ]


def build_optimizer(
    model: nn.Module, config: TrainConfig
) -> tuple[torch.optim.Optimizer, torch.optim.lr_scheduler.LambdaLR]:
    """Return Adam with decoupled weight decay and its schedule, to be stepped after every update.

    Unlike the published code this Adam corrects its moments for their start at 0 (the code's lack
    of it only shows in the first steps, which warm-up keeps small).
    """
    optimizer = torch.optim.AdamW(
        groups_with_rates(model, config),
        lr=config.learning_rate,
        betas=BETAS,
        eps=EPSILON,
        fused=True,
    )

    def factor(step: int) -> float:
        return learning_rate_factor(
            step, warmup_steps=config.warmup_steps, max_steps=config.max_steps
        )

    return optimizer, torch.optim.lr_scheduler.LambdaLR(optimizer, factor)
