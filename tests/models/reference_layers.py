"""A transformer with learned positions and norms after the sums, around any attention, written from its formulas."""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from dna_bigbird.models.encoder import Encoder

Linear = Callable[[Tensor, str], Tensor]
"""(states, name of the weights of a linear layer) → its output."""


def transformer(
    model: Encoder,
    ids: Tensor,
    segments: Tensor,
    attend: Callable[[int, Tensor, Linear], list[Tensor]],
) -> Tensor:
    """Return the states after the last layer.

    Args:
        attend: (layer, states, linear) → what each head gives, before the output projection.
    """
    c, own = model.config, model.state_dict()

    def norm(x, name):
        weight, bias = own[f"{name}.weight"], own[f"{name}.bias"]
        return nn.functional.layer_norm(x, (c.hidden_size,), weight, bias, c.norm_eps)

    def linear(x, name):
        return nn.functional.linear(x, own[f"{name}.weight"], own[f"{name}.bias"])

    x = own["word.weight"][ids] + own["position.weight"][: ids.shape[1]]
    x = norm(x + own["segment.weight"][segments], "norm")
    for i in range(c.num_layers):
        name = f"layers.{i}"
        mixed = linear(torch.cat(attend(i, x, linear), -1), f"{name}.attention.output")
        x = norm(x + mixed, f"{name}.attention_norm")
        hidden = nn.functional.gelu(linear(x, f"{name}.ffn_in"), approximate="tanh")
        x = norm(x + linear(hidden, f"{name}.ffn_out"), f"{name}.ffn_norm")
    return x
