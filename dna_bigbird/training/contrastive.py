"""The noise-contrastive loss over all targets of a batch, of all processes (specification §2.4)."""

# S hidden sentences of this process, N those of all processes, E size of a vector
# ruff: noqa: N815 - fields carry their shape as a capital suffix, as variables do

from typing import Any, NamedTuple

import torch
import torch.distributed as dist
from torch import Tensor, nn

from dna_bigbird.models.cpc import HiddenSentences
from dna_bigbird.training.objective import Sums, pair


class Contrast(NamedTuple):
    """How well the context of each hidden sentence tells its target from the others."""

    nll_S: Tensor
    """Negative log-probability of the true target, in nats."""
    is_right_S: Tensor
    """Whether the true target is the most similar one."""
    num_targets: int
    """N; a guess is right with chance 1 / N."""


def contrast(context_SE: Tensor, target_SE: Tensor, *, gather: bool) -> Contrast:
    """Compare contexts with targets: softmax over the products, as in a dual encoder.

    Products are divided by √E, as in attention: without it large products of fresh vectors made training
    fall back to guessing (docs/etc.md).

    Args:
        gather: Also with the targets of the other processes, gradients included; all of them call it
            then, also those without a hidden sentence.
    """
    targets_NE, first = _gathered(target_SE) if gather else (target_SE, 0)
    with torch.autocast(context_SE.device.type, enabled=False):
        logits_SN = context_SE.float() @ targets_NE.float().T / context_SE.shape[1] ** 0.5
    own_S = torch.arange(first, first + len(context_SE), device=logits_SN.device)
    if not len(context_SE):
        return Contrast(logits_SN.sum(1), own_S.bool(), len(targets_NE))
    nll_S = nn.functional.cross_entropy(logits_SN, own_S, reduction="none")
    return Contrast(nll_S, logits_SN.argmax(1) == own_S, len(targets_NE))


def loss_of(result: Contrast) -> Tensor:
    """Return the mean over the sentences of all processes, as this process has to count it.

    Lightning takes the mean of the processes' gradients; each sentence of any process then weighs 1 / N.
    """
    return result.nll_S.sum() * (_processes() / max(result.num_targets, 1))


def figures_of(result: Contrast) -> Sums:
    """Return `cpc_loss` in nats, `cpc_accuracy` and `cpc_chance`, what guessing would reach."""
    count = len(result.nll_S)
    chance = result.nll_S.new_tensor(count / max(result.num_targets, 1))
    return {
        "cpc_loss": pair(result.nll_S.double().sum(), count),
        "cpc_accuracy": pair(result.is_right_S.sum(), count),
        "cpc_chance": pair(chance, count),
    }


def hidden_of(batch: Any) -> dict[str, HiddenSentences]:
    """Return the keyword of a model for the hidden sentences of a batch; nothing if it has no such fields."""
    return {"hidden": HiddenSentences.of(batch)} if hasattr(batch, "sentences_BT") else {}


def _processes() -> int:
    return dist.get_world_size() if dist.is_available() and dist.is_initialized() else 1


def _gathered(target_SE: Tensor) -> tuple[Tensor, int]:
    """Return the targets of all processes in their order, and the place of this process's first."""
    if _processes() == 1:
        return target_SE, 0
    own = torch.tensor([len(target_SE)], device=target_SE.device)
    counts = [torch.zeros_like(own) for _ in range(_processes())]
    dist.all_gather(counts, own)
    sizes = [int(count) for count in counts]
    missing = max(sizes) - len(target_SE)
    padded_WSE = _Gathered.apply(nn.functional.pad(target_SE, (0, 0, 0, missing)))
    targets = torch.cat([part[:size] for part, size in zip(padded_WSE, sizes, strict=True)])
    return targets, sum(sizes[: dist.get_rank()])


class _Gathered(torch.autograd.Function):
    """Equal shapes of all processes, stacked; each process gets the sum of all gradients of its part."""

    @staticmethod
    def forward(ctx, own: Tensor) -> Tensor:
        parts = [torch.empty_like(own) for _ in range(_processes())]
        dist.all_gather(parts, own.contiguous())
        return torch.stack(parts)

    @staticmethod
    def backward(ctx, gradient: Tensor) -> Tensor:
        gradient = gradient.contiguous()
        dist.all_reduce(gradient)
        return gradient[dist.get_rank()]
