"""Gradients of a transformer whose attention weights and norms count as constants.

Ali et al. 2022 (arXiv 2202.07304): a gradient that also runs through the attention weights and the divisors of
the norms is noisy, and gradient × input does not add up to the output. Held constant, both are linear maps.
"""

import contextlib
from collections.abc import Iterator

import torch
from torch import Tensor, nn

QUERIES_KEYS_VALUES = ("qkv", "global_qkv")
"""Names of the projections whose output is queries, keys and values, one after the other."""


@contextlib.contextmanager
def constant_weights(model: nn.Module) -> Iterator[None]:
    """Let gradients of a model run through values and residuals only; outputs stay the same."""
    hooks = []
    for name, module in model.named_modules():
        if name.rpartition(".")[2] in QUERIES_KEYS_VALUES:
            hooks.append(module.register_forward_hook(_values_only))
        elif isinstance(module, nn.LayerNorm):
            hooks.append(module.register_forward_hook(_constant_divisor))
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()


def _values_only(module: nn.Module, inputs: tuple[Tensor], output: Tensor) -> Tensor:
    """Return the same projection with queries and keys as constants."""
    queries, keys, values = output.chunk(3, dim=-1)
    return torch.cat([queries.detach(), keys.detach(), values], dim=-1)


def _constant_divisor(module: nn.LayerNorm, inputs: tuple[Tensor], output: Tensor) -> Tensor:
    """Return the same norm with its divisor as a constant."""
    (x,) = inputs
    centred = x - x.mean(-1, keepdim=True)
    divisor = (x.var(-1, correction=0, keepdim=True) + module.eps).sqrt().detach()
    return centred / divisor * module.weight + module.bias
