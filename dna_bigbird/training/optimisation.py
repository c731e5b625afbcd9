"""The optimizers of the paper's code and their learning-rate schedules (specification §1.6, §5)."""

import math
from itertools import compress

import torch
from torch import nn

from dna_bigbird.attention.cores.projected import ProjectedAttention
from dna_bigbird.core.errors import InputError
from dna_bigbird.models.etc_encoder import label_biases
from dna_bigbird.models.precision import resolve_muon_precision
from dna_bigbird.models.train_config import TrainConfig
from dna_bigbird.training.optimizers import Lamb, MuonWithAdamW

BETA1 = 0.9
EPSILON = 1e-6
ADAFACTOR_EPSILONS = (1e-15, 1e-3)
"""The paper's 1e-30 on squared gradients (torch squares what it is given) and 1e-3 on the size of a
matrix. Torch's own first one would swallow gradients of an ordinary size."""


def learning_rate_factor(
    step: int,
    *,
    warmup_steps: int,
    max_steps: int,
    schedule: str = "linear",
    decay_share: float = 0.2,
) -> float:
    """Return the share of the largest learning rate that optimizer step `step` uses.

    Args:
        step: Optimizer steps already done: 0 for the first update.
        schedule: 'linear', 'linear_from_zero', 'stable_decay', 'inverse_sqrt' or 'constant'.
        decay_share: Share of the steps, the last ones, over which 'stable_decay' falls.

    With W warm-up steps of N: `step / W` before W, then `(N - step) / (N - W)`, so 1 at W and
    0 at N and after; with 'linear_from_zero', the paper's code, `(N - step) / N`, so 1 - W / N at W;
    with 'stable_decay' 1 until D = `decay_share` * N steps are left (but W at least), then linearly
    to 0 at N; with 'inverse_sqrt' `sqrt(W / step)`, with 'constant' 1.

    The paper's code writes lr0 / sqrt(hidden size) · min(1, step / W) / sqrt(max(step, W)) for
    'inverse_sqrt'; its largest rate is lr0 / sqrt(hidden size · W).

    Example:
        >>> [learning_rate_factor(s, warmup_steps=10, max_steps=30) for s in (0, 5, 10, 20, 30)]
        [0.0, 0.5, 1.0, 0.5, 0.0]
        >>> learning_rate_factor(40, warmup_steps=10, max_steps=90, schedule="inverse_sqrt")
        0.5
    """
    if step < warmup_steps:
        return step / warmup_steps
    if schedule == "constant":
        return 1.0
    if schedule == "inverse_sqrt":
        return math.sqrt(warmup_steps / step)
    falls_from = 0 if schedule == "linear_from_zero" else warmup_steps
    if schedule == "stable_decay":
        falls_from = max(warmup_steps, max_steps - round(decay_share * max_steps))
    return min(1.0, max(0.0, (max_steps - step) / max(max_steps - falls_from, 1)))


def parameter_groups(model: nn.Module, weight_decay: float) -> list[dict]:
    """Split parameters into matrices, which decay, and biases and norms, which do not."""
    trained = [p for p in model.parameters() if p.requires_grad]
    biases = label_biases(model)
    decays = [p.ndim >= 2 and id(p) not in biases for p in trained]
    return [
        {"params": list(compress(trained, decays)), "weight_decay": weight_decay},
        {
            "params": [p for p, decay in zip(trained, decays, strict=True) if not decay],
            "weight_decay": 0.0,
        },
    ]


def groups_with_rates(model: nn.Module, config: TrainConfig) -> list[dict]:
    """Return the parameter groups; the layers on top of the encoder may have their own rate."""
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


def with_layer_decay(model: nn.Module, groups: list[dict], rate: float, decay: float) -> list[dict]:
    """Split groups by the height of their parameters, each with its share of the group's rate."""
    # The exponent is 0 for what is on top of the encoder, 1 for its last layer (and a LayerNorm
    # after it), N for the first of N layers, N + 1 for the embeddings.
    if decay == 1:
        return groups
    exponents = _exponents(model)
    split = []
    for group in groups:
        by_exponent: dict[int, list[nn.Parameter]] = {}
        for parameter in group["params"]:
            by_exponent.setdefault(exponents.get(id(parameter), 0), []).append(parameter)
        own = group.get("lr", rate)
        split += [
            group | {"params": parameters, "lr": own * decay**exponent}
            for exponent, parameters in sorted(by_exponent.items())
        ]
    return split


def _exponents(model: nn.Module) -> dict[int, int]:
    """Return the exponent of the decay of each parameter of the encoder, by identity."""
    encoder = model.encoder
    count = len(encoder.layers)
    exponents = {id(p): count + 1 for p in encoder.parameters()}
    for number, layer in enumerate(encoder.layers):
        exponents |= {id(p): count - number for p in layer.parameters()}
    if encoder.config.norm_first:
        norms = (encoder.norm, getattr(encoder, "global_norm", None))
        exponents |= {id(p): 1 for norm in norms if norm for p in norm.parameters()}
    return exponents


def groups_with_muon(
    model: nn.Module, groups: list[dict], rate: float, weight_decay: float | None = None
) -> list[dict]:
    """Move the matrices of the layers (of encoder and decoder) to groups of their own for Muon."""
    own_settings = {"lr": rate} | ({} if weight_decay is None else {"weight_decay": weight_decay})
    layers = [
        stack
        for part in ("encoder", "decoder")
        if (stack := getattr(getattr(model, part, None), "layers", None)) is not None
    ]
    chosen = {id(p) for stack in layers for p in stack.parameters() if p.ndim == 2}
    # Gates give one number for each head; updated by Muon they make a model worse (docs/results/many-passes.md).
    gates = (x.gate for x in model.modules() if isinstance(x, ProjectedAttention) and x.gate)
    chosen -= label_biases(model) | {id(gate.weight) for gate in gates}
    split = []
    for group in groups:
        for is_muon in (True, False):
            of_group = [p for p in group["params"] if (id(p) in chosen) == is_muon]
            own = {"params": of_group, "is_muon": is_muon} | (own_settings if is_muon else {})
            split.append(group | own)
    chosen_groups = [group for group in split if group["params"] or not group["is_muon"]]
    if not any(group["is_muon"] for group in chosen_groups):
        raise InputError(
            "--training.optimizer muon updates the matrices of an encoder's layers, and this model "
            "trains none; take --training.optimizer adamw"
        )
    return chosen_groups


def build_optimizer(
    model: nn.Module, config: TrainConfig
) -> tuple[torch.optim.Optimizer, torch.optim.lr_scheduler.LambdaLR]:
    """Return the optimizer and its schedule, to be stepped after every update."""
    # Adam has decoupled weight decay and, unlike in the published code, corrects its moments for
    # their start at 0. Adafactor's rate is relative to a matrix's root mean square, 1e-3 at least.
    groups = groups_with_rates(model, config)
    if config.optimizer == "muon":
        groups = groups_with_muon(
            model, groups, config.muon_learning_rate, config.muon_weight_decay
        )
    groups = with_layer_decay(model, groups, config.learning_rate, config.layer_decay)
    if config.optimizer == "muon":
        device = next(model.parameters()).device.type
        products = resolve_muon_precision(config.muon_precision, config.precision, device)
        optimizer = MuonWithAdamW(
            groups,
            lr=config.learning_rate,
            betas=(BETA1, config.beta2),
            eps=EPSILON,
            in_float32=products == "float32",
        )
    elif config.optimizer == "lamb":
        # Biases and norms are in groups of their own.
        groups = [g | {"adapts": all(p.ndim >= 2 for p in g["params"])} for g in groups]
        optimizer = Lamb(groups, lr=config.learning_rate, betas=(BETA1, config.beta2), eps=EPSILON)
    elif config.optimizer == "adafactor":
        optimizer = torch.optim.Adafactor(groups, lr=config.learning_rate, eps=ADAFACTOR_EPSILONS)
    else:
        optimizer = torch.optim.AdamW(
            groups, lr=config.learning_rate, betas=(BETA1, config.beta2), eps=EPSILON, fused=True
        )

    def factor(step: int) -> float:
        return learning_rate_factor(
            step,
            warmup_steps=config.warmup_steps,
            max_steps=config.max_steps,
            schedule=config.schedule,
            decay_share=config.decay_share,
        )

    return optimizer, torch.optim.lr_scheduler.LambdaLR(optimizer, factor)
