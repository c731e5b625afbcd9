"""Initial weights that depend on the name of a weight, so that models of different cores share them."""

import zlib

import torch
from torch import nn

from dna_bigbird.attention.cores.etc import LabelTable


@torch.no_grad()
def draw_by_name(model: nn.Module, seed: int, std: float) -> None:
    """Draw all weights again: equal names and shapes have equal weights in every model.

    Matrices and embeddings are normal, biases of linear layers zero. Gains and biases of norms keep their values,
    which are constants, and so do buffers, such as random features. Label tables of ETC, which no other core has,
    are drawn as that core draws them.

    Args:
        std: Standard deviation of the normal distribution, which is cut at two of them.
    """
    for name, module in model.named_modules():
        generator = torch.Generator().manual_seed(zlib.crc32(f"{seed}/{name}".encode()))
        if isinstance(module, LabelTable):
            module.reset_parameters(generator)
        if isinstance(module, nn.Linear | nn.Embedding):
            nn.init.trunc_normal_(
                module.weight, std=std, a=-2 * std, b=2 * std, generator=generator
            )
        if isinstance(module, nn.Linear) and module.bias is not None:
            nn.init.zeros_(module.bias)
