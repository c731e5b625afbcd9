"""The oracle of relative positions: a loop over the diagonals of the score matrix. For tests.

Diagonal m of a head has the scores of all queries for the key m steps to their left.
"""

# B batch, H heads, T tokens, D head dimension, R keys of a window

import torch
from torch import Tensor

from dna_bigbird.attention.patterns.longformer import LongformerPattern


def attend_by_diagonals(
    q_BHTD: Tensor,
    k_BHTD: Tensor,
    v_BHTD: Tensor,
    content_bias_HD: Tensor,
    position_bias_HD: Tensor,
    table_HRD: Tensor,
    pattern: LongformerPattern,
) -> Tensor:
    """Return the output (B, H, T, D); arguments as `attend_relative`."""
    T, D = q_BHTD.shape[2:]
    heads = []
    for h in range(q_BHTD.shape[1]):
        q, k, v = (x[:, h] for x in (q_BHTD, k_BHTD, v_BHTD))
        scores, values = [], []
        for step in range(pattern.window + 1):
            shift = step * pattern.dilation(h)
            if shift >= T:
                break
            of_key = ((q + content_bias_HD[h])[:, shift:] * k[:, : T - shift]).sum(-1)
            of_distance = (q + position_bias_HD[h])[:, shift:] @ table_HRD[h, step]
            diagonal = (of_key + of_distance) / D**0.5
            missing = diagonal.new_full((len(q), shift), -torch.inf)
            scores.append(torch.cat([missing, diagonal], dim=1))
            none = v.new_zeros(len(v), shift, D)
            values.append(torch.cat([none, v[:, : T - shift]], dim=1))
        weights_BTR = torch.stack(scores, dim=-1).softmax(-1)
        heads.append((weights_BTR[..., None] * torch.stack(values, dim=2)).sum(2))
    return torch.stack(heads, dim=1)
