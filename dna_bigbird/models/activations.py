"""Activations by their name in the settings, alone and with the dense layer before them."""

import functools
import platform

import torch
from torch import Tensor, nn

from dna_bigbird.attention.kernels.native.isa import X86
from dna_bigbird.models.precision import has_bf16_products

ACTIVATIONS = {
    "gelu_tanh": lambda: nn.GELU(approximate="tanh"),
    "gelu": nn.GELU,
    "relu": nn.ReLU,
}


def activation(name: str) -> nn.Module:
    """Return the activation of a name in `ACTIVATIONS`; ValueError if there is none."""
    if name not in ACTIVATIONS:
        raise ValueError(f"activation must be one of {', '.join(ACTIVATIONS)}, got {name!r}")
    return ACTIVATIONS[name]()


def activated(dense: nn.Linear, act: nn.Module, x: Tensor) -> Tensor:
    """Return `act(dense(x))`."""
    # GELU in bfloat16 on a CPU without gradients is oneDNN's: it is applied to the sums before they are
    # rounded, in the same pass. PyTorch's own, with tanh, takes a third of the product's time.
    if not _can_fuse(dense, act, x):
        return act(dense(x))
    # Cast as autocast would.
    x, weight, bias = (t.to(torch.bfloat16) for t in (x, dense.weight, dense.bias))
    return torch.ops.mkldnn._linear_pointwise(x, weight, bias, "gelu", [], act.approximate)


def _can_fuse(dense: nn.Linear, act: nn.Module, x: Tensor) -> bool:
    return (
        not torch.compiler.is_compiling()  # the compiler fuses by itself
        and x.device.type == "cpu"
        and not torch.is_grad_enabled()
        and torch.is_autocast_enabled("cpu")
        and torch.get_autocast_dtype("cpu") == torch.bfloat16
        # A layer that was replaced, or is listened to, is called.
        and type(dense) is nn.Linear
        and type(act) is nn.GELU
        and not any(m._forward_hooks or m._forward_pre_hooks for m in (dense, act))
        and _onednn_has_bf16()
    )


@functools.cache
def _onednn_has_bf16() -> bool:
    return platform.machine().lower() in X86 and has_bf16_products("cpu")  # untried on Arm
